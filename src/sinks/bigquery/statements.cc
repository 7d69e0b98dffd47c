#include "sinks/bigquery/statements.h"

#include <fmt/format.h>

#include <array>

#include "base/json/write.h"
#include "sinks/bigquery/payload.h"

namespace kollect::sinks::bigquery {

namespace {

using base::json::append_string;
using base::json::Array;
using base::json::Object;
using base::json::Value;

struct Column {
  const char* name;
  const char* type;
};
constexpr std::array<Column, 8> kColumns = {{{"inventory_namespace", "STRING"},
                                             {"inventory_name", "STRING"},
                                             {"target_name", "STRING"},
                                             {"source_uid", "STRING"},
                                             {"cluster", "STRING"},
                                             {"resource_namespace", "STRING"},
                                             {"payload", "JSON"},
                                             {"exported_at", "TIMESTAMP"}}};
constexpr std::array<Column, 6> kStageColumns = {{{"target_name", "STRING"},
                                                  {"source_uid", "STRING"},
                                                  {"target_namespace", "STRING"},
                                                  {"resource_namespace", "STRING"},
                                                  {"payload", "STRING"},
                                                  {"removed", "BOOL"}}};
constexpr std::array<const char*, 4> kClustering = {"cluster", "inventory_namespace",
                                                    "inventory_name", "resource_namespace"};
constexpr std::int64_t kMillisPerDay = 86'400'000;

constexpr std::string_view kWhere =
    "T.cluster = @cluster AND T.inventory_namespace = @inventory_namespace AND "
    "T.inventory_name = @inventory_name";
constexpr std::string_view kSameKey =
    "T.target_name = S.target_name AND T.source_uid = S.source_uid";
/// `payload` of the differences is text; what JSON cannot hold exactly is rounded.
constexpr std::string_view kStageFields =
    "r.target_name, r.source_uid, r.resource_namespace, r.removed, "
    "PARSE_JSON(r.payload, wide_number_mode=>'round') AS payload";

template <std::size_t n>
Value schema_of(const std::array<Column, n>& columns) {
  Array fields;
  for (const Column& column : columns) {
    Object field;
    field.set("name", column.name);
    field.set("type", column.type);
    field.set("mode", "REQUIRED");
    fields.emplace_back(std::move(field));
  }
  Object schema;
  schema.set("fields", std::move(fields));
  return {std::move(schema)};
}

void append_scalar(std::string& out, std::string_view name, std::string_view type,
                   std::string_view value) {
  out += out.empty() ? '[' : ',';
  out += R"({"name":)";
  append_string(out, name);
  out += R"(,"parameterType":{"type":)";
  append_string(out, type);
  out += R"(},"parameterValue":{"value":)";
  append_string(out, value);
  out += "}}";
}

std::string partition_parameters(const Partition& partition) {
  std::string out;
  append_scalar(out, "cluster", "STRING", partition.cluster);
  append_scalar(out, "inventory_namespace", "STRING", partition.inventory_namespace);
  append_scalar(out, "inventory_name", "STRING", partition.inventory_name);
  return out;
}

/// Parameter "rows": an array of structs.
void append_rows(std::string& out, const std::vector<Difference>& rows) {
  out +=
      R"(,{"name":"rows","parameterType":{"type":"ARRAY","arrayType":{"type":"STRUCT","structTypes":[)";
  for (std::size_t i = 0; i < kStageColumns.size(); ++i) {
    out += fmt::format(R"({}{{"name":"{}","type":{{"type":"{}"}}}})", i == 0 ? "" : ",",
                       kStageColumns[i].name, kStageColumns[i].type);
  }
  out += R"(]}},"parameterValue":{"arrayValues":[)";
  bool first = true;
  for (const Difference& row : rows) {
    const std::string_view values[] = {row.target_name,
                                       row.source_uid,
                                       row.target_namespace,
                                       row.resource_namespace,
                                       row.removed() ? std::string_view("null") : row.payload,
                                       row.removed() ? "true" : "false"};
    out += first ? R"({"structValues":{)" : R"(,{"structValues":{)";
    first = false;
    for (std::size_t i = 0; i < kStageColumns.size(); ++i) {
      out += fmt::format(R"({}"{}":{{"value":)", i == 0 ? "" : ",", kStageColumns[i].name);
      append_string(out, values[i]);
      out += '}';
    }
    out += "}}";
  }
  out += "]}}";
}

Query with_rows(const Partition& partition, const std::vector<Difference>& rows, std::string sql,
                std::string doing) {
  Query out;
  out.sql = std::move(sql);
  out.parameters = partition_parameters(partition);
  append_rows(out.parameters, rows);
  out.parameters += ']';
  out.doing = std::move(doing);
  return out;
}

/// Unchanged rows are left alone (K-45).
std::string merge_sql(const Partition& partition, std::string_view source) {
  return fmt::format(
      "MERGE {} AS T USING (SELECT {} FROM {} AS r) AS S ON {} AND {} "
      "WHEN MATCHED AND S.removed THEN DELETE "
      "WHEN MATCHED AND (T.resource_namespace <> S.resource_namespace OR "
      "TO_JSON_STRING(T.payload) <> TO_JSON_STRING(S.payload)) THEN UPDATE SET "
      "payload = S.payload, resource_namespace = S.resource_namespace, exported_at = @exported_at "
      "WHEN NOT MATCHED AND NOT S.removed THEN INSERT (inventory_namespace, inventory_name, "
      "target_name, source_uid, cluster, resource_namespace, payload, exported_at) VALUES "
      "(@inventory_namespace, @inventory_name, S.target_name, S.source_uid, @cluster, "
      "S.resource_namespace, S.payload, @exported_at)",
      partition.table.quoted(), kStageFields, source, kWhere, kSameKey);
}

}  // namespace

std::string TableName::quoted() const {
  return fmt::format("`{}.{}.{}`", project, dataset, table);
}

Value TableName::reference() const {
  Object out;
  out.set("projectId", project);
  out.set("datasetId", dataset);
  out.set("tableId", table);
  return {std::move(out)};
}

Value table_schema() {
  return schema_of(kColumns);
}

Value stage_schema() {
  return schema_of(kStageColumns);
}

Value table_resource(const TableName& name, std::int64_t expiration_days) {
  Object partitioning;
  partitioning.set("type", "DAY");
  partitioning.set("field", "exported_at");
  if (expiration_days > 0) {
    partitioning.set("expirationMs", std::to_string(expiration_days * kMillisPerDay));
  }
  Array columns;
  for (const char* column : kClustering) columns.emplace_back(column);
  Object clustering;
  clustering.set("fields", std::move(columns));
  Object out;
  out.set("tableReference", name.reference());
  out.set("schema", table_schema());
  out.set("timePartitioning", std::move(partitioning));
  out.set("clustering", std::move(clustering));
  return {std::move(out)};
}

Query read_partition(const Partition& partition, bool places) {
  const std::string_view where_from =
      places ? "JSON_VALUE(T.payload, '$.targetNamespace'), JSON_VALUE(T.payload, '$.namespace')"
             : "'' AS target_namespace, '' AS namespace";
  Query out;
  out.sql = fmt::format("SELECT T.target_name, T.source_uid, {}, {} FROM {} AS T WHERE {}",
                        kDigestSql, where_from, partition.table.quoted(), kWhere);
  out.parameters = partition_parameters(partition) + "]";
  out.doing = fmt::format("reading {}", partition.table.title());
  return out;
}

Query delete_partition(const Partition& partition) {
  Query out;
  out.sql = fmt::format("DELETE FROM {} AS T WHERE {}", partition.table.quoted(), kWhere);
  out.parameters = partition_parameters(partition) + "]";
  out.doing = fmt::format("deleting rows of {}", partition.table.title());
  return out;
}

Query merge_rows(const Partition& partition, const std::vector<Difference>& rows) {
  Query out = with_rows(partition, rows, merge_sql(partition, "UNNEST(@rows)"),
                        fmt::format("writing rows to {}", partition.table.title()));
  out.parameters.pop_back();
  append_scalar(out.parameters, "exported_at", "TIMESTAMP", partition.at);
  out.parameters += ']';
  return out;
}

Query merge_stage(const Partition& partition, const TableName& stage) {
  Query out;
  out.sql = merge_sql(partition, stage.quoted());
  out.parameters = partition_parameters(partition);
  append_scalar(out.parameters, "exported_at", "TIMESTAMP", partition.at);
  out.parameters += ']';
  out.doing = fmt::format("writing rows to {}", partition.table.title());
  return out;
}

Query count_removals(const Partition& partition, const std::vector<Difference>& rows,
                     const TableName* stage) {
  auto sql = fmt::format("SELECT COUNT(*) FROM {} AS T JOIN {} AS S ON {} WHERE {} AND S.removed",
                         partition.table.quoted(),
                         stage != nullptr ? stage->quoted() : std::string("UNNEST(@rows)"),
                         kSameKey, kWhere);
  return with_rows(partition, rows, std::move(sql),
                   fmt::format("comparing with {}", partition.table.title()));
}

Query count_foreign(const Partition& partition, const std::vector<Difference>& rows) {
  return with_rows(
      partition, rows,
      fmt::format("SELECT COUNT(*) FROM {} AS T JOIN UNNEST(@rows) AS S ON {} WHERE {} AND "
                  "JSON_VALUE(T.payload, '$.targetNamespace') <> S.target_namespace",
                  partition.table.quoted(), kSameKey, kWhere),
      fmt::format("comparing with {}", partition.table.title()));
}

Query delete_keys(const Partition& partition, const std::vector<Difference>& rows) {
  return with_rows(partition, rows,
                   fmt::format("DELETE FROM {} AS T WHERE {} AND EXISTS (SELECT 1 FROM "
                               "UNNEST(@rows) AS S WHERE {})",
                               partition.table.quoted(), kWhere, kSameKey),
                   fmt::format("deleting rows of {}", partition.table.title()));
}

void append_stage_line(std::string& out, const Difference& row) {
  const std::string_view values[] = {row.target_name, row.source_uid, row.target_namespace,
                                     row.resource_namespace,
                                     row.removed() ? std::string_view("null") : row.payload};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    out += i == 0 ? "{\"" : ",\"";
    out += kStageColumns[i].name;
    out += "\":";
    append_string(out, values[i]);
  }
  out += row.removed() ? ",\"removed\":true}\n" : ",\"removed\":false}\n";
}

}  // namespace kollect::sinks::bigquery
