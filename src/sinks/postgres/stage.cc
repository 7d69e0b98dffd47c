#include "sinks/postgres/stage.h"

#include <algorithm>

#include <fmt/format.h>

namespace kollect::sinks::postgres {

namespace {

constexpr std::string_view kStage = "pg_temp.kollect_stage";
constexpr std::size_t kChunk = 256U << 10U;
constexpr std::string_view kCopyHeader{"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0", 19};
constexpr std::string_view kCopyTrailer{"\xFF\xFF", 2};

/// The staged rows have their whole key, and statements join by it without constants: the planner
/// then judges by the sizes of the tables alone, which it always knows. With constants it takes the
/// partition of a table that was filled in this very transaction for one row, and nests loops over
/// all of it.
std::string same_key(std::string_view a, std::string_view b) {
  std::string out;
  for (const std::string_view column :
       {"cluster", "inventory_namespace", "inventory_name", "target_name", "source_uid"}) {
    out += fmt::format("{}{}.{} = {}.{}", out.empty() ? "" : " AND ", a, column, b, column);
  }
  return out;
}

/// Rows of the partition, for statements over all of it.
std::string of_partition(std::string_view alias) {
  return fmt::format(
      "{0}.cluster = $1 AND {0}.inventory_namespace = $2 AND {0}.inventory_name = $3", alias);
}

constexpr std::string_view kKey =
    "cluster, inventory_namespace, inventory_name, target_name, source_uid";

void append_int(std::string& out, std::uint32_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xFFU);
  }
}

void append_field(std::string& out, std::string_view text) {
  append_int(out, static_cast<std::uint32_t>(text.size()), 4);
  out += text;
}

std::string merge_sql(const Table& table) {
  const std::string_view cluster_set = table.cluster_in_key ? "" : ", cluster = excluded.cluster";
  const std::string_view cluster_differs =
      table.cluster_in_key ? "" : " OR t.cluster IS DISTINCT FROM excluded.cluster";
  return fmt::format(
      "INSERT INTO {0} AS t ({1}, resource_namespace, payload, exported_at) "
      "SELECT {1}, resource_namespace, payload, $1::timestamptz FROM {2} WHERE payload IS NOT NULL "
      "ON CONFLICT ({3}inventory_namespace, inventory_name, target_name, source_uid) DO UPDATE SET "
      "payload = excluded.payload, exported_at = excluded.exported_at, "
      "resource_namespace = excluded.resource_namespace{4} "
      "WHERE t.payload IS DISTINCT FROM excluded.payload OR "
      "t.resource_namespace IS DISTINCT FROM excluded.resource_namespace{5}",
      table.name, kKey, kStage, table.cluster_in_key ? "cluster, " : "", cluster_set,
      cluster_differs);
}

std::string delete_sql(const Table& table) {
  return fmt::format("DELETE FROM {} t USING {} s WHERE s.payload IS NULL AND {}", table.name,
                     kStage, same_key("t", "s"));
}

std::string foreign_sql(const Table& table) {
  return fmt::format(
      "SELECT 1 FROM {} s JOIN {} t ON {} WHERE t.payload ->> 'targetNamespace' IS DISTINCT FROM "
      "s.target_namespace LIMIT 1",
      kStage, table.name, same_key("t", "s"));
}

/// Closes open versions of staged keys that are not what the table holds now, and opens the next
/// ones of those that changed.
std::string change_versions_sql(const Table& table) {
  return fmt::format(
      "WITH closed AS (UPDATE {0} h SET valid_to = $1::timestamptz, "
      "ended = CASE WHEN t.source_uid IS NULL THEN 'went' ELSE 'changed' END "
      "FROM {1} s LEFT JOIN {2} t ON {3} WHERE {4} AND h.valid_to IS NULL AND "
      "(t.source_uid IS NULL OR t.payload IS DISTINCT FROM h.payload OR "
      "t.resource_namespace IS DISTINCT FROM h.resource_namespace) "
      "RETURNING h.cluster, h.inventory_namespace, h.inventory_name, h.target_name, h.source_uid, "
      "h.ended, t.resource_namespace, t.payload) "
      "INSERT INTO {0} ({5}, resource_namespace, payload, valid_from, began) "
      "SELECT {5}, resource_namespace, payload, $1::timestamptz, 'changed' FROM closed "
      "WHERE ended = 'changed'",
      table.history, kStage, table.name, same_key("t", "s"), same_key("h", "s"), kKey);
}

