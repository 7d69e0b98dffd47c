#include "base/yaml/style.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/yaml/digits.h"

namespace kollect::base::yaml {

namespace {

/// Words that stand for null, a boolean, infinity or no number. "=" and "<<" have a meaning of
/// their own in YAML 1.1 (K-4).
bool is_special_word(std::string_view text) {
  constexpr std::array<std::string_view, 41> kWords = {
      "",     "+.INF", "+.Inf", "+.inf", "-.INF", "-.Inf", "-.inf", ".INF", ".Inf", ".NAN",  ".NaN",
      ".inf", ".nan",  "<<",    "=",     "FALSE", "False", "N",     "NO",   "NULL", "No",    "Null",
      "OFF",  "ON",    "Off",   "On",    "TRUE",  "True",  "Y",     "YES",  "Yes",  "false", "n",
      "no",   "null",  "off",   "on",    "true",  "y",     "yes",   "~"};
  static_assert(std::is_sorted(kWords.begin(), kWords.end()));
  constexpr std::string_view kFirst = "+-.<=FNOTYfnoty~";
  if (!text.empty() && kFirst.find(text[0]) == std::string_view::npos) {
    return false;
  }
  return text.size() <= 5 && std::binary_search(kWords.begin(), kWords.end(), text);
}

/// Sign, prefix, digits: integers in any base that a reader knows, leading zeros included.
bool is_integer(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const auto all = [&](std::size_t from, auto&& good) {
    return text.size() > from &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), good);
  };
  if (text.size() > 2 && text[0] == '0') {
    switch (text[1]) {
      case 'x':
      case 'X':
        return all(2, [](char c) {
          return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        });
      case 'o':
      case 'O':
        return all(2, [](char c) { return c >= '0' && c <= '7'; });
      case 'b':
      case 'B':
        return all(2, [](char c) { return c == '0' || c == '1'; });
      default:
        break;
    }
  }
  return all(0, is_digit);
}

bool is_float(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  std::size_t at = count_digits(text, 0);
  std::size_t digits = at;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::size_t fraction = count_digits(text, at);
    digits += fraction;
    at += fraction;
  }
  if (digits == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
      ++at;
    }
    const std::size_t exponent = count_digits(text, at);
    if (exponent == 0) {
      return false;
    }
    at += exponent;
  }
  return at == text.size();
}

/// "12:30:45", "1:59.5": numbers of YAML 1.1 in base 60.
bool is_base60(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (at >= text.size() || !is_digit(text[at])) {
    return false;
  }
  while (at < text.size() && (is_digit(text[at]) || text[at] == '_')) {
    ++at;
  }
  std::size_t groups = 0;
  while (at < text.size() && text[at] == ':') {
    const std::size_t digits = count_digits(text, at + 1);
    if (digits == 0 || digits > 2 || (digits == 2 && text[at + 1] > '5')) {
      return false;
    }
    at += 1 + digits;
    ++groups;
  }
  if (groups > 0 && at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && (is_digit(text[at]) || text[at] == '_')) {
      ++at;
    }
  }
  return groups > 0 && at == text.size();
}

/// Reads one number of one or two digits, at most `most`.
bool take_number(std::string_view text, std::size_t& at, int& value, int most) {
  const std::size_t digits = std::min<std::size_t>(2, count_digits(text, at));
  if (digits == 0) {
    return false;
  }
  value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    value = value * 10 + (text[at + i] - '0');
  }
  at += digits;
  return value <= most;
}

bool take(std::string_view text, std::size_t& at, char c) {
  if (at < text.size() && text[at] == c) {
    ++at;
    return true;
  }
  return false;
}

bool is_zone(std::string_view text) {
  if (text == "Z") {
    return true;
  }
  return text.size() == 6 && (text[0] == '+' || text[0] == '-') && count_digits(text, 1) == 2 &&
         text[3] == ':' && count_digits(text, 4) == 2 && text.substr(1, 2) <= "24" &&
         text[4] <= '5';
}

