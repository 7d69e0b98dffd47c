#include "api/formats.h"

#include <re2/re2.h>

#include <cmath>

#include "base/clock.h"

namespace kollect::api {

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return count;
}

std::optional<std::int64_t> as_integer(const base::json::Value& value) {
  if (value.is_int()) {
    return value.as_int();
  }
  if (value.is_double() && std::abs(value.as_double()) < 9.2e18 &&
      std::trunc(value.as_double()) == value.as_double()) {
    return static_cast<std::int64_t>(value.as_double());
  }
  return std::nullopt;
}

namespace {

/// Standard base64 with padding; line breaks are passed over.
bool is_base64(std::string_view text) {
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      continue;
    }
    if (c == '=') {
      ++padding;
      continue;
    }
    const bool digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '+' || c == '/';
    if (!digit || padding > 0) {
      return false;
    }
    ++digits;
  }
  return padding <= 2 && (digits + padding) % 4 == 0 && digits % 4 != 1;
}

}  // namespace

bool matches_format(const std::string& format, std::string_view text) {
  if (format == "date-time") {
    return base::parse_rfc3339(text).has_value();
  }
  if (format == "byte") {
    return is_base64(text);
  }
  return true;
}

bool matches_pattern(const std::string& pattern, std::string_view text) {
  const RE2 expression(pattern);
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

}  // namespace kollect::api
