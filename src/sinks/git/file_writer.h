// Files of an export into a tree: what is there already stays (spec: sinks 7.3).
#pragma once

#include "base/context.h"
#include "sinks/git/object_store.h"
#include "sinks/git/pack_writer.h"
#include "sinks/git/tree_editor.h"
#include "sinks/layout.h"

namespace kollect::sinks::git {

/// Compares files with those of the tree, puts new contents into the pack and their names into the
/// tree, and counts. A timed file that differs in its export time only counts as unchanged. Borrows
/// everything.
class FileWriter {
 public:
  /// `list`: the report names every file.
  /// `other`: another tree that may have texts of timed files; where such a text differs in its
  /// time only it is taken as it is.
  FileWriter(const base::Context& context, const ObjectStore& store, TreeEditor& tree,
             PackWriter& pack, bool list, std::optional<Oid> other = {})
      : context_(context), store_(store), tree_(tree), pack_(pack), list_(list) {
    if (other) other_.emplace(store, other);
  }

  base::Result<> put(const File& file);
  base::Result<> remove(const std::string& path);
  [[nodiscard]] bool changed() const { return report_.written + report_.removed > 0; }
  [[nodiscard]] ExportReport& report() { return report_; }

 private:
  /// The text of a timed file with the time of an older one; none when more than the time differs.
  [[nodiscard]] base::Result<std::optional<Pieces>> same_but_for_time(const File& file,
                                                                      const Oid& older) const;
  base::Result<> note(ExportReport::Change::What what, const File& file, std::size_t bytes);

  const base::Context& context_;
  const ObjectStore& store_;
  TreeEditor& tree_;
  PackWriter& pack_;
  bool list_;
  std::optional<TreeEditor> other_;
  ExportReport report_;
};

}  // namespace kollect::sinks::git
