#include "top/cells.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/strings.h"

namespace kollect::top {

namespace {

using Range = std::pair<char32_t, char32_t>;

// Unicode Standard Annex 11 (East Asian Width) and general category Mn/Cf, the larger blocks.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},  Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},  Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
constexpr std::array kNone = {Range{0x0300, 0x036F}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},
                              Range{0x200B, 0x200F}, Range{0x202A, 0x202E}, Range{0x2060, 0x206F},
                              Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F},
                              Range{0xFEFF, 0xFEFF}};

template <std::size_t kSize>
bool within(const std::array<Range, kSize>& ranges, char32_t c) {
  for (const auto& [first, last] : ranges) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

std::size_t width_of(char32_t c) {
  if (within(kNone, c)) return 0;
  return within(kWide, c) ? 2 : 1;
}

/// The character at `at` of valid UTF-8, and its bytes.
std::pair<char32_t, std::size_t> character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  std::size_t size = 1;
  if (first >= 0xF0) {
    size = 4;
  } else if (first >= 0xE0) {
    size = 3;
  } else if (first >= 0xC0) {
    size = 2;
  }
  constexpr unsigned kAscii = 0x7F;
  char32_t c = size == 1 ? first & kAscii : first & (kAscii >> size);
  for (std::size_t i = 1; i < size && at + i < text.size(); ++i) {
    c = (c << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return {c, size};
}

/// Bytes of the longest beginning of at most so many columns, and its columns.
std::pair<std::size_t, std::size_t> prefix(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  std::size_t taken = 0;
  while (at < text.size()) {
    const auto [c, size] = character_at(text, at);
    if (taken + width_of(c) > columns) break;
    taken += width_of(c);
    at += size;
  }
  return {at, taken};
}

}  // namespace

std::string printable(std::string_view text) {
  const std::string valid = base::sanitize_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < valid.size();) {
    const auto [c, size] = character_at(valid, at);
    const bool directs = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFD || directs) {
      out += '?';
    } else {
      out.append(valid, at, size);
    }
    at += size;
  }
  return out;
}

std::size_t cells(std::string_view text) {
  return prefix(text, SIZE_MAX).second;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (cells(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(text.substr(0, prefix(text, columns - 1).first)) + "…";
}

std::string fit(std::string_view text, std::size_t columns, bool right) {
  std::string out = cut(text, columns);
  const std::string blanks(columns - cells(out), ' ');
  return right ? blanks + out : out + blanks;
}

}  // namespace kollect::top
