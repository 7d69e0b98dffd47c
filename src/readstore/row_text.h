// A row's JSON as it stands in the table, read.
#pragma once

#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/result.h"
#include "inventory/row.h"

namespace kollect::readstore {

/// Reads one payload after the other. One thread.
class RowText {
 public:
  /// Good until the next call. Error (terminal): no row of ours.
  base::Result<inventory::RowView> read(std::string_view payload);
  /// The row as canonical JSON, whatever spelling the database gave it.
  base::Result<std::string> canonical(std::string_view payload);

 private:
  std::string payload_;
  base::json::Document document_;
  std::string attributes_;
};

}  // namespace kollect::readstore
