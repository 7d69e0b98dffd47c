#include "sandbox/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/json/write.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;
using base::json::View;

namespace {

/// Built-in kinds show times as they are, and their age behind all else.
constexpr std::string_view kAge = "age";
constexpr std::string_view kCount = "count";
constexpr std::string_view kList = "list";
constexpr std::string_view kTrue = "true";

/// As clients see it.
std::string_view public_type(std::string_view type) {
  if (type == "time") return "date";
  if (type == kAge || type == kCount || type == kList) return "string";
  return type == kTrue ? "boolean" : type;
}

std::string text_of(View value) {
  return value.is_string() ? std::string(value.as_string()) : base::json::compact(value);
}

void append_age(std::string& out, View value, base::WallTime now) {
  const auto time = base::parse_rfc3339(value.is_string() ? value.as_string() : "");
  base::json::append_string(
      out, time ? human_age(std::chrono::duration_cast<base::Duration>(now - *time)) : "<invalid>");
}

void append_whole(std::string& out, View value) {
  const base::json::Number number = value.number();
  if (number.kind == base::json::Number::Kind::kInt) {
    fmt::format_to(std::back_inserter(out), "{}", number.i);
  } else {
    base::json::append_number(out, value.number_text());
  }
}

void append_found(std::string& out, std::string_view type, const std::vector<View>& found) {
  if (type == kTrue) {
    out += !found.empty() && text_of(found[0]) == "True" ? "true" : "false";
    return;
  }
  std::string all;
  for (const View value : found) all += (all.empty() ? "" : ",") + text_of(value);
  base::json::append_string(out, all);
}

}  // namespace

std::string human_age(base::Duration age) {
  const std::int64_t s = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  constexpr std::int64_t kYear = 365 * kDay;
  const auto two = [s](std::int64_t big, char big_unit, std::int64_t small, char small_unit) {
    const std::int64_t rest = s % big / small;
    return rest == 0 ? fmt::format("{}{}", s / big, big_unit)
                     : fmt::format("{}{}{}{}", s / big, big_unit, rest, small_unit);
  };
  if (s < -1) return "<invalid>";
  if (s < 2 * kMinute) return fmt::format("{}s", std::max<std::int64_t>(s, 0));
  if (s < 10 * kMinute) return two(kMinute, 'm', 1, 's');
  if (s < 3 * kHour) return fmt::format("{}m", s / kMinute);
  if (s < 8 * kHour) return two(kHour, 'h', kMinute, 'm');
  if (s < 2 * kDay) return fmt::format("{}h", s / kHour);
  if (s < 8 * kDay) return two(kDay, 'd', kHour, 'h');
  if (s < 2 * kYear) return fmt::format("{}d", s / kDay);
  if (s < 8 * kYear) return two(kYear, 'y', kDay, 'd');
  return fmt::format("{}y", s / kYear);
}

TableColumns::TableColumns(const Served& served) {
  std::vector<Column> columns = served.columns;
  columns.insert(columns.begin(), Column{.name = "Name",
                                         .type = "string",
                                         .format = "name",
                                         .description = "Name of the object in its namespace.",
                                         .json_path = ".metadata.name"});
  const bool shows_time =
      !served.columns.empty() &&
      (served.custom || std::ranges::any_of(served.columns, [](const Column& column) {
         return column.type == "date";
       }));
  if (!shows_time) {
    columns.push_back({.name = "Age",
                       .type = served.custom ? "date" : std::string(kAge),
                       .format = "",
                       .description = "Time since the object was created.",
                       .json_path = ".metadata.creationTimestamp"});
  }
  for (Column& column : columns) {
    // The types of built-in kinds stand for what their printers do.
    if (!served.custom && column.type == "date") column.type = "time";
    auto path = extract::JsonPath::compile(column.json_path, extract::JsonPath::Dialect::kPrune);
    Cell cell{.column = std::move(column), .path = {}};
    if (path) cell.path = std::move(*path);
    cells_.push_back(std::move(cell));
  }
}

void TableColumns::append_definitions(std::string& out) const {
  Array definitions;
  for (const Cell& cell : cells_) {
    Object one;
    one.set("name", cell.column.name);
    one.set("type", public_type(cell.column.type));
    one.set("format", cell.column.format);
    one.set("description", cell.column.description);
    one.set("priority", cell.column.priority);
    definitions.emplace_back(std::move(one));
  }
  out += "\"columnDefinitions\":";
  base::json::append_compact(out, Value(std::move(definitions)));
}

void TableColumns::append_cells(std::string& out, View object, base::WallTime now) const {
  out += "\"cells\":[";
  bool first = true;
  for (const Cell& cell : cells_) {
    if (!std::exchange(first, false)) out += ',';
    append_cell(out, cell, object, now);
  }
  out += ']';
}

void TableColumns::append_cell(std::string& out, const Cell& cell, View object,
                               base::WallTime now) const {
  std::vector<View> found;
  const std::string& type = cell.column.type;
  const bool evaluated = cell.path && cell.path->evaluate(object, found);
  if (type == kCount) {
    fmt::format_to(std::back_inserter(out), "{}", found.empty() ? 0 : found[0].size());
    return;
  }
  if (type == kList || type == kTrue) return append_found(out, type, found);
  if (!evaluated || found.empty() || found[0].is_null()) {
    out += "null";
    return;
  }
  const View value = found[0];
  const bool is_number = type == "integer" || type == "number";
  if (type == "date" || type == kAge) {
    append_age(out, value, now);
  } else if (is_number && value.is_number()) {
    append_whole(out, value);
  } else if (type == "boolean" && value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (is_number || type == "boolean") {
    out += "null";
  } else {
    base::json::append_string(out, text_of(value));
  }
}

}  // namespace kollect::sandbox
