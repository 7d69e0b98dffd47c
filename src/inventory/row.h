// The row: what is kept of one object for one target (spec: sinks 2.1).
#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "base/json/document.h"

namespace kollect::inventory {

/// Borrowed row. `attributes` is canonical JSON of an object.
struct RowView {
  std::string_view target_namespace;
  std::string_view target_name;
  std::string_view ns;  ///< "" for cluster-scoped objects
  std::string_view name;
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  std::string_view uid;
  std::string_view attributes;

  /// Order of spec sinks 2.2.
  [[nodiscard]] auto sort_key() const {
    return std::tie(target_namespace, target_name, ns, name, uid, group, version, kind);
  }
};

/// Canonical JSON of the row, keys in the order of spec sinks 2.1.
void append_row_json(std::string& out, const RowView& row);

/// The row of such JSON without its attributes; members that are no strings count as "". Views into
/// the document. Nothing is checked: add_row_json() (row_set.h) does.
RowView identity_of(base::json::View row);

/// Bytes of all texts of the row.
std::size_t text_bytes(const RowView& row);
/// The row with its texts at the end of `out`, into which it looks. `out` must have room for them:
/// it may not move.
RowView copy_row(const RowView& row, std::string& out);

}  // namespace kollect::inventory
