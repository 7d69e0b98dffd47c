// A set, or changes, against what a collection holds.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "inventory/row_store.h"
#include "sinks/mongo/writer.h"
#include "sinks/rows/rows.h"
#include "sinks/rows/unit.h"

namespace kollect::sinks::mongo {

struct PassCounts : rows::Counts {
  std::uint64_t replaced = 0;  ///< rows with a U+0000 in a key
  std::string replaced_first;  ///< namespace and name of the first of them
};

/// Writes what differs from the collection's rows of the partition, then removes what the set does
/// not hold. Error with reason "gave-way" when asked for before anything differs.
base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const rows::Keep& keep, bool dry_run,
                                   std::stop_token give_way);

/// Writes changes; what the collection holds already is not written again. Error of kind kConflict,
/// reason "rows-needed", when a row of another target namespace has a changed key: which of the two
/// counts can be told from the whole set only.
base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes);

}  // namespace kollect::sinks::mongo
