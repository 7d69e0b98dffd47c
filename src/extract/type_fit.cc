#include "extract/type_fit.h"

#include <cmath>
#include <utility>

namespace kollect::extract {

namespace {

using base::json::Number;
using base::json::View;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads `count` digits at `at`; -1 when there are none.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool in_range(int value, int low, int high) {
  return value >= low && value <= high;
}

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

bool is_integer(View value) {
  if (!value.is_number()) return false;
  const auto number = value.number();
  // 2.0 is written as 2, so it fits an integer column.
  constexpr double kBound = 9223372036854775808.0;
  if (number.kind == Number::Kind::kDouble)
    return std::trunc(number.d) == number.d && std::fabs(number.d) < kBound;
  return number.kind != Number::Kind::kOutOfRange;
}

}  // namespace

TypeHint parse_type_hint(std::string_view word) {
  constexpr std::pair<std::string_view, TypeHint> kWords[] = {
      {"string", TypeHint::kString},       {"int", TypeHint::kInt},
      {"float", TypeHint::kFloat},         {"bool", TypeHint::kBool},
      {"list", TypeHint::kList},           {"map", TypeHint::kMap},
      {"timestamp", TypeHint::kTimestamp}, {"quantity", TypeHint::kQuantity},
  };
  for (const auto& [known, hint] : kWords) {
    if (word == known) return hint;
  }
  return TypeHint::kAny;
}

bool fits(TypeHint hint, View value) {
  if (value.is_null()) return true;
  switch (hint) {
    case TypeHint::kAny:
      return true;
    case TypeHint::kString:
      return value.is_string();
    case TypeHint::kInt:
      return is_integer(value);
    case TypeHint::kFloat:
      return value.is_number();
    case TypeHint::kBool:
      return value.is_bool();
    case TypeHint::kList:
      return value.is_array();
    case TypeHint::kMap:
      return value.is_object();
    case TypeHint::kTimestamp:
      return value.is_string() && is_timestamp(value.as_string());
    case TypeHint::kQuantity:
      return (value.is_string() && is_quantity(value.as_string())) ||
             (value.is_number() && is_quantity(value.number_text()));
  }
  return true;
}

bool is_timestamp(std::string_view text) {
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  if (year < 0 || !in_range(month, 1, 12) || !in_range(day, 1, days_in_month(year, month)))
    return false;
  if (text[4] != '-' || text[7] != '-' || text.size() < 20 || (text[10] != 'T' && text[10] != 't'))
    return false;
  if (!in_range(digits(text, 11, 2), 0, 23) || !in_range(digits(text, 14, 2), 0, 59) ||
      !in_range(digits(text, 17, 2), 0, 60) || text[13] != ':' || text[16] != ':') {
    return false;
  }
  std::size_t at = 19;
  if (text[at] == '.') {
    const auto first = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == first) return false;
  }
  const auto zone = text.substr(at);
  if (zone == "Z" || zone == "z") return true;
  return zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' &&
         in_range(digits(zone, 1, 2), 0, 23) && in_range(digits(zone, 4, 2), 0, 59);
}

bool is_quantity(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t count = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) ++count;
    return count;
  };
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  };
  sign();
  auto count = number();
  if (at < text.size() && text[at] == '.') {
    ++at;
    count += number();
  }
  if (count == 0) return false;
  const auto suffix = text.substr(at);
  for (const std::string_view known :
       {"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}) {
    if (suffix == known) return true;
  }
  if (suffix.front() != 'e' && suffix.front() != 'E') return false;
  ++at;
  sign();
  return number() > 0 && at == text.size();
}

}  // namespace kollect::extract
