// What the fuzzers share: the input as text, cut into lines, and a check that ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace kollect::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  // Bytes as characters: the one cast that libFuzzer's interface asks for.
  return {reinterpret_cast<const char*>(data), size};
}

/// Text before and after the first newline.
inline std::pair<std::string_view, std::string_view> cut_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + 1)};
}

/// A property that must hold for every input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

}  // namespace kollect::fuzz
