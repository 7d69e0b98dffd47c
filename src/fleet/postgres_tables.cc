// What a fleet's tables hold: made, read, written.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>

#include "base/json/document.h"
#include "base/json/write.h"
#include "fleet/postgres_keeper.h"
#include "fleet/postgres_text.h"

namespace kollect::fleet {

using base::json::Value;
using pgsql::Answer;

namespace {

/// Changes of the tables add to them, so that processes of two versions can share them.
constexpr std::int64_t kSchemaVersion = 1;

/// Texts and no jsonb: members keep their order, and U+0000 its place.
constexpr const char* kSchema = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7309453671041262);
CREATE TABLE IF NOT EXISTS fleet_meta (key text PRIMARY KEY, value bigint NOT NULL, turn text NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS fleet_records (
  family text NOT NULL, id text NOT NULL, version bigint NOT NULL, data text NOT NULL, PRIMARY KEY (family, id)
);
CREATE TABLE IF NOT EXISTS fleet_tombstones (cluster_dns text PRIMARY KEY, data text NOT NULL);
CREATE TABLE IF NOT EXISTS fleet_audit (
  seq bigint PRIMARY KEY, at text NOT NULL, at_us bigint NOT NULL, actor text NOT NULL, request_id text NOT NULL,
  source text NOT NULL, method text NOT NULL, path text NOT NULL, family text NOT NULL, id text NOT NULL,
  before text, after text, version bigint NOT NULL, batch text NOT NULL DEFAULT '', turn text NOT NULL
);
CREATE INDEX IF NOT EXISTS fleet_audit_of ON fleet_audit (family, id);
CREATE INDEX IF NOT EXISTS fleet_audit_batch ON fleet_audit (batch) WHERE batch <> '';
INSERT INTO fleet_meta (key, value) VALUES ('version', 0) ON CONFLICT (key) DO NOTHING;
INSERT INTO fleet_meta (key, value) VALUES ('schema', {0})
  ON CONFLICT (key) DO UPDATE SET value = greatest(fleet_meta.value, {0});
COMMIT)sql";

/// More of them than this are slower than everything anew.
constexpr std::int64_t kLongestTrail = 10'000;

std::int64_t microseconds(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::int64_t integer(const Answer& rows, int row, int column) {
  const std::string_view text = rows.field(row, column);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

base::Result<Value> value_in(std::string_view text) {
  const auto document = base::json::Document::parse(text);
  if (!document) return document.error();
  return base::json::to_value(document->root());
}

/// Null: none. Error: cannot be read.
base::Result<std::optional<Value>> record_at(const Answer& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::optional<Value>();
  KL_ASSIGN(Value value, value_in(rows.field(row, column)));
  return std::optional(std::move(value));
}

/// An id too long for an index stands in the entry's record.
std::string id_of(std::string_view key, const std::optional<Value>& before,
                  const std::optional<Value>& after) {
  if (auto id = from_key(key)) return *std::move(id);
  const Value* record = after ? &*after : before ? &*before : nullptr;
  if (record == nullptr) return std::string(key);
  const std::string_view id = record->text("id");
  return std::string(id.empty() ? record->text("cluster_dns") : id);
}

std::optional<std::string> text_of(const std::optional<Value>& value) {
  return value ? std::optional(base::json::compact(*value)) : std::nullopt;
}

}  // namespace

base::Result<> PostgresKeeper::prepare_tables() {
  const auto known =
      run("looking at the tables of", "SELECT value FROM fleet_meta WHERE key = 'schema'");
  if (known && known->rows() == 1 && integer(*known, 0, 0) >= kSchemaVersion) return {};
  if (!known && known.error().reason != "table-missing") return known.error();
  const auto made = run("making the tables of", fmt::format(kSchema, kSchemaVersion));
  if (made) return {};
  end_transaction();
  return made.error();
}

base::Result<bool> PostgresKeeper::is_new() {
  KL_ASSIGN(const Answer found,
            run("looking at", "SELECT value FROM fleet_meta WHERE key = 'seeded'"));
  return found.rows() == 0;
}

base::Result<> PostgresKeeper::seed(const Content& content) {
  KL_ASSIGN(const Place place, take_turn());
  const auto fill = [&]() -> base::Result<> {
    KL_ASSIGN(const bool still_new, is_new());
    if (!still_new) return {};
    std::vector<Change> records;
    for (const Family family : kAllFamilies) {
      for (const auto& [id, record] : content.records.at(static_cast<std::size_t>(family))) {
        records.push_back({.family = family, .id = id, .after = record.data});
      }
    }
    KL_TRY(write_records(records));
    KL_TRY(query("seeding", "UPDATE fleet_meta SET turn = $1 WHERE key = 'version'",
                 {next_place(0).turn}));
    KL_TRY(run("seeding", "INSERT INTO fleet_meta (key, value) VALUES ('seeded', 1)"));
    return {};
  };
  auto filled = fill();
  if (filled) {
    KL_TRY(run("seeding", "COMMIT"));
  } else {
    end_transaction();
  }
  return filled;
}

base::Result<Content> PostgresKeeper::snapshot(const base::Logger* log) {
  const auto read = [&]() -> base::Result<Content> {
    KL_ASSIGN(const Answer row, run("reading",
                                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                                    "SELECT value, turn FROM fleet_meta WHERE key = "
                                    "'version'"));
    if (row.rows() != 1) return base::terminal("postgres: fleet_meta has no row \"version\"");
    KL_ASSIGN(Content content, this->content(log));
    KL_TRY(run("reading", "COMMIT"));
    seen_ = {.version = integer(row, 0, 0), .turn = std::string(row.field(0, 1))};
    return content;
  };
  auto content = read();
  if (!content) end_transaction();
  return content;
}

base::Result<Content> PostgresKeeper::content(const base::Logger* log) {
  Content content;
  KL_ASSIGN(const Answer rows,
            run("reading", "SELECT family, id, version, data FROM fleet_records"));
  for (int row = 0; row < rows.rows(); ++row) {
    for (const Family family : kAllFamilies) {
      if (rows.field(row, 0) != collection_of(family)) continue;
      const auto stored = value_in(rows.field(row, 3));
      auto record = stored ? from_storage(family, *stored) : base::Result<Value>(stored.error());
      if (!record) {
        if (log != nullptr) {
          log->error("a record cannot be read and is left out",
                     {{"family", std::string(collection_of(family))},
                      {"id", std::string(rows.field(row, 1))},
                      {"error", record.error().message}});
        }
        continue;
      }
      const std::string id = from_key(rows.field(row, 1)).value_or(std::string(record->text("id")));
      content.records.at(static_cast<std::size_t>(family))
          .insert_or_assign(id,
                            Record{.data = *std::move(record),
                                   .version = static_cast<std::uint64_t>(integer(rows, row, 2))});
    }
  }
  KL_ASSIGN(const Answer buried, run("reading", "SELECT data FROM fleet_tombstones"));
  for (int row = 0; row < buried.rows(); ++row) {
    const auto stored = value_in(buried.field(row, 0));
    if (!stored) continue;
    if (auto one = tombstone_from(*stored)) content.tombstones.push_back(*std::move(one));
  }
  return content;
}

/// One statement, so that number and entries belong together. The entry at the known place comes
/// along: its turn tells whether the history is still the same.
base::Result<PostgresKeeper::Trail> PostgresKeeper::trail() {
  KL_ASSIGN(const Answer rows,
            query("reading the trail of",
                  fmt::format("SELECT m.value, m.turn, a.seq, a.turn, a.family, a.id, "
                              "CASE WHEN a.after IS NULL THEN a.before END, a.after, a.version, "
                              "a.actor, a.at FROM fleet_meta m LEFT JOIN fleet_audit a ON "
                              "a.seq >= $1::bigint AND m.value > $1::bigint WHERE m.key = "
                              "'version' ORDER BY a.seq LIMIT {}",
                              kLongestTrail + 2),
                  {std::to_string(seen_.version)}));
  if (rows.rows() == 0) return base::terminal("postgres: fleet_meta has no row \"version\"");
  Trail out{.now = {.version = integer(rows, 0, 0), .turn = std::string(rows.field(0, 1))},
            .changes = {}};
  if (out.now == seen_) {
    out.changes.emplace();
    return out;
  }
  const int known = seen_.version == 0 ? 0 : 1;
  const std::int64_t expected = out.now.version - seen_.version;
  const bool complete =
      expected > 0 && expected <= kLongestTrail && rows.rows() == expected + known &&
      !rows.is_null(0, 2) &&
      (known == 0 || (integer(rows, 0, 2) == seen_.version && rows.field(0, 3) == seen_.turn));
  if (!complete) return out;
  std::vector<Change> changes;
  for (int row = known; row < rows.rows(); ++row) {
    auto before = record_at(rows, row, 6);
    auto after = record_at(rows, row, 7);
    if (!before || !after) return out;
    std::string id = id_of(rows.field(row, 5), *before, *after);
    changes.push_back(change_of_entry({.family = rows.field(row, 4),
                                       .id = std::move(id),
                                       .before = *std::move(before),
                                       .after = *std::move(after),
                                       .version = static_cast<std::uint64_t>(integer(rows, row, 8)),
                                       .actor = from_column(rows.field(row, 9)),
                                       .at = rows.field(row, 10)}));
  }
  out.changes = std::move(changes);
  return out;
}

base::Result<base::json::Array> PostgresKeeper::entries(const AuditQuery& wanted) {
  std::string sql =
      "SELECT seq, at, actor, request_id, source, method, path, family, id, before, after, "
      "version, batch FROM fleet_audit WHERE true";
  std::vector<std::string> parameters;
  const auto where = [&](const char* column, std::string value) {
    if (value.empty()) return;
    parameters.push_back(std::move(value));
    sql += fmt::format(" AND {} = ${}", column, parameters.size());
  };
  where("family", to_column(wanted.family));
  where("id", to_key(wanted.id));
  where("actor", to_column(wanted.actor));
  if (!wanted.batch.empty()) sql += " AND batch <> ''";
  where("batch", to_column(wanted.batch));
  if (wanted.since) sql += fmt::format(" AND at_us >= {}", microseconds(*wanted.since));
  if (wanted.until) sql += fmt::format(" AND at_us < {}", microseconds(*wanted.until));
  if (wanted.before) sql += fmt::format(" AND seq < {}", *wanted.before);
  sql += fmt::format(" ORDER BY seq DESC LIMIT {}", wanted.limit);
  KL_ASSIGN(const Answer rows, query("reading the trail of", sql, parameters));
  constexpr std::array kTexts = {"at", "actor", "request_id", "source", "method", "path", "family"};
  base::json::Array out;
  for (int row = 0; row < rows.rows(); ++row) {
    base::json::Object entry;
    entry.set("seq", integer(rows, row, 0));
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      entry.set(kTexts[i], from_column(rows.field(row, static_cast<int>(i) + 1)));
    }
    // What cannot be read is shown as null.
    auto before = record_at(rows, row, 9).value_or(std::nullopt);
    auto after = record_at(rows, row, 10).value_or(std::nullopt);
    entry.set("id", id_of(rows.field(row, 8), before, after));
    entry.set("before", std::move(before).value_or(Value()));
    entry.set("after", std::move(after).value_or(Value()));
    entry.set("version", integer(rows, row, 11));
    const std::string batch = from_column(rows.field(row, 12));
    entry.set("batch", batch.empty() ? Value() : Value(batch));
    out.emplace_back(std::move(entry));
  }
  return out;
}

base::Result<> PostgresKeeper::write(std::span<const Change> changes, const Place& next) {
  KL_TRY(write_records(changes));
  KL_TRY(write_tombstones(changes));
  KL_TRY(write_audit(changes, next));
  const std::string advance =
      "UPDATE fleet_meta SET value = $1::bigint, turn = $2 WHERE key = 'version'";
  KL_TRY(query("writing to",
               listening_ ? "WITH advanced AS (" + advance +
                                " RETURNING value) SELECT pg_notify('kollect_fleet', value::text) "
                                "FROM advanced"
                          : advance,
               {std::to_string(next.version), next.turn}));
  return {};
}

base::Result<> PostgresKeeper::write_records(std::span<const Change> changes) {
  std::array<ArrayText, 2> gone;
  std::array<ArrayText, 4> put;
  for (const Change& change : changes) {
    if (change.about != Change::About::kRecord) continue;
    auto* columns = change.after ? put.data() : gone.data();
    columns[0].add(collection_of(change.family));
    columns[1].add(to_key(change.id));
    if (!change.after) continue;
    put[2].add(std::to_string(change.version));
    put[3].add(base::json::compact(to_storage(change.family, *change.after)));
  }
  if (!gone[0].empty()) {
    KL_TRY(
        query("writing to",
              "DELETE FROM fleet_records r USING unnest($1::text[], $2::text[]) AS g (family, id) "
              "WHERE r.family = g.family AND r.id = g.id",
              {gone[0].text(), gone[1].text()}));
  }
  if (!put[0].empty()) {
    KL_TRY(query("writing to",
                 "INSERT INTO fleet_records (family, id, version, data) SELECT * FROM "
                 "unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) ON CONFLICT (family, "
                 "id) DO UPDATE SET version = excluded.version, data = excluded.data",
                 {put[0].text(), put[1].text(), put[2].text(), put[3].text()}));
  }
  return {};
}

/// What all changes together leave of each name.
base::Result<> PostgresKeeper::write_tombstones(std::span<const Change> changes) {
  std::map<std::string, std::optional<Tombstone>> names;
  for (const Change& change : changes) {
    if (change.unearthed) names[*change.unearthed] = std::nullopt;
    if (change.about == Change::About::kTombstone) names[change.id] = std::nullopt;
    if (change.buried) names[change.buried->dns] = change.buried;
  }
  ArrayText gone;
  ArrayText put;
  ArrayText data;
  for (const auto& [name, tombstone] : names) {
    (tombstone ? put : gone).add(to_key(name));
    if (!tombstone) continue;
    data.add(base::json::compact(to_value(*tombstone)));
  }
  if (!gone.empty()) {
    KL_TRY(query("writing to", "DELETE FROM fleet_tombstones WHERE cluster_dns = ANY ($1::text[])",
                 {gone.text()}));
  }
  if (!put.empty()) {
    KL_TRY(query("writing to",
                 "INSERT INTO fleet_tombstones (cluster_dns, data) SELECT * FROM "
                 "unnest($1::text[], $2::text[]) ON CONFLICT (cluster_dns) DO UPDATE SET data = "
                 "excluded.data",
                 {put.text(), data.text()}));
  }
  return {};
}

base::Result<> PostgresKeeper::write_audit(std::span<const Change> changes, const Place& next) {
  constexpr std::array kColumns = {"seq",    "at",     "at_us",   "actor",  "request_id",
                                   "source", "method", "path",    "family", "id",
                                   "before", "after",  "version", "batch",  "turn"};
  std::array<ArrayText, kColumns.size()> columns;
  std::int64_t sequence = next.version - static_cast<std::int64_t>(changes.size());
  for (const Change& change : changes) {
    std::size_t column = 0;
    const auto add = [&](const std::optional<std::string>& text) {
      if (text) {
        columns.at(column++).add(*text);
      } else {
        columns.at(column++).add_null();
      }
    };
    add(std::to_string(++sequence));
    add(base::format_rfc3339(change.at));
    add(std::to_string(microseconds(change.at)));
    const Actor& actor = change.actor;
    for (const std::string* text :
         {&actor.name, &actor.request_id, &actor.source, &actor.method, &actor.path}) {
      add(to_column(*text));
    }
    add(std::string(family_text(change)));
    add(to_key(change.id));
    add(text_of(change.before));
    add(text_of(change.after));
    add(std::to_string(change.version));
    add(to_column(change.batch));
    add(next.turn);
  }
  std::string names;
  std::string lists;
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const std::string_view name = kColumns.at(i);
    const bool number = name == "seq" || name == "at_us" || name == "version";
    names += fmt::format("{}{}", i == 0 ? "" : ", ", name);
    lists += fmt::format("{}${}::{}[]", i == 0 ? "" : ", ", i + 1, number ? "bigint" : "text");
    parameters.push_back(columns.at(i).text());
  }
  KL_TRY(query("writing the trail of",
               fmt::format("INSERT INTO fleet_audit ({}) SELECT * FROM unnest({})", names, lists),
               parameters));
  return {};
}

}  // namespace kollect::fleet
