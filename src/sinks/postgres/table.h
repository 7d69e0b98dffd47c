// The tables: what is there, whether it fits, what `ensure` creates (spec: sinks 11.2, K-13, K-43).
#pragma once

#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "pgsql/connection.h"
#include "pgsql/names.h"

namespace kollect::sinks::postgres {

using pgsql::Answer;
using pgsql::companion_name;
using pgsql::Connection;

struct TableOptions {
  std::string schema = "public";
  std::string table;
  bool ensure = true;  ///< create what is missing; else nothing is created
  bool create_schema = false;
  bool history = false;
};

/// A table that fits, with its companions. Names are quoted and have their schema.
struct Table {
  std::string name;            ///< the eight columns of spec sinks 11.2
  std::string exports;         ///< <table>_exports; empty: there is none, which is fine
  std::string history;         ///< <table>_history; empty: no history is kept
  std::string title;           ///< schema.table for messages
  bool cluster_in_key = true;  ///< false: key without cluster (K-43)
};

/// Looks at the table and its companions and, with `ensure`, creates what is missing; what exists
/// is never changed. A user without the right to create is fine while everything exists. Errors: a
/// table of another shape (terminal, reason "table-shape", with the columns wanted), a missing one
/// with `existing` (terminal, "table-missing"), those of statements.
base::Result<Table> prepare_table(const base::Context& context, Connection& connection,
                                  const TableOptions& options);
/// The same without creating; true in `missing` when there is no such table.
base::Result<Table> look_at_table(const base::Context& context, Connection& connection,
                                  const TableOptions& options, bool& missing);

/// The statement that `ensure` runs for the main table.
std::string create_table_sql(std::string_view schema, std::string_view table);

/// The table of an inventory by a naming template.
std::string named_table(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory);

/// Number of an advisory lock for a text.
std::string lock_number(std::string_view text);

}  // namespace kollect::sinks::postgres
