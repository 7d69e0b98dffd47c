// What the branch is known to hold of one inventory, between the passes of an operator.
#pragma once

#include <optional>

#include "sinks/git/object_store.h"
#include "sinks/layout/set_ledger.h"

namespace kollect::sinks::git {

/// State of an inventory in the last commit that is known to hold it.
struct Ledger {
  SetLedger set;
  Oid tree;  ///< root of a tree that holds all of it

  /// True when a file of the inventory is not the same in another tree, or when that cannot be
  /// told.
  [[nodiscard]] bool touched_in(const ObjectStore& store, const std::optional<Oid>& other) const;
};

}  // namespace kollect::sinks::git
