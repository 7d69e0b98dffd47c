// Rows of an inventory as rows of a table: what stands in each column (spec: sinks 10).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inventory/row_set.h"
#include "sinks/columns/schema.h"

namespace kollect::sinks::columns {

/// One document: rows and what is the same for all of them. Borrows the rows.
struct Table {
  const inventory::RowSet* rows = nullptr;  ///< sealed
  std::size_t first = 0;                    ///< rows [first, last) of the set
  std::size_t last = 0;
  std::string cluster;  ///< "" is written as "default"
  std::string inventory_namespace;
  std::string inventory_name;  ///< without the suffix of a part
  std::int64_t generation = 0;
  std::uint32_t part_index = 0;  ///< from 1; 0: the document is not split
  std::uint32_t part_total = 0;
  base::WallTime exported_at{};
  std::vector<Column> columns;  ///< of schema()

  [[nodiscard]] std::string_view cluster_word() const {
    return cluster.empty() ? std::string_view("default") : std::string_view(cluster);
  }
};

/// A value. Which member counts says the column's type: kText and kJson `text`; kInteger and kTime
/// (microseconds since 1970) `integer`; kDouble `number`; kBoolean `truth`.
struct Cell {
  bool null = false;
  std::string_view text = {};
  std::int64_t integer = 0;
  double number = 0;
  bool truth = false;
};

/// Fills the cells of one row after the other. Cells are valid as long as the row and until the
/// next fill. Not thread-safe.
class CellReader {
 public:
  explicit CellReader(const Table& table);
  /// One cell a column. A value that does not fit its column's declared type is null.
  const std::vector<Cell>& fill(const inventory::RowView& row);

 private:
  void fill_attributes(std::string_view attributes);
  void fill_attribute(std::size_t column, std::string_view value);

  const Table& table_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> hot_;    ///< columns of attributes
  std::vector<std::string> keys_;   ///< of each of these: the attribute's name as JSON writes it
  std::vector<std::string> texts_;  ///< of each column: a value that is not as it stands in the row
};

/// Columns that say what a row is, for those who read a table back.
constexpr std::array<std::string_view, 9> kRowColumns = {
    "target_namespace", "target_name", "namespace", "name", "uid", "kind", "group",
    "api_version",      "attributes"};
/// Texts of kRowColumns, "" for null.
using RowCells = std::array<std::string_view, kRowColumns.size()>;
inventory::RowView row_of(const RowCells& cells);

/// Microseconds since 1970, cut towards the past.
std::int64_t microseconds(base::WallTime time);

}  // namespace kollect::sinks::columns
