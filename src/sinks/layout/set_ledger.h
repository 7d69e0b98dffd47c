// What a backend is known to hold of one inventory in files, between the passes of an operator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/layout.h"
#include "sinks/layout/ledger_rows.h"

namespace kollect::sinks {

/// Stand for a path and for what identifies a row (target, namespace, name, uid).
std::uint64_t path_hash(std::string_view path);
std::uint64_t identity_hash(const inventory::RowView& row);

/// An inventory as it was last confirmed. It lets a pass see that nothing changed, or which files
/// it must touch, without looking at other rows. Value type, with the rules of LedgerRows.
struct SetLedger {
  /// The pass that was confirmed, without rows. Another one in anything but its time lays out anew.
  Export head;
  std::string set_hash;
  /// How it is laid out. Without the lists of paths, warnings and parts' rows of a document.
  LaidOut layout;
  bool keeps = false;  ///< files of rows that the set does not have stay (P-9)

  LedgerRows rows;  ///< of a tree, in canonical order

  std::vector<std::uint64_t> fixed;  ///< paths of documents, indexes, the manifest and kept files
  /// Paths that the template gives to rows which are in another file (4.4), sorted.
  std::vector<std::uint64_t> contested;
  std::vector<std::uint64_t> unlike;  ///< identities of LaidOut::unlike_rows

  /// From an export that the backend holds now. `kept`: files that stay beside it. `scratch`: as of
  /// LedgerRows.
  static base::Result<SetLedger> of(const Export& exp, std::string set_hash, const LayoutSpec& spec,
                                    const LaidOut& layout, const std::vector<std::string>& kept,
                                    const std::filesystem::path& scratch = {});
  /// True when a pass with this head differs by its rows and time only.
  [[nodiscard]] bool same_head(const Export& other) const;
  [[nodiscard]] std::size_t files() const { return rows.size() + fixed.size(); }
};

}  // namespace kollect::sinks
