#include "base/yaml/scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json/document.h"

namespace kollect::base::yaml {

namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(std::string_view text) {
  return is_one_of(text, {"", "~", "null", "Null", "NULL"});
}

std::optional<bool> read_bool(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE"})) {
    return true;
  }
  if (is_one_of(text, {"false", "False", "FALSE"})) {
    return false;
  }
  return std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "0o17", "0x1F"; digits that do not fit 64 bits give a double.
std::optional<json::Value> read_prefixed(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 0;
  if (base == 0 || text.size() == 2) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data() + 2, text.data() + text.size(), value, base);
  if (end != text.data() + text.size()) {
    return std::nullopt;
  }
  if (error == std::errc()) {
    return json::Value(value);
  }
  double wide = 0;
  for (const char c : text.substr(2)) {
    wide = wide * base + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return json::Value(wide);
}

/// Shape of the core schema's decimal numbers. Sets `integer`.
bool is_decimal(std::string_view text, bool& integer) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) {
      ++at;
    }
    return at - from;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    ++at;
  }
  std::size_t count = digits();
  integer = true;
  if (at < text.size() && text[at] == '.') {
    integer = false;
    ++at;
    count += digits();
  }
  if (count == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    integer = false;
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
      ++at;
    }
    if (digits() == 0) {
      return false;
    }
  }
  return at == text.size();
}

std::optional<json::Value> read_decimal(std::string_view text) {
  bool integer = false;
  if (!is_decimal(text, integer)) {
    return std::nullopt;
  }
  if (text.front() == '+') {
    text.remove_prefix(1);
  }
  const char* const end = text.data() + text.size();
  if (integer) {
    std::int64_t small = 0;
    if (std::from_chars(text.data(), end, small).ec == std::errc()) {
      return json::Value(small);
    }
    std::uint64_t large = 0;
    if (text.front() != '-' && std::from_chars(text.data(), end, large).ec == std::errc()) {
      return json::Value(large);
    }
  }
  double value = 0;
  if (std::from_chars(text.data(), end, value).ec == std::errc::result_out_of_range) {
    // Too small is zero, too large has no JSON form; strtod tells which.
    value = std::strtod(std::string(text).c_str(), nullptr);
  }
  return json::Value(value);
}

bool is_not_finite(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    return is_one_of(text.substr(1), {".inf", ".Inf", ".INF"});
  }
  return is_one_of(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

std::optional<json::Value> read_number(std::string_view text) {
  if (text.empty() || (!is_digit(text.front()) && text.front() != '-' && text.front() != '+' &&
                       text.front() != '.')) {
    return std::nullopt;
  }
  if (auto value = read_prefixed(text)) {
    return value;
  }
  return read_decimal(text);
}

}  // namespace

Result<json::Value> resolve_plain(std::string_view text) {
  if (is_null(text)) {
    return json::Value();
  }
  if (const auto value = read_bool(text)) {
    return json::Value(*value);
  }
  if (auto value = read_number(text)) {
    if (value->is_double() && !std::isfinite(value->as_double())) {
      return configuration(fmt::format("number {} is out of range", text));
    }
    return std::move(*value);
  }
  if (is_not_finite(text)) {
    return configuration(
        fmt::format("{} is no number that JSON can hold; quote it if it is text", text));
  }
  return json::Value(text);
}

Result<json::Value> resolve_tagged(std::string_view tag, std::string_view text, bool plain) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  const std::string_view name =
      tag.starts_with(kCore) ? tag.substr(kCore.size()) : std::string_view();
  if (is_one_of(name, {"str", "binary", "timestamp"}) || tag == "!") {
    return json::Value(text);
  }
  const auto misfit = [&] {
    return configuration(fmt::format("\"{}\" does not fit its tag !!{}", text, name));
  };
  if (name == "null") {
    return is_null(text) ? Result<json::Value>(json::Value()) : misfit();
  }
  if (name == "bool") {
    const auto value = read_bool(text);
    return value ? Result<json::Value>(json::Value(*value)) : misfit();
  }
  if (name == "int" || name == "float") {
    KL_ASSIGN(json::Value value, resolve_plain(text));
    if (!value.is_number() || (name == "int" && value.is_double())) {
      return misfit();
    }
    return value;
  }
  return plain ? resolve_plain(text) : Result<json::Value>(json::Value(text));
}

}  // namespace kollect::base::yaml
