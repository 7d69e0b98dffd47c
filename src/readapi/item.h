// Rows as users of the API see them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// Writes items, one thread at a time.
class ItemWriter {
 public:
  /// `fields` as in Query.
  explicit ItemWriter(std::vector<std::string> fields);
  /// One compact JSON object: the row's members, behind them what only some stores have.
  void append(std::string& out, const SourceRow& row);
  /// append() writes what inventory::append_row_json() would.
  [[nodiscard]] bool plain(const SourceRow& row) const;

 private:
  void append_field(std::string& out, const SourceRow& row, const std::string& field);

  std::vector<std::string> fields_;
  std::vector<std::string> attributes_;  ///< names of single ones among the fields
  bool all_attributes_ = false;
  base::json::Document document_;
};

/// Text of a column of a row as filters, sorting and CSV have it: strings as they are, other
/// attributes as compact JSON; "" where there is none. Views die with the reader's next call or the
/// row.
class ColumnReader {
 public:
  /// Of the next row.
  void at(const SourceRow& row);
  std::string_view text(std::string_view column);
  std::optional<base::json::View> attribute(std::string_view name);
  /// All attributes; none where they are no object.
  std::optional<base::json::View> attributes();

 private:
  const SourceRow* row_ = nullptr;
  bool parsed_ = false;
  bool sound_ = false;
  base::json::Document document_;
  std::string text_;
};

}  // namespace kollect::readapi
