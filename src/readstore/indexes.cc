#include "readstore/indexes.h"

#include <fmt/format.h>

#include "dbfile/database.h"
#include "pgsql/connection.h"
#include "pgsql/names.h"
#include "readstore/columns.h"

namespace kollect::readstore {

namespace {

constexpr std::string_view kPlace = "_by_place";
constexpr std::string_view kName = "_by_name";
constexpr std::string_view kExport = "_by_export";
constexpr std::string_view kUid = "_by_uid";
constexpr std::string_view kSearch = "_by_search";
constexpr std::string_view kAttribute = "_by_attribute_";

/// The index on texts is a table of its own, which triggers keep in step (SQLite: FTS5, 4.3.4 and
/// 4.4.3).
void add_search(const std::string& table, std::vector<std::string>& out) {
  const std::string rows = dbfile::quote_name(table);
  const std::string search = dbfile::quote_name(table + std::string(kSearch));
  out.push_back(fmt::format(
      "CREATE VIRTUAL TABLE IF NOT EXISTS {} USING fts5(payload, content={}, tokenize=\"trigram\", "
      "detail=none)",
      search, rows));
  const std::string put =
      fmt::format("INSERT INTO {}(rowid, payload) VALUES (new.rowid, new.payload);", search);
  const std::string take = fmt::format(
      "INSERT INTO {0}({0}, rowid, payload) VALUES ('delete', old.rowid, old.payload);", search);
  const auto trigger = [&](std::string_view suffix, std::string_view event,
                           const std::string& body) {
    out.push_back(fmt::format("CREATE TRIGGER IF NOT EXISTS {} AFTER {} ON {} BEGIN {} END",
                              dbfile::quote_name(fmt::format("{}{}{}", table, kSearch, suffix)),
                              event, rows, body));
  };
  trigger("_insert", "INSERT", put);
  trigger("_delete", "DELETE", take);
  trigger("_update", "UPDATE OF payload", take + " " + put);
  out.push_back(fmt::format("INSERT INTO {0}({0}) VALUES ('rebuild')", search));
}

}  // namespace

void note_index(Tables& tables, std::string_view suffix) {
  if (suffix == kPlace) tables.by_place = true;
  if (suffix == kName) tables.by_name = true;
  if (suffix == kExport) tables.by_export = true;
  if (suffix.starts_with(kAttribute)) {
    const std::string_view name = suffix.substr(kAttribute.size());
    if (plain_attribute(name)) tables.attributes.emplace_back(name);
  }
}

base::Result<std::vector<std::string>> index_statements(bool postgres, const IndexWishes& wishes) {
  Tables tables;
  const Dialect dialect(postgres, tables);
  const auto index_name = [&](std::string_view suffix) {
    return postgres ? pgsql::quote_name(pgsql::companion_name(wishes.table, suffix))
                    : dbfile::quote_name(wishes.table + std::string(suffix));
  };
  const auto table_name = [&](std::string_view suffix) {
    if (!postgres) return dbfile::quote_name(wishes.table + std::string(suffix));
    const std::string name = pgsql::quote_name(pgsql::companion_name(wishes.table, suffix));
    return wishes.schema.empty() ? name : pgsql::quote_name(wishes.schema) + "." + name;
  };
  std::vector<std::string> out;
  const auto make = [&](std::string_view suffix, const std::string& columns,
                        std::string_view of = "") {
    out.push_back(fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} {}", index_name(suffix),
                              table_name(of), columns));
  };
  std::string rest;
  for (const Field field : {Field::kKind, Field::kGroup, Field::kVersion}) {
    const std::string value = dialect.ordered(field);
    rest += fmt::format(", {}", postgres && field == Field::kGroup
                                    ? fmt::format("({}) COLLATE \"C\"", dialect.value(field))
                                    : value);
  }
  const std::string canonical = dialect.canonical();
  make(kPlace, fmt::format("({}{})", canonical, rest));
  make(kName, fmt::format("({}, {}{})", dialect.ordered(Field::kName), canonical, rest));
  make(kExport, fmt::format("(exported_at, {}{})", canonical, rest));
  make(kUid, "(source_uid)");
  for (const std::string& attribute : wishes.attributes) {
    if (!plain_attribute(attribute)) {
      return base::configuration(fmt::format(
          "no index for the attribute {}: quotes, backslashes and < > & cannot stand in "
          "its name",
          attribute));
    }
    const std::string value =
        postgres ? fmt::format("(payload -> 'attributes' -> '{}') NULLS FIRST", attribute)
                 : fmt::format("json_extract(payload, '$.attributes.\"{}\"')", attribute);
    make(std::string(kAttribute) + attribute, fmt::format("({}, {}{})", value, canonical, rest));
  }
  if (wishes.history) make("_history_by_uid", "(source_uid, id)", "_history");
  if (wishes.search && postgres) make(kSearch, "USING gin ((payload::text) gin_trgm_ops)");
  if (wishes.search && !postgres) add_search(wishes.table, out);
  out.push_back(postgres ? fmt::format("ANALYZE {}", table_name("")) : "ANALYZE");
  return out;
}

}  // namespace kollect::readstore
