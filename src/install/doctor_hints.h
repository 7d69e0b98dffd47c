// What to do about the reasons of conditions.
#pragma once

#include <string>
#include <string_view>

namespace kollect::install {

/// What a reason of docs/conditions.md asks of its reader, in a sentence; "" when nothing is to be
/// done, or for a reason that is not known.
std::string hint_for(std::string_view reason);

}  // namespace kollect::install
