// A pass as edits of a tree whose files are known: cost by change, not by inventory (spec: sinks 4,
// 5, 7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "sinks/git/file_writer.h"
#include "sinks/git/ledger.h"
#include "sinks/git/pack_writer.h"
#include "sinks/git/tree_editor.h"
#include "sinks/layout.h"

namespace kollect::sinks::git {

/// Reason of the error that asks for a pass over all rows.
inline constexpr std::string_view kNeedsAllRows = "needs-all-rows";

/// The changed files of a tree layout. Only changed rows are rendered; beside them it looks at a
/// few numbers per row (the ledger's) and, where parts or an index depend on the order of rows, at
/// their keys. The result has the same bytes as export_all of all rows.
///
/// plan() refuses, with the reason "needs-all-rows", whatever it cannot decide from the changes
/// alone: documents; a path that another row has, had, or would have but for a suffix; a row at
/// another place than before; rows that may change mode or content of the whole; another number of
/// parts where each has an index; files that stay without a row; rows that are newer than the
/// changes where the order is needed; so many changes that a whole pass is no dearer.
class Delta {
 public:
  /// Borrows the pass, its head's export included.
  static base::Result<Delta> plan(const Ledger& ledger, const Pass& pass, const LayoutSpec& spec);

  struct Outcome {
    std::optional<Oid> tree;  ///< none: the same as `base`
    ExportReport report;
  };
  /// The new tree on `base`, in which the ledger's files are as the ledger says. May be called
  /// again with another base. Error (terminal): the whole pass knows better what is wrong.
  base::Result<Outcome> build(const base::Context& context, const ObjectStore& store,
                              const Oid& base, PackWriter& pack) const;
  /// What the branch holds when it has the tree; all but `tree` itself.
  [[nodiscard]] Ledger& next() { return next_; }

 private:
  friend class DeltaPlanner;
  Delta(const Pass& pass, const LayoutSpec& spec) : pass_(&pass), format_(spec.format) {}
  [[nodiscard]] base::Result<> put_manifest(const ObjectStore& store, TreeEditor& tree,
                                            FileWriter& files) const;

  const Pass* pass_;
  Format format_;
  Ledger next_;
  /// One per change of the pass, in its order: the file to write; "" for none.
  std::vector<std::string> writes_;
  std::vector<std::string> removed_;  ///< files that go, sorted
  std::vector<std::string> created_;  ///< files that the manifest does not list yet, sorted
  std::vector<File> indexes_;
  bool manifest_ = false;  ///< its text changes in more than its time
};

}  // namespace kollect::sinks::git