/// Versions for staged rows that have none open.
std::string open_versions_sql(const Table& table) {
  return fmt::format(
      "INSERT INTO {0} ({1}, resource_namespace, payload, valid_from, began) "
      "SELECT t.cluster, t.inventory_namespace, t.inventory_name, t.target_name, t.source_uid, "
      "t.resource_namespace, t.payload, $1::timestamptz, 'appeared' FROM {2} s JOIN {3} t ON {4} "
      "WHERE s.payload IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {0} h WHERE {5} AND h.valid_to IS "
      "NULL)",
      table.history, kKey, kStage, table.name, same_key("t", "s"), same_key("h", "t"));
}

}  // namespace

std::string create_stage_sql() {
  return std::string(
      "CREATE TEMP TABLE IF NOT EXISTS kollect_stage (cluster text, inventory_namespace text, "
      "inventory_name text, target_name text, source_uid text, target_namespace text, "
      "resource_namespace text, payload jsonb) ON COMMIT DELETE ROWS");
}

base::Result<Answer> Stage::query(std::string_view doing, const std::string& sql,
                                  const std::vector<std::string>& parameters) {
  return work_.connection.query(work_.context, doing, sql, parameters);
}

base::Result<> Stage::begin() {
  if (work_.stage_dirty) {
    KL_TRY(
        work_.connection.run(work_.context, "writing rows to", fmt::format("TRUNCATE {}", kStage)));
  }
  work_.stage_dirty = true;
  KL_TRY(work_.connection.copy_begin(
      work_.context, "sending rows for",
      fmt::format("COPY {} ({}, target_namespace, resource_namespace, payload) FROM STDIN "
                  "(FORMAT binary)",
                  kStage, kKey)));
  buffer_ = kCopyHeader;
  return {};
}

base::Result<> Stage::send() {
  KL_TRY(work_.connection.copy_data(work_.context, buffer_));
  buffer_.clear();
  return {};
}

base::Result<> Stage::add(const Difference& difference) {
  constexpr std::uint32_t kColumns = 8;
  constexpr std::uint32_t kNull = 0xFFFFFFFFU;
  constexpr char kJsonbVersion = 1;
  if (keys_.empty()) KL_TRY(begin());
  append_int(buffer_, kColumns, 2);
  append_field(buffer_, partition_.cluster);
  append_field(buffer_, partition_.inventory_namespace);
  append_field(buffer_, partition_.inventory_name);
  append_field(buffer_, difference.target_name);
  append_field(buffer_, difference.source_uid);
  append_field(buffer_, difference.target_namespace);
  append_field(buffer_, difference.resource_namespace);
  if (difference.payload.empty()) {
    append_int(buffer_, kNull, 4);
    removals_ = true;
  } else {
    append_int(buffer_, static_cast<std::uint32_t>(difference.payload.size()) + 1, 4);
    buffer_ += kJsonbVersion;
    buffer_ += difference.payload;
    upserts_ = true;
  }
  keys_.push_back(rows::key_hash(difference.target_name, difference.source_uid));
  batch_bytes_ += difference.payload.size();
  bytes_ += difference.payload.size();
  ++staged_;
  if (buffer_.size() >= kChunk) KL_TRY(send());
  if (keys_.size() >= work_.limits.rows || batch_bytes_ >= work_.limits.bytes) return write_batch();
  return {};
}

base::Result<> Stage::finish() {
  return keys_.empty() ? base::Result<>() : write_batch();
}

