#include "sinks/columns/table.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "base/json/write.h"

namespace kollect::sinks::columns {

namespace {

using base::json::Number;
using base::json::View;

/// Whole numbers that a column of 64 bits holds, however they are spelled.
std::optional<std::int64_t> whole(View value) {
  if (!value.is_number()) return std::nullopt;
  const Number number = value.number();
  if (number.kind == Number::Kind::kInt) return number.i;
  // 2^63 itself is no longer one; every double below it is exact.
  if (number.kind == Number::Kind::kDouble && std::trunc(number.d) == number.d &&
      number.d >= -9223372036854775808.0 && number.d < 9223372036854775808.0) {
    return static_cast<std::int64_t>(number.d);
  }
  return std::nullopt;
}

bool written_typed(Cell& cell, Type type, View value) {
  switch (type) {
    case Type::kInteger:
      if (const auto number = whole(value)) {
        cell.integer = *number;
        return true;
      }
      return false;
    case Type::kDouble:
      if (!value.is_number() || value.number().kind == Number::Kind::kOutOfRange) return false;
      cell.number = value.number().as_double();
      return true;
    case Type::kBoolean:
      cell.truth = value.as_bool();
      return value.is_bool();
    case Type::kTime: {
      if (!value.is_string()) return false;
      const auto time = base::parse_rfc3339(value.as_string());
      if (!time) return false;
      cell.integer = microseconds(*time);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

std::int64_t microseconds(base::WallTime time) {
  return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

inventory::RowView row_of(const RowCells& cells) {
  return {.target_namespace = cells[0],
          .target_name = cells[1],
          .ns = cells[2],
          .name = cells[3],
          .group = cells[6],
          .version = cells[7],
          .kind = cells[5],
          .uid = cells[4],
          .attributes = cells[8] == "null" ? "{}" : cells[8]};
}

CellReader::CellReader(const Table& table)
    : table_(table),
      cells_(table.columns.size()),
      keys_(table.columns.size()),
      texts_(table.columns.size()) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Column& column = table.columns[i];
    Cell& cell = cells_[i];
    switch (column.source) {
      case Source::kCluster:
        cell.text = table.cluster_word();
        break;
      case Source::kInventoryNamespace:
        cell.text = table.inventory_namespace;
        break;
      case Source::kInventoryName:
        cell.text = table.inventory_name;
        break;
      case Source::kExportedAt:
        cell.integer = microseconds(table.exported_at);
        break;
      case Source::kAttribute:
        base::json::append_string(keys_[i], column.attribute);
        keys_[i] += ':';
        break;
      default:
        break;
    }
  }
}

const std::vector<Cell>& CellReader::fill(const inventory::RowView& row) {
  bool parsed = false;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    switch (table_.columns[i].source) {
      case Source::kTargetNamespace:
        cell.text = row.target_namespace;
        break;
      case Source::kTargetName:
        cell.text = row.target_name;
        break;
      case Source::kNamespace:
        cell.text = row.ns;
        break;
      case Source::kName:
        cell.text = row.name;
        break;
      case Source::kUid:
        cell.text = row.uid;
        break;
      case Source::kKind:
        cell.text = row.kind;
        break;
      case Source::kApiVersion:
        cell.text = row.version;
        break;
      case Source::kGroup:
        cell.text = row.group;
        cell.null = row.group.empty();
        break;
      case Source::kAttributes:
        cell.text = row.attributes.empty() ? "{}" : row.attributes;
        break;
      case Source::kAttribute: {
        cell.null = true;
        // Most rows lack most attributes: a row is read only when it may have one.
        if (row.attributes.find(keys_[i]) == std::string_view::npos) break;
        if (!parsed && !document_.reparse_borrowed(row.attributes)) break;
        parsed = true;
        if (const auto value = document_.root().find(table_.columns[i].attribute)) {
          fill_attribute(i, *value);
        }
        break;
      }
      default:
        break;  // the same for all rows
    }
  }
  return cells_;
}

void CellReader::fill_attribute(std::size_t column, View value) {
  Cell& cell = cells_[column];
  const Type type = table_.columns[column].type;
  if (value.is_null()) return;
  if (type != Type::kText && type != Type::kJson) {
    cell.null = !written_typed(cell, type, value);
    return;
  }
  if (type == Type::kText && value.is_string()) {
    cell.text = value.as_string();
    cell.null = cell.text.empty();
    return;
  }
  std::string& text = texts_[column];
  text.clear();
  base::json::append_canonical(text, value);
  cell.text = text;
  cell.null = false;
}

}  // namespace kollect::sinks::columns
