// What the branch is known to hold of one inventory, between the passes of an operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/git/change_set.h"
#include "sinks/git/object_store.h"
#include "sinks/layout.h"

namespace kollect::sinks::git {

/// Stand for a path and for what identifies a row (target, namespace, name, uid).
std::uint64_t path_hash(std::string_view path);
std::uint64_t identity_hash(const inventory::RowView& row);

/// State of an inventory in the last commit that is known to hold it: 20 bytes a row of a tree,
/// next to nothing of a document. It lets a pass see that nothing changed, or which files it must
/// touch, without looking at other rows. Value type.
struct Ledger {
  /// The pass that was confirmed, without rows. Another one in anything but its time lays out anew.
  Export head;
  std::string set_hash;
  Oid tree;  ///< root of a tree that holds all of it
  /// How it is laid out. Without the lists of paths, warnings and parts' rows of a document.
  LaidOut layout;
  bool keeps = false;  ///< files of rows that the set does not have stay (P-9)

  // One element per row of a tree, in canonical order.
  std::vector<std::uint64_t> identities;
  std::vector<std::uint64_t> paths;
  std::vector<std::uint32_t> sizes;  ///< bytes of the row's JSON; none when there is no ceiling

  std::vector<std::uint64_t> fixed;  ///< paths of documents, indexes, the manifest and kept files
  /// Paths that the template gives to rows which are in another file (4.4), sorted.
  std::vector<std::uint64_t> contested;
  std::vector<std::uint64_t> unlike;  ///< identities of LaidOut::unlike_rows

  /// From an export that the branch holds now. `kept`: files that stay beside it.
  static base::Result<Ledger> of(const Export& exp, std::string set_hash, const LayoutSpec& spec,
                                 const LaidOut& layout, const std::vector<std::string>& kept,
                                 const Oid& tree);
  /// True when a pass with this head differs by its rows and time only.
  [[nodiscard]] bool same_head(const Export& other) const;
  /// True when a file of the inventory is not the same in another tree, or when that cannot be
  /// told.
  [[nodiscard]] bool touched_in(const ObjectStore& store, const std::optional<Oid>& other) const;
  [[nodiscard]] std::size_t files() const { return paths.size() + fixed.size(); }
};

}  // namespace kollect::sinks::git
