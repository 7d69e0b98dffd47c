// gzip (RFC 1952).
#pragma once

#include <string>
#include <string_view>

namespace kollect::base {

/// The same bytes for the same bytes. Empty when there is no memory.
std::string gzip(std::string_view bytes);

}  // namespace kollect::base
