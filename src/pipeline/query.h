// `kollect query`: SQL over a SQLite inventory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"

namespace kollect::pipeline {

enum class QueryFormat { kTable, kJson, kCsv };
/// "table", "json", "csv".
base::Result<QueryFormat> parse_query_format(std::string_view text);

struct QueryOptions {
  std::filesystem::path file;
  /// One reading statement. Empty: what tables and views there are, with their columns.
  std::string sql;
  QueryFormat format = QueryFormat::kTable;
  /// Table: longer cells are cut and end in "…"; 0: never.
  std::size_t max_cell_width = 80;
  /// JSON: text that is a JSON object or array is written as such, not as a string.
  bool expand_json = false;
};

/// Runs the statement over the file opened for reading and writes its result to `out` (not owned):
/// a table with a line of totals; a JSON array with a row object per line; CSV (RFC 4180, line
/// feeds) with a head line. NULL is null in JSON and empty elsewhere; blobs are base64. Answers the
/// number of rows. Errors: not_found (no such file), configuration (no database, SQL that is wrong
/// or would write), cancelled.
base::Result<std::uint64_t> run_query(const base::Context& context, const QueryOptions& options,
                                      std::FILE* out);

}  // namespace kollect::pipeline
