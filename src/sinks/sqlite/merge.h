// One inventory's row set into the tables.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "base/context.h"
#include "sinks/rows/rows.h"
#include "sinks/sink.h"
#include "sinks/sqlite/database.h"

namespace kollect::sinks::sqlite {

/// What one merge did.
struct MergeCounts {
  std::uint64_t appeared = 0;
  std::uint64_t changed = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t went = 0;
  std::uint64_t collapsed = 0;  ///< rows that another row with the same key replaced
  std::uint64_t bytes = 0;      ///< payload written
};

/// Compares a whole set with the table and writes the differences (nothing when `dry_run`), inside
/// the caller's transaction. `checksum` goes into the table of exports. `give_way` as in Pass.
base::Result<MergeCounts> merge(Database& database, const std::string& table,
                                const base::Context& context, const Export& head,
                                const rows::Source& source, const std::string& checksum,
                                bool dry_run, const std::stop_token& give_way = {});

/// Applies changes of a set of `row_count` rows. Error kConflict, reason "rows-needed": a row of
/// another target namespace has the same key, and only the whole set tells which one counts.
base::Result<MergeCounts> merge_changes(Database& database, const std::string& table,
                                        const base::Context& context, const Export& head,
                                        const inventory::ChangeSet& changes, std::size_t row_count,
                                        const std::string& checksum);

}  // namespace kollect::sinks::sqlite
