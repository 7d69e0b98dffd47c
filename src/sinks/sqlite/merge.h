// One inventory's row set into the tables.
#pragma once

#include <cstdint>
#include <string>

#include "base/context.h"
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

/// Compares the rows with the table and writes the differences (nothing when `dry_run`), inside the
/// caller's transaction.
base::Result<MergeCounts> merge(Database& database, const std::string& table,
                                const base::Context& context, const Export& exp, bool dry_run);

}  // namespace kollect::sinks::sqlite
