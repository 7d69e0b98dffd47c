// A pass as changes of files that are known: cost by change, not by inventory (spec: sinks 4, 5).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sinks/layout.h"
#include "sinks/layout/set_ledger.h"

namespace kollect::sinks {

/// Reason of the error that asks for a pass over all rows.
inline constexpr std::string_view kNeedsAllRows = "needs-all-rows";

/// The changed files of a tree layout. Only changed rows are rendered; beside them it looks at a
/// few numbers per row (the ledger's) and, where parts or an index depend on the order of rows, at
/// their keys. The result has the same bytes as export_all of all rows.
///
/// of() refuses, with the reason "needs-all-rows", whatever it cannot decide from the changes
/// alone: documents; a path that another row has, had, or would have but for a suffix; a row at
/// another place than before; rows that may change mode or content of the whole; another number of
/// parts where each has an index; files that stay without a row; rows that are newer than the
/// changes where the order is needed; so many changes that a whole pass is no dearer.
struct DeltaPlan {
  static base::Result<DeltaPlan> of(const SetLedger& ledger, const Pass& pass,
                                    const LayoutSpec& spec);

  /// Hands out the files to write (rows', then indexes); the set manifest is not among them.
  base::Result<> files(const Pass& pass, const LayoutSpec& spec,
                       const std::function<base::Result<>(File&&)>& take) const;
  /// A list of the inventory's data files, brought up to date and sorted.
  [[nodiscard]] std::vector<std::string> now_listed(std::vector<std::string> before) const;
  /// The set manifest from the data files that the old one lists: the paths of unchanged rows stand
  /// nowhere else. Borrows the pass.
  [[nodiscard]] File set_manifest(const Pass& pass, std::vector<std::string> before) const;

  SetLedger next;  ///< what the backend holds afterwards
  /// One per change of the pass, in its order: the file to write; "" for none.
  std::vector<std::string> writes;
  std::vector<std::string> removed;  ///< files that go, sorted
  std::vector<std::string> created;  ///< files that the manifest does not list yet, sorted
  std::vector<File> indexes;
  bool manifest = false;  ///< its text changes in more than its time
};

}  // namespace kollect::sinks
