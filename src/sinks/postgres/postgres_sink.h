// Current rows, and their history if wanted, in PostgreSQL (spec: sinks 11).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "pgsql/dsn.h"
#include "sinks/postgres/stage.h"
#include "sinks/postgres/table.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct PostgresOptions {
  pgsql::DsnOptions dsn;
  /// Schema, table and what may be created. With a naming template the table's name comes from
  /// that.
  postgres::TableOptions table;
  /// Table name with {cluster}, {namespace}, {name}; empty: table.table.
  std::string naming_template;
  base::Duration statement_timeout = std::chrono::seconds(30);
  std::optional<base::Duration> lock_timeout;
  postgres::BatchLimits limits;
};

/// Tables, `inventory` standing for the table's name:
///
///   inventory           current rows: the eight columns of spec sinks 11.2. Unchanged rows are not
///                       rewritten (K-45): exported_at tells when a row last changed.
///   inventory_exports   per cluster and inventory: generation, checksum, item_count, exported_at
///                       of the last pass; left out where it cannot be created.
///   inventory_history, inventory_rows, inventory_versions, inventory_changes
///                       with options.history: the same columns as in SQLite, times as timestamptz,
///                       payload and attributes as jsonb.
///
/// One transaction per call: readers see the old or the new state. Passes of several processes over
/// one inventory wait for each other (an advisory lock per cluster and inventory); deadlocks with
/// other writers are tried again. Memory is some 32 bytes per row and one batch. A lost connection
/// is opened anew by the next call. PostgreSQL 12 or later.
std::unique_ptr<Sink> make_postgres_sink(PostgresOptions options);

/// The key of a Secret that holds the connection string: the first of those that may whose value is
/// not blank.
std::optional<std::string> dsn_key(const SecretData& auth);

/// Options from a sink's spec. Errors: configuration.
base::Result<PostgresOptions> postgres_options(const api::DatabaseSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem);

}  // namespace kollect::sinks
