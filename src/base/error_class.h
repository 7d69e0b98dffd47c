// Errors as the operator's metrics and logs sort them (spec: runtime 4).
#pragma once

#include <string_view>

#include "base/result.h"

namespace kollect::base {

/// "transient", "terminal" or "forbidden".
std::string_view error_class(const Error& error);

}  // namespace kollect::base
