// The columns of `kubectl get` and their cells (the Table of meta.k8s.io/v1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json/document.h"
#include "extract/jsonpath.h"
#include "sandbox/registry.h"

namespace kollect::sandbox {

/// The columns of one resource, made once for an answer. Immutable.
class TableColumns {
 public:
  explicit TableColumns(const Served& served);
  /// `"columnDefinitions":[...]`
  void append_definitions(std::string& out) const;
  /// `"cells":[...]` of an object. A column that finds nothing has null; ages are those at `now`.
  void append_cells(std::string& out, base::json::View object, base::WallTime now) const;

 private:
  struct Cell {
    Column column;
    std::optional<extract::JsonPath> path;  ///< none: it does not compile, the cell stays null
  };
  void append_cell(std::string& out, const Cell& cell, base::json::View object,
                   base::WallTime now) const;

  std::vector<Cell> cells_;
};

/// "5s", "3m20s", "47h", "12d", "2y30d": as kubectl writes ages. "<invalid>" when negative.
std::string human_age(base::Duration age);

}  // namespace kollect::sandbox