base::Result<> Stage::write_batch() {
  buffer_ += kCopyTrailer;
  KL_TRY(send());
  KL_TRY(work_.connection.copy_end(work_.context));
  std::sort(keys_.begin(), keys_.end());
  if (std::adjacent_find(keys_.begin(), keys_.end()) != keys_.end()) {
    return base::conflict("postgres: one key twice in a batch", "duplicate-key");
  }
  const Table& table = *partition_.table;
  if (mode_ == Mode::kStrict) KL_TRY(refuse_foreign_targets());
  if (upserts_) {
    KL_ASSIGN(const Answer merged, query("writing rows to", merge_sql(table), {partition_.at}));
    written_ += merged.affected();
  }
  if (removals_) {
    KL_ASSIGN(const Answer gone, query("deleting rows from", delete_sql(table), {}));
    removed_ += gone.affected();
  }
  if (!table.history.empty()) KL_TRY(write_history());
  keys_.clear();
  batch_bytes_ = 0;
  upserts_ = false;
  removals_ = false;
  return {};
}

base::Result<> Stage::refuse_foreign_targets() {
  KL_ASSIGN(const Answer foreign, query("comparing rows with", foreign_sql(*partition_.table), {}));
  if (foreign.rows() == 0) return {};
  return base::conflict(
      fmt::format("postgres: in {} targets of one name share an object; the whole set decides "
                  "which row counts",
                  partition_.table->title),
      "rows-needed");
}

base::Result<> Stage::write_history() {
  const Table& table = *partition_.table;
  KL_TRY(query("writing the history of", change_versions_sql(table), {partition_.at}));
  if (upserts_) {
    KL_TRY(query("writing the history of", open_versions_sql(table), {partition_.at}));
  }
  return {};
}

base::Result<bool> repair_history(Work& work, const Partition& partition) {
  const Table& table = *partition.table;
  const auto run = [&](const std::string& sql) {
    return work.connection.query(work.context, "repairing the history of", sql,
                                 partition.key_and_time());
  };
  const auto plan = [&](std::string_view nested_loops) {
    return work.connection.run(work.context, "repairing the history of",
                               fmt::format("SET LOCAL enable_nestloop = {}", nested_loops));
  };
  // Everything is looked at, so nothing but hashing fits; see same_key for why that must be said.
  KL_TRY(plan("off"));
  KL_ASSIGN(const Answer gone,
            run(fmt::format("UPDATE {} h SET valid_to = $4::timestamptz, ended = 'went' WHERE {} "
                            "AND h.valid_to IS NULL AND NOT EXISTS (SELECT 1 FROM {} t WHERE {})",
                            table.history, of_partition("h"), table.name, same_key("t", "h"))));
  KL_ASSIGN(
      const Answer changed,
      run(fmt::format("WITH closed AS (UPDATE {0} h SET valid_to = $4::timestamptz, "
                      "ended = 'changed' FROM {1} t WHERE {2} AND {3} AND h.valid_to IS NULL AND "
                      "(t.payload IS DISTINCT FROM h.payload OR "
                      "t.resource_namespace IS DISTINCT FROM h.resource_namespace) RETURNING t.*) "
                      "INSERT INTO {0} ({4}, resource_namespace, payload, valid_from, began) "
                      "SELECT {4}, resource_namespace, payload, $4::timestamptz, 'changed' FROM "
                      "closed",
                      table.history, table.name, of_partition("h"), same_key("t", "h"), kKey)));
  KL_ASSIGN(
      const Answer opened,
      run(fmt::format("INSERT INTO {0} ({1}, resource_namespace, payload, valid_from, began) "
                      "SELECT {1}, resource_namespace, payload, $4::timestamptz, 'appeared' "
                      "FROM {2} t WHERE {3} AND NOT EXISTS (SELECT 1 FROM {0} h WHERE {4} "
                      "AND h.valid_to IS NULL)",
                      table.history, kKey, table.name, of_partition("t"), same_key("h", "t"))));
  KL_TRY(plan("on"));
  return gone.affected() + changed.affected() + opened.affected() > 0;
}

}  // namespace kollect::sinks::postgres
