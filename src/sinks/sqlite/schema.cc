#include "sinks/sqlite/schema.h"

#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::sinks::sqlite {

namespace {

constexpr std::string_view kTables = R"sql(
CREATE TABLE IF NOT EXISTS {table} (
  inventory_namespace TEXT NOT NULL,
  inventory_name TEXT NOT NULL,
  target_name TEXT NOT NULL,
  source_uid TEXT NOT NULL,
  cluster TEXT NOT NULL DEFAULT '',
  resource_namespace TEXT NOT NULL DEFAULT '',
  payload TEXT NOT NULL,
  exported_at TEXT NOT NULL,
  PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, source_uid)
);
CREATE TABLE IF NOT EXISTS {history} (
  id INTEGER PRIMARY KEY,
  inventory_namespace TEXT NOT NULL,
  inventory_name TEXT NOT NULL,
  target_name TEXT NOT NULL,
  source_uid TEXT NOT NULL,
  cluster TEXT NOT NULL DEFAULT '',
  resource_namespace TEXT NOT NULL DEFAULT '',
  payload TEXT NOT NULL,
  valid_from TEXT NOT NULL,
  valid_to TEXT,
  began TEXT NOT NULL CHECK (began IN ('appeared', 'changed')),
  ended TEXT CHECK (ended IN ('changed', 'went')),
  CHECK ((valid_to IS NULL) = (ended IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS {open} ON {history}
  (cluster, inventory_namespace, inventory_name, target_name, source_uid) WHERE valid_to IS NULL;
CREATE INDEX IF NOT EXISTS {ended} ON {history} (valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX IF NOT EXISTS {begun} ON {history} (valid_from);
CREATE TABLE IF NOT EXISTS {exports} (
  cluster TEXT NOT NULL,
  inventory_namespace TEXT NOT NULL,
  inventory_name TEXT NOT NULL,
  generation INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  item_count INTEGER NOT NULL,
  exported_at TEXT NOT NULL,
  PRIMARY KEY (cluster, inventory_namespace, inventory_name)
);
)sql";

constexpr std::string_view kIdentity =
    R"sql(cluster, inventory_namespace, inventory_name, target_name,
  json_extract(payload, '$.targetNamespace') AS target_namespace,
  coalesce(json_extract(payload, '$.group'), '') AS api_group,
  json_extract(payload, '$.version') AS version,
  json_extract(payload, '$.kind') AS kind,
  json_extract(payload, '$.namespace') AS namespace,
  json_extract(payload, '$.name') AS name,
  source_uid AS uid,
  json_extract(payload, '$.attributes') AS attributes)sql";

constexpr std::string_view kViews = R"sql(
CREATE VIEW IF NOT EXISTS {rows} AS SELECT {identity}, exported_at FROM {table};
CREATE VIEW IF NOT EXISTS {versions} AS SELECT {identity}, valid_from, valid_to, began, ended, id FROM {history};
CREATE VIEW IF NOT EXISTS {changes} AS
  SELECT v.valid_from AS at, v.began AS change, v.cluster, v.inventory_namespace, v.inventory_name,
    v.target_namespace, v.target_name, v.api_group, v.version, v.kind, v.namespace, v.name, v.uid,
    CASE v.began WHEN 'changed' THEN
      (SELECT json_extract(p.payload, '$.attributes') FROM {history} p
       WHERE p.cluster = v.cluster AND p.inventory_namespace = v.inventory_namespace
         AND p.inventory_name = v.inventory_name AND p.target_name = v.target_name AND p.source_uid = v.uid
         AND p.valid_to = v.valid_from AND p.id < v.id ORDER BY p.id DESC LIMIT 1) END AS before,
    v.attributes AS after
  FROM {versions} v
  UNION ALL
  SELECT w.valid_to, 'went', w.cluster, w.inventory_namespace, w.inventory_name,
    w.target_namespace, w.target_name, w.api_group, w.version, w.kind, w.namespace, w.name, w.uid,
    w.attributes, NULL
  FROM {versions} w WHERE w.ended = 'went';
)sql";

/// Short names for the queries that people type; where the table has a name of its own they would
/// be ambiguous.
constexpr std::string_view kShortNames = R"sql(
CREATE VIEW IF NOT EXISTS rows AS SELECT * FROM {rows};
CREATE VIEW IF NOT EXISTS history AS SELECT * FROM {changes};
)sql";

std::string fill(std::string_view text, const std::string& table) {
  std::string out = base::replace_all(std::string(text), "{identity}", kIdentity);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNames = {
      {{"{table}", ""},
       {"{history}", "_history"},
       {"{exports}", "_exports"},
       {"{open}", "_history_open"},
       {"{ended}", "_history_ended"},
       {"{begun}", "_history_begun"},
       {"{rows}", "_rows"},
       {"{versions}", "_versions"},
       {"{changes}", "_changes"}}};
  for (const auto& [placeholder, suffix] : kNames) {
    out = base::replace_all(std::move(out), placeholder, quote_name(table + std::string(suffix)));
  }
  return out;
}

base::Result<> check_columns(Database& database, const std::string& table) {
  std::set<std::string, std::less<>> missing = {
      "inventory_namespace", "inventory_name", "target_name", "source_uid", "cluster",
      "resource_namespace",  "payload",        "exported_at"};
  KL_ASSIGN(Statement statement, database.prepare("SELECT name FROM pragma_table_info(?1)"));
  statement.bind(1, table);
  while (true) {
    KL_ASSIGN(const bool more, statement.step());
    if (!more) {
      break;
    }
    missing.erase(std::string(statement.text(0)));
  }
  if (!missing.empty()) {
    return base::configuration(
        fmt::format("table {} exists but has no column {}; choose another file or table", table,
                    *missing.begin()));
  }
  return {};
}

}  // namespace

base::Result<> ensure_schema(Database& database, const std::string& table) {
  KL_TRY(database.execute(fill(kTables, table)));
  KL_TRY(check_columns(database, table));
  KL_TRY(database.execute(fill(kViews, table)));
  if (table == "inventory") {
    KL_TRY(database.execute(fill(kShortNames, table)));
  }
  return {};
}

base::Result<bool> has_table(Database& database, std::string_view table) {
  KL_ASSIGN(Statement statement,
            database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1"));
  statement.bind(1, table);
  return statement.step();
}

}  // namespace kollect::sinks::sqlite
