#include "sinks/postgres/stage.h"

#include <algorithm>

#include <fmt/format.h>

namespace kollect::sinks::postgres {

namespace {

constexpr std::string_view kStage = "pg_temp.kollect_stage";
constexpr std::size_t kChunk = 256U << 10U;
constexpr std::string_view kCopyHeader{"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0", 19};
constexpr std::string_view kCopyTrailer{"\xFF\xFF", 2};

/// Rows `a` of the partition with the key of the staged row `s`.
constexpr std::string_view kOfPartition =
    "{a}.cluster = $1 AND {a}.inventory_namespace = $2 AND {a}.inventory_name = $3";
constexpr std::string_view kSameKey =
    "{a}.target_name = {b}.target_name AND {a}.source_uid = "
    "{b}.source_uid";

std::string of_partition(std::string_view alias) {
  return fmt::format(fmt::runtime(kOfPartition), fmt::arg("a", alias));
}

std::string same_key(std::string_view a, std::string_view b) {
  return fmt::format(fmt::runtime(kSameKey), fmt::arg("a", a), fmt::arg("b", b));
}

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
      "INSERT INTO {} AS t (cluster, inventory_namespace, inventory_name, target_name, source_uid, "
      "resource_namespace, payload, exported_at) "
      "SELECT $1, $2, $3, s.target_name, s.source_uid, s.resource_namespace, s.payload, "
      "$4::timestamptz FROM {} s WHERE s.payload IS NOT NULL "
      "ON CONFLICT ({}inventory_namespace, inventory_name, target_name, source_uid) DO UPDATE SET "
      "payload = excluded.payload, exported_at = excluded.exported_at, "
      "resource_namespace = excluded.resource_namespace{} "
      "WHERE t.payload IS DISTINCT FROM excluded.payload OR "
      "t.resource_namespace IS DISTINCT FROM excluded.resource_namespace{}",
      table.name, kStage, table.cluster_in_key ? "cluster, " : "", cluster_set, cluster_differs);
}

std::string delete_sql(const Table& table) {
  return fmt::format("DELETE FROM {} t USING {} s WHERE s.payload IS NULL AND {} AND {}",
                     table.name, kStage, of_partition("t"), same_key("t", "s"));
}

std::string foreign_sql(const Table& table) {
  return fmt::format(
      "SELECT 1 FROM {} s JOIN {} t ON {} AND {} WHERE t.payload ->> 'targetNamespace' IS DISTINCT "
      "FROM s.target_namespace LIMIT 1",
      kStage, table.name, of_partition("t"), same_key("t", "s"));
}

constexpr std::string_view kVersionColumns =
    "(cluster, inventory_namespace, inventory_name, target_name, source_uid, resource_namespace, "
    "payload, valid_from, began)";

/// Open versions of staged keys that are not what the table holds now.
std::string close_versions_sql(const Table& table) {
  return fmt::format(
      "UPDATE {} h SET valid_to = $4::timestamptz, "
      "ended = CASE WHEN t.source_uid IS NULL THEN 'went' ELSE 'changed' END "
      "FROM {} s LEFT JOIN {} t ON {} AND {} "
      "WHERE {} AND {} AND h.valid_to IS NULL AND (t.source_uid IS NULL OR "
      "t.payload IS DISTINCT FROM h.payload OR "
      "t.resource_namespace IS DISTINCT FROM h.resource_namespace)",
      table.history, kStage, table.name, of_partition("t"), same_key("t", "s"), of_partition("h"),
      same_key("h", "s"));
}

/// Versions for rows of `from` (the stage or the partition itself) that have none open. The ones
/// that were closed at the same moment tell "changed" from "appeared".
std::string open_versions_sql(const Table& table, std::string_view from) {
  return fmt::format(
      "INSERT INTO {0} {1} SELECT $1, $2, $3, t.target_name, t.source_uid, t.resource_namespace, "
      "t.payload, $4::timestamptz, CASE WHEN p.id IS NULL THEN 'appeared' ELSE 'changed' END "
      "FROM {2} LEFT JOIN {0} p ON p.valid_to = $4::timestamptz AND p.ended = 'changed' AND {3} "
      "AND {4} WHERE {5} AND NOT EXISTS (SELECT 1 FROM {0} h WHERE {6} AND {7} AND h.valid_to IS "
      "NULL)",
      table.history, kVersionColumns, from, of_partition("p"), same_key("p", "t"),
      of_partition("t"), of_partition("h"), same_key("h", "t"));
}

}  // namespace

