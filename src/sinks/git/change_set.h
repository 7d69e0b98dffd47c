// The new tree of one export run on top of a tip (spec: sinks 7.3 step 2, 7.5).
#pragma once

#include <optional>
#include <vector>

#include "sinks/git/object_store.h"
#include "sinks/git/pack_writer.h"
#include "sinks/layout.h"

namespace kollect::sinks::git {

struct ChangeSet {
  std::optional<Oid> tree;  ///< none: the same as the tip's
  ExportReport report;
  RunLayout layout;  ///< borrows the exports
  /// Per export: files that stay although the set does not have them.
  std::vector<std::vector<std::string>> kept;
};

/// Renders all exports, compares them with the tip's tree (none: empty) and puts new objects into
/// `pack`. The tip is not changed. Only files that an earlier export of the same inventory wrote
/// are removed. `list`: the report names every file. `proposed`: as of FileWriter.
base::Result<ChangeSet> build_change_set(const base::Context& context, const ObjectStore& store,
                                         std::optional<Oid> tip_tree,
                                         const std::vector<Export>& exports,
                                         const LayoutSpec& layout, PackWriter& pack, bool list,
                                         std::optional<Oid> proposed = {});

}  // namespace kollect::sinks::git
