// Text forms of values that functions and results share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/evaluation.h"

namespace kollect::cel {

/// Shortest digits; exponent form below 1e-4 and from 1e6 on for string(), never for `plain`.
std::string double_text(double value, bool plain = false);
/// RFC 3339 in UTC, up to nine fraction digits, trailing zeros dropped (spec: E-28).
std::string timestamp_text(const Value& timestamp);
/// Seconds: "5400s", "-1.5s" (spec: E-10).
std::string duration_text(const Value& duration);
/// RFC 3339 with any offset; an error value when the text is none or out of range.
Value parse_timestamp(Evaluation& evaluation, std::string_view text);
/// Units h, m, s, ms, us, ns; an error value otherwise.
Value parse_duration(Evaluation& evaluation, std::string_view text);

/// Number of code points; the text is valid UTF-8.
std::size_t code_points(std::string_view text);
bool is_ascii(std::string_view text);
/// Byte offset of code point `index`, none when the text is shorter; `index` == length gives the
/// end.
std::optional<std::size_t> byte_offset(std::string_view text, std::size_t index);
/// Byte offset of the first occurrence at or behind `from`, npos when there is none. Time grows
/// with the sum of the lengths, not with their product as that of std::string_view::find does.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from = 0);
/// Likewise of the last occurrence that begins at or before `from`.
std::size_t find_last_part(std::string_view text, std::string_view part, std::size_t from);
/// Reads the code point at `at` and moves behind it.
char32_t next_code_point(std::string_view text, std::size_t& at);

}  // namespace kollect::cel
