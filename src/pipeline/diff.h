// `kollect diff`: what appeared, changed and went between two inventories.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/context.h"
#include "base/result.h"

namespace kollect::pipeline {

struct DiffOptions {
  /// An envelope or rows as JSON, YAML or NDJSON; an output folder; a SQLite file. A SQLite file
  /// may be followed by "@" and a moment of its history: a time (RFC 3339), a date, or a duration
  /// that means "so long ago" ("@24h").
  std::string before;
  std::string after;
  bool json = false;
  bool color = false;               ///< text with terminal colours
  std::string table = "inventory";  ///< of SQLite files
};

struct DiffSummary {
  std::uint64_t appeared = 0;
  std::uint64_t changed = 0;
  std::uint64_t went = 0;
  std::uint64_t unchanged = 0;
  [[nodiscard]] bool differs() const { return appeared + changed + went > 0; }
};

/// Compares and writes the result to `out` (not owned). Rows are the same row when cluster (only if
/// one side holds several), target, group, kind, namespace and name agree; a new uid is a change
/// ("recreated").
///
/// Text: a line per row with "+", "~" or "-", below a changed row its attributes as "path: before
/// -> after", totals last. JSON: one object
/// {"schema":"kollect.dev/diff/v1","before","after","summary","appeared":[row],
/// "changed":[{"row","changes":[{"path","before","after"}]}],"went":[row]}; "before" or "after" is
/// left out where the path did not exist. Errors: not_found, configuration (unreadable input, with
/// file and place), cancelled.
base::Result<DiffSummary> run_diff(const base::Context& context, const DiffOptions& options,
                                   std::FILE* out);

}  // namespace kollect::pipeline
