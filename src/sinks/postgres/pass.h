// One inventory's pass inside a transaction: whole sets are compared, changes are applied.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/context.h"
#include "sinks/postgres/stage.h"
#include "sinks/rows/rows.h"
#include "sinks/rows/unit.h"
#include "sinks/sink.h"

namespace kollect::sinks::postgres {

/// What one pass did.
struct PassCounts : rows::Counts {
  std::uint64_t replaced = 0;  ///< written rows with a U+FFFD for a U+0000
  std::uint64_t staged = 0;    ///< rows sent to the server
  std::string replaced_first;  ///< "namespace/name, attribute x"
};

/// How a set is read.
enum class Reading {
  kOnce,   ///< no key is expected twice; found out otherwise, it is an error: kConflict,
           ///< "duplicate-key"
  kTwice,  ///< keys are read first, so that of rows with one key the last one is written alone
};

/// Compares the set with the table by hashes (16 bytes per row in memory) and writes the
/// differences; rows of the partition that the set does not hold are deleted unless `keep` has
/// them. With `dry_run` nothing is written. `give_way` as in Pass.
base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const rows::Keep& keep,
                                   Reading reading, bool dry_run, std::stop_token give_way);

/// Applies changes alone. Errors of kind kConflict: "rows-needed" and "duplicate-key", when the
/// whole set is needed to tell what is right.
base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes);

}  // namespace kollect::sinks::postgres
