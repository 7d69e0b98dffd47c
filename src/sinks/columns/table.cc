#include "sinks/columns/table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::sinks::columns {

namespace {

using base::json::Number;

/// Whole numbers that a column of 64 bits holds, however they are spelled.
std::optional<std::int64_t> whole(const Number& number) {
  if (number.kind == Number::Kind::kInt) return number.i;
  // 2^63 itself is no longer one; every double below it is exact.
  if (number.kind == Number::Kind::kDouble && std::trunc(number.d) == number.d &&
      number.d >= -9223372036854775808.0 && number.d < 9223372036854775808.0) {
    return static_cast<std::int64_t>(number.d);
  }
  return std::nullopt;
}

bool is_number(std::string_view value) {
  return value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
}

/// The text of a JSON string; `room` holds it when it was written with escapes.
std::string_view unquoted(std::string_view value, std::string& room) {
  const auto inside = value.substr(1, value.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  const auto document = base::json::Document::parse_borrowed(value);
  room = document.has_value() ? std::string(document->root().as_string()) : std::string();
  return room;
}

/// False when the value is none of that type.
bool fill_typed(Cell& cell, Type type, std::string_view value, std::string& room) {
  if (type == Type::kBoolean) {
    cell.truth = value == "true";
    return cell.truth || value == "false";
  }
  if (type == Type::kTime) {
    if (value.front() != '"') return false;
    const auto time = base::parse_rfc3339(unquoted(value, room));
    if (time.has_value()) cell.integer = microseconds(*time);
    return time.has_value();
  }
  if (!is_number(value)) return false;
  const auto number = base::json::read_number(value);
  if (type == Type::kDouble) {
    cell.number = number.as_double();
    return number.kind != Number::Kind::kOutOfRange;
  }
  const auto exact = whole(number);
  cell.integer = exact.value_or(0);
  return exact.has_value();
}

/// Walks the members of an object in canonical JSON, which has no blanks: keys and values as they
/// are written. Rows have been read once; nothing is checked here but the end of the text.
class Members {
 public:
  explicit Members(std::string_view object) : text_(object) {}

  bool next() {
    ++at_;  // over "{" or ","
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    const auto start = at_;
    skip_string();
    key_ = text_.substr(start, at_ - start);
    ++at_;
    const auto value = std::min(at_, text_.size());
    skip_value();
    value_ = text_.substr(value, at_ - value);
    return !value_.empty();
  }
  [[nodiscard]] std::string_view key() const { return key_; }  ///< in quotes
  [[nodiscard]] std::string_view value() const { return value_; }

 private:
  void skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = std::min(text_.find('"', at_), text_.size());
      auto escapes = at_;
      while (text_[escapes - 1] == '\\') --escapes;
      if ((at_ - escapes) % 2 == 0) break;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_value() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        if (depth == 0) return;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}')) return;
      if (c == '{' || c == '[') ++depth;
      const bool closes = c == '}' || c == ']';
      if (closes) --depth;
      ++at_;
      if (closes && depth == 0) return;
    }
  }

  std::string_view text_;
  std::string_view key_;
  std::string_view value_;
  std::size_t at_ = 0;
};

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
    : table_(table), cells_(table.columns.size()), texts_(table.columns.size()) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
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
        hot_.push_back(i);
        base::json::append_string(keys_.emplace_back(), column.attribute);
        break;
      default:
        break;
    }
  }
}

const std::vector<Cell>& CellReader::fill(const inventory::RowView& row) {
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
      default:
        break;  // the same for all rows, or below
    }
  }
  if (!hot_.empty()) fill_attributes(row.attributes);
  return cells_;
}

void CellReader::fill_attributes(std::string_view attributes) {
  for (const auto column : hot_) cells_[column].null = true;
  Members members(attributes);
  std::size_t missing = hot_.size();
  while (missing > 0 && members.next()) {
    for (std::size_t i = 0; i < hot_.size(); ++i) {
      if (members.key() != keys_[i]) continue;
      fill_attribute(hot_[i], members.value());
      --missing;
    }
  }
}

void CellReader::fill_attribute(std::size_t column, std::string_view value) {
  Cell& cell = cells_[column];
  if (value == "null") return;
  const Type type = table_.columns[column].type;
  if (type != Type::kText && type != Type::kJson) {
    cell.null = !fill_typed(cell, type, value, texts_[column]);
    return;
  }
  const bool plain = type == Type::kText && value.front() == '"';
  cell.text = plain ? unquoted(value, texts_[column]) : value;
  cell.null = cell.text.empty();
}

}  // namespace kollect::sinks::columns