std::string create_stage_sql() {
  return std::string(
      "CREATE TEMP TABLE IF NOT EXISTS kollect_stage (target_name text, source_uid text, "
      "target_namespace text, resource_namespace text, payload jsonb) ON COMMIT DELETE ROWS");
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
      fmt::format("COPY {} (target_name, source_uid, target_namespace, resource_namespace, "
                  "payload) FROM STDIN (FORMAT binary)",
                  kStage)));
  buffer_ = kCopyHeader;
  return {};
}

base::Result<> Stage::send() {
  KL_TRY(work_.connection.copy_data(work_.context, buffer_));
  buffer_.clear();
  return {};
}

base::Result<> Stage::add(const Difference& difference) {
  constexpr std::uint32_t kColumns = 5;
  constexpr std::uint32_t kNull = 0xFFFFFFFFU;
  constexpr char kJsonbVersion = 1;
  if (keys_.empty()) KL_TRY(begin());
  append_int(buffer_, kColumns, 2);
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
    KL_ASSIGN(const Answer merged,
              query("writing rows to", merge_sql(table), partition_.key_and_time()));
    written_ += merged.affected();
  }
  if (removals_) {
    KL_ASSIGN(const Answer gone, query("deleting rows from", delete_sql(table), partition_.key()));
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
  KL_ASSIGN(const Answer foreign,
            query("comparing rows with", foreign_sql(*partition_.table), partition_.key()));
  if (foreign.rows() == 0) return {};
  return base::conflict(
      fmt::format("postgres: in {} targets of one name share an object; the whole set decides "
                  "which row counts",
                  partition_.table->title),
      "rows-needed");
}

base::Result<> Stage::write_history() {
  const Table& table = *partition_.table;
  KL_TRY(query("writing the history of", close_versions_sql(table), partition_.key_and_time()));
  if (!upserts_) return {};
  const std::string staged_rows =
      fmt::format("{} s JOIN {} t ON {}", kStage, table.name, same_key("t", "s"));
  KL_TRY(query("writing the history of", open_versions_sql(table, staged_rows),
               partition_.key_and_time()));
  return {};
}

base::Result<bool> repair_history(Work& work, const Partition& partition) {
  const Table& table = *partition.table;
  const auto run = [&](const std::string& sql) {
    return work.connection.query(work.context, "repairing the history of", sql,
                                 partition.key_and_time());
  };
  KL_ASSIGN(const Answer gone,
            run(fmt::format("UPDATE {} h SET valid_to = $4::timestamptz, ended = 'went' WHERE {} "
                            "AND h.valid_to IS NULL "
                            "AND NOT EXISTS (SELECT 1 FROM {} t WHERE {} AND {})",
                            table.history, of_partition("h"), table.name, of_partition("t"),
                            same_key("t", "h"))));
  KL_ASSIGN(
      const Answer changed,
      run(fmt::format("UPDATE {} h SET valid_to = $4::timestamptz, ended = 'changed' FROM {} t "
                      "WHERE {} AND {} AND "
                      "{} AND h.valid_to IS NULL AND (t.payload IS DISTINCT FROM h.payload OR "
                      "t.resource_namespace IS DISTINCT FROM h.resource_namespace)",
                      table.history, table.name, of_partition("h"), of_partition("t"),
                      same_key("t", "h"))));
  KL_ASSIGN(const Answer opened, run(open_versions_sql(table, fmt::format("{} t", table.name))));
  return gone.affected() + changed.affected() + opened.affected() > 0;
}

}  // namespace kollect::sinks::postgres
