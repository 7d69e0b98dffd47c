// What the client commands print for people: tables, and what a write changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "fleet/model.h"

namespace kollect::fleet {

/// A heading, and what stands under it for a record: a member of it, or what `text` makes of it.
struct Column {
  std::string_view heading;
  std::string_view member;
  std::string (*text)(const base::json::Value& record) = nullptr;
};

/// Of the records of a family.
std::vector<Column> columns_of(Family family);
/// Of "audit", "tombstones", "unknown_polls", "rollouts".
std::vector<Column> columns_of(std::string_view list);

/// Columns as wide as they must be, two blanks between them. Control characters, which a terminal
/// would obey, become "?".
std::string table(const std::vector<Column>& columns, const base::json::Array& records);

/// The answer to a batch, a rollout or an undo: a line for each record that changes, the members
/// that differ below it, a summary.
std::string changes_text(const base::json::Value& told);

}  // namespace kollect::fleet
