// Hash maps of strings that are asked by views.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace kollect::base {

/// With std::equal_to<> no string is made for a look-up.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace kollect::base