/// A date, or a date and a time in the spellings of spec sinks 4.1.
bool is_timestamp(std::string_view text) {
  if (count_digits(text, 0) != 4) {
    return false;
  }
  std::size_t at = 4;
  int month = 0;
  int day = 0;
  if (!take(text, at, '-') || !take_number(text, at, month, 12) || month == 0 ||
      !take(text, at, '-') || !take_number(text, at, day, 31) || day == 0) {
    return false;
  }
  constexpr std::array<int, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int year =
      (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if (day > kDays[static_cast<std::size_t>(month - 1)] || (month == 2 && day == 29 && !leap)) {
    return false;
  }
  if (at == text.size()) {
    return true;
  }
  const char separator = text[at++];
  int part = 0;
  if (!take_number(text, at, part, 23) || !take(text, at, ':') ||
      !take_number(text, at, part, 59) || !take(text, at, ':') ||
      !take_number(text, at, part, 59)) {
    return false;
  }
  if (at < text.size() && (text[at] == '.' || text[at] == ',') && count_digits(text, at + 1) > 0) {
    at += 1 + count_digits(text, at + 1);
  }
  if (separator == 'T' || separator == 't') {
    return is_zone(text.substr(at));
  }
  return separator == ' ' && at == text.size();
}

/// What the emitter has to know of a string without characters that must be escaped.
struct Shape {
  bool special = false;  // something must be escaped
  bool line_feed = false;
  bool indicators = false;   // plain text would be taken for syntax
  bool outer_blank = false;  // blank at either end
  bool trailing_blank = false;
  bool blank_before_feed = false;
};

bool starts_like_syntax(std::string_view text) {
  constexpr std::string_view kIndicators = "#,[]{}&*!|>'\"%@`";
  if (kIndicators.find(text[0]) != std::string_view::npos || text.starts_with("---") ||
      text.starts_with("...")) {
    return true;
  }
  const bool followed_by_space = text.size() == 1 || text[1] == ' ' || text[1] == '\n';
  return (text[0] == '?' || text[0] == ':' || text[0] == '-') && followed_by_space;
}

/// Characters that never need a second look: printable ASCII but for blank, colon and number sign.
constexpr std::array<bool, 256> kHarmless = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0x21; c < 0x7F; ++c) {
    table[c] = c != ':' && c != '#';
  }
  return table;
}();

Shape look_at(std::string_view text) {
  Shape shape;
  shape.indicators = starts_like_syntax(text);
  shape.trailing_blank = text.back() == ' ';
  shape.outer_blank = text.front() == ' ' || shape.trailing_blank;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (kHarmless[byte]) {
      ++at;
      continue;
    }
    if (byte >= 0x80) {
      if (must_be_escaped(next_character(text, at))) {
        shape.special = true;
        return shape;
      }
      continue;
    }
    if (byte == '\n') {
      shape.line_feed = true;
      shape.blank_before_feed = shape.blank_before_feed || (at > 0 && text[at - 1] == ' ');
    } else if (byte < 0x20 || byte == 0x7F) {
      shape.special = true;
      return shape;
    } else if (byte == ':') {
      shape.indicators =
          shape.indicators || at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
    } else if (byte == '#') {
      shape.indicators =
          shape.indicators || (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\n'));
    }
    ++at;
  }
  return shape;
}

}  // namespace

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) & 0x3FU : 0U;
  };
  const auto first = static_cast<unsigned char>(text[at]);
  char32_t c = first;
  if (first < 0x80) {
    at += 1;
  } else if (first < 0xE0) {
    c = ((first & 0x1FU) << 6U) | byte(1);
    at += 2;
  } else if (first < 0xF0) {
    c = ((first & 0x0FU) << 12U) | (byte(1) << 6U) | byte(2);
    at += 3;
  } else {
    c = ((first & 0x07U) << 18U) | (byte(1) << 12U) | (byte(2) << 6U) | byte(3);
    at += 4;
  }
  at = std::min(at, text.size());
  return c;
}

bool must_be_escaped(char32_t c) {
  if (c < 0x20) {
    return c != '\n';
  }
  return (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || c == 0xFFFE ||
         c == 0xFFFF || c > 0xFFFF;
}

bool reads_as_other_type(std::string_view text) {
  if (is_special_word(text)) {
    return true;
  }
  const char first = text[0];
  if (!is_digit(first) && first != '-' && first != '+' && first != '.') {
    return false;
  }
  if (is_timestamp(text) || is_base60(text)) {
    return true;
  }
  // "1_000" is a number for YAML 1.1.
  if (text.find('_') != std::string_view::npos) {
    std::string plain(text);
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    return !plain.empty() && (is_integer(plain) || is_float(plain));
  }
  return is_integer(text) || is_float(text);
}

Style choose_style(std::string_view text) {
  if (text.empty()) {
    return Style::kDoubleQuoted;
  }
  const Shape shape = look_at(text);
  if (shape.special) {
    return Style::kDoubleQuoted;
  }
  if (shape.line_feed) {
    // A blank at a line's end would be lost on readers' screens and in editors; so the emitters
    // quote.
    return shape.blank_before_feed || shape.trailing_blank ? Style::kDoubleQuoted : Style::kLiteral;
  }
  if (reads_as_other_type(text)) {
    return Style::kDoubleQuoted;
  }
  return shape.indicators || shape.outer_blank ? Style::kSingleQuoted : Style::kPlain;
}

}  // namespace kollect::base::yaml
