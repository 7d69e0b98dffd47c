// What BigQuery is asked: table definitions, statements and their parameters (spec: sinks 13).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"

namespace kollect::sinks::bigquery {

/// Names are checked beforehand (options.cc): they hold no backtick.
struct TableName {
  std::string project;
  std::string dataset;
  std::string table;
  /// `project.dataset.table` in backticks.
  [[nodiscard]] std::string quoted() const;
  /// "dataset.table", for texts.
  [[nodiscard]] std::string title() const { return dataset + "." + table; }
  /// TableReference of the API.
  [[nodiscard]] base::json::Value reference() const;
};

/// The rows of one (cluster, inventory).
struct Partition {
  TableName table;
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory_name;
  std::string at;  ///< exported_at of what is written, RFC 3339 with microseconds
};

/// One difference.
struct Difference {
  std::string target_name;
  std::string source_uid;
  std::string target_namespace;
  std::string resource_namespace;
  std::string payload;  ///< empty: the row goes
  [[nodiscard]] bool removed() const { return payload.empty(); }
};

/// A statement with named parameters.
struct Query {
  std::string sql;
  std::string parameters;  ///< JSON array of QueryParameter, as text
  std::string doing;
};

/// Table resource for tables.insert. `expiration_days` 0: partitions stay.
base::json::Value table_resource(const TableName& name, std::int64_t expiration_days);
/// The schema's fields as a table resource has them: {"fields": [...]}.
base::json::Value table_schema();
/// Of the table that a load job fills.
base::json::Value stage_schema();

/// Key and digest of every row of the partition; with `places` also the target namespace and the
/// namespace of the object, else empty texts.
Query read_partition(const Partition& partition, bool places);
/// Deletes every row of the partition.
Query delete_partition(const Partition& partition);
/// Writes what differs, removes what goes. Differences as parameter.
Query merge_rows(const Partition& partition, const std::vector<Difference>& rows);
/// The same from a table of the shape of stage_schema().
Query merge_stage(const Partition& partition, const TableName& stage);
/// Counts rows of the partition that merge_rows() or merge_stage() (`stage` not null) will remove.
Query count_removals(const Partition& partition, const std::vector<Difference>& rows,
                     const TableName* stage);
/// Counts rows of the partition under these keys that belong to another target namespace.
Query count_foreign(const Partition& partition, const std::vector<Difference>& rows);
/// Deletes all rows of these keys.
Query delete_keys(const Partition& partition, const std::vector<Difference>& rows);
/// One line of a load job.
void append_stage_line(std::string& out, const Difference& row);

}  // namespace kollect::sinks::bigquery
