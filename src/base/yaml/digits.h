// Internal to base/yaml: runs of ASCII digits, which the order of keys and the choice of quotes
// both look at.
#pragma once

#include <cstddef>
#include <string_view>

namespace kollect::base::yaml {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Length of the run of digits that starts at `at`.
inline std::size_t count_digits(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) {
    ++end;
  }
  return end - at;
}

}  // namespace kollect::base::yaml
