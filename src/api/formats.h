// Text formats and patterns of the schema. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/value.h"

namespace kollect::api {

std::size_t count_code_points(std::string_view text);
/// The integer that a JSON number stands for (1.0 is 1), none for anything else.
std::optional<std::int64_t> as_integer(const base::json::Value& value);
/// Formats "date-time" and "byte" (base64); unknown formats fit everything.
bool matches_format(const std::string& format, std::string_view text);
/// Search of an RE2 pattern; patterns of the descriptions only.
bool matches_pattern(const std::string& pattern, std::string_view text);

}  // namespace kollect::api
