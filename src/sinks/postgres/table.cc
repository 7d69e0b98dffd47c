#include "sinks/postgres/table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/postgres/payload.h"
#include "sinks/rows/unit.h"

namespace kollect::sinks::postgres {

namespace {

using pgsql::quote_name;

using Columns = std::map<std::string, std::string>;  ///< name to type

const Columns kTableColumns = {
    {"inventory_namespace", "text"},
    {"inventory_name", "text"},
    {"target_name", "text"},
    {"source_uid", "text"},
    {"cluster", "text"},
    {"resource_namespace", "text"},
    {"payload", "jsonb"},
    {"exported_at", "timestamptz"},
};
const Columns kExportsColumns = {
    {"cluster", "text"},
    {"inventory_namespace", "text"},
    {"inventory_name", "text"},
    {"generation", "int8"},
    {"checksum", "text"},
    {"item_count", "int8"},
    {"exported_at", "timestamptz"},
};
const Columns kHistoryColumns = {
    {"id", "int8"},
    {"inventory_namespace", "text"},
    {"inventory_name", "text"},
    {"target_name", "text"},
    {"source_uid", "text"},
    {"cluster", "text"},
    {"resource_namespace", "text"},
    {"payload", "jsonb"},
    {"valid_from", "timestamptz"},
    {"valid_to", "timestamptz"},
    {"began", "text"},
    {"ended", "text"},
};

constexpr std::string_view kTable = R"sql(CREATE TABLE IF NOT EXISTS {table} (
  inventory_namespace text NOT NULL,
  inventory_name text NOT NULL,
  target_name text NOT NULL,
  source_uid text NOT NULL,
  cluster text NOT NULL DEFAULT '',
  resource_namespace text NOT NULL DEFAULT '',
  payload jsonb NOT NULL,
  exported_at timestamptz NOT NULL,
  PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, source_uid)
))sql";

constexpr std::string_view kExports = R"sql(CREATE TABLE IF NOT EXISTS {exports} (
  cluster text NOT NULL,
  inventory_namespace text NOT NULL,
  inventory_name text NOT NULL,
  generation bigint NOT NULL,
  checksum text NOT NULL,
  item_count bigint NOT NULL,
  exported_at timestamptz NOT NULL,
  PRIMARY KEY (cluster, inventory_namespace, inventory_name)
))sql";

constexpr std::string_view kHistory = R"sql(CREATE TABLE IF NOT EXISTS {history} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  inventory_namespace text NOT NULL,
  inventory_name text NOT NULL,
  target_name text NOT NULL,
  source_uid text NOT NULL,
  cluster text NOT NULL DEFAULT '',
  resource_namespace text NOT NULL DEFAULT '',
  payload jsonb NOT NULL,
  valid_from timestamptz NOT NULL,
  valid_to timestamptz,
  began text NOT NULL CHECK (began IN ('appeared', 'changed')),
  ended text CHECK (ended IN ('changed', 'went')),
  CHECK ((valid_to IS NULL) = (ended IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS {open} ON {history}
  (cluster, inventory_namespace, inventory_name, target_name, source_uid) WHERE valid_to IS NULL;
CREATE INDEX IF NOT EXISTS {ended} ON {history} (valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX IF NOT EXISTS {begun} ON {history} (valid_from))sql";

constexpr std::string_view kIdentity =
    R"sql(cluster, inventory_namespace, inventory_name, target_name,
  payload ->> 'targetNamespace' AS target_namespace,
  coalesce(payload ->> 'group', '') AS api_group,
  payload ->> 'version' AS version,
  payload ->> 'kind' AS kind,
  payload ->> 'namespace' AS namespace,
  payload ->> 'name' AS name,
  source_uid AS uid,
  payload -> 'attributes' AS attributes)sql";

constexpr std::string_view kViews = R"sql(
CREATE VIEW {rows} AS SELECT {identity}, exported_at FROM {table};
CREATE VIEW {versions} AS SELECT {identity}, valid_from, valid_to, began, ended, id FROM {history};
CREATE VIEW {changes} AS
  SELECT v.valid_from AS at, v.began AS change, v.cluster, v.inventory_namespace, v.inventory_name,
    v.target_namespace, v.target_name, v.api_group, v.version, v.kind, v.namespace, v.name, v.uid,
    CASE v.began WHEN 'changed' THEN
      (SELECT p.payload -> 'attributes' FROM {history} p
       WHERE p.cluster = v.cluster AND p.inventory_namespace = v.inventory_namespace
         AND p.inventory_name = v.inventory_name AND p.target_name = v.target_name AND p.source_uid = v.uid
         AND p.valid_to = v.valid_from AND p.id < v.id ORDER BY p.id DESC LIMIT 1) END AS before,
    v.attributes AS after
  FROM {versions} v
  UNION ALL
  SELECT w.valid_to, 'went', w.cluster, w.inventory_namespace, w.inventory_name,
    w.target_namespace, w.target_name, w.api_group, w.version, w.kind, w.namespace, w.name, w.uid,
    w.attributes, NULL
  FROM {versions} w WHERE w.ended = 'went')sql";

std::string quoted(std::string_view schema, std::string_view table) {
  return fmt::format("{}.{}", quote_name(schema), quote_name(table));
}

/// Puts names in the places of {table} and the others. Index names have no schema.
std::string fill(std::string_view text, std::string_view schema, std::string_view table) {
  std::string out = base::replace_all(std::string(text), "{identity}", kIdentity);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTables = {
      {{"{table}", ""},
       {"{exports}", "_exports"},
       {"{history}", "_history"},
       {"{rows}", "_rows"},
       {"{versions}", "_versions"},
       {"{changes}", "_changes"}}};
  for (const auto& [word, suffix] : kTables) {
    out = base::replace_all(std::move(out), word, quoted(schema, companion_name(table, suffix)));
  }
  for (const std::string_view suffix : {"open", "ended", "begun"}) {
    out = base::replace_all(std::move(out), fmt::format("{{{}}}", suffix),
                            quote_name(companion_name(table, fmt::format("_history_{}", suffix))));
  }
  return out;
}

base::Error shape_error(const TableOptions& options, std::string_view table,
                        std::string_view problem, const Columns& wanted, bool with_key) {
  std::string columns;
  for (const auto& [name, type] : wanted) {
    columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", name, type);
  }
  std::string text = fmt::format("postgres: table {}.{} {}; wanted are the columns {}",
                                 options.schema, table, problem, columns);
  if (with_key) {
    text +=
        " and a primary key or unique index on (cluster, inventory_namespace, inventory_name, "
        "target_name, source_uid), or on these without cluster";
  }
  return base::terminal(std::move(text), "table-shape");
}

base::Error missing_error(const TableOptions& options, std::string_view table) {
  return base::terminal(
      fmt::format("postgres: table {}.{} does not exist and provisioning.mode is existing",
                  options.schema, table),
      "table-missing");
}

struct Relation {
  std::string oid;
  char kind = ' ';
  bool writable = false;  ///< this user may read, insert and update
};

class Preparation {
 public:
  Preparation(const base::Context& context, Connection& connection, const TableOptions& options)
      : context_(context), connection_(connection), options_(options) {}

  base::Result<Table> look(bool& missing) {
    KL_TRY(find_relations());
    missing = !has("");
    Table out;
    out.name = quoted(options_.schema, options_.table);
    out.title = fmt::format("{}.{}", options_.schema, options_.table);
    if (missing) return out;
    KL_TRY(check_columns("", kTableColumns, true));
    KL_ASSIGN(out.cluster_in_key, read_key());
    if (has("_exports") && relation("_exports").writable) {
      if (check_columns("_exports", kExportsColumns, false).has_value()) {
        out.exports = quoted(options_.schema, companion_name(options_.table, "_exports"));
      }
    }
    if (options_.history) KL_TRY(look_at_history(out));
    return out;
  }

  base::Result<> create_missing() {
    KL_TRY(find_relations());
    const auto create = [&](std::string_view text) {
      return connection_.run(context_, "creating", fill(text, options_.schema, options_.table));
    };
    if (options_.create_schema) {
      KL_ASSIGN(const Answer there,
                connection_.query(context_, "looking for",
                                  "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1",
                                  {options_.schema}));
      if (there.rows() == 0) {
        KL_TRY(connection_.run(
            context_, "creating the schema of",
            fmt::format("CREATE SCHEMA IF NOT EXISTS {}", quote_name(options_.schema))));
      }
    }
    if (!has("")) KL_TRY(create(kTable));
    if (!has("_exports")) KL_TRY(create_exports());
    if (options_.history) {
      if (!has("_history")) KL_TRY(create(kHistory));
      if (!has("_rows") && !has("_versions") && !has("_changes")) KL_TRY(create(kViews));
    }
    return {};
  }

 private:
  [[nodiscard]] bool has(std::string_view suffix) const {
    return relations_.contains(companion_name(options_.table, suffix));
  }
  [[nodiscard]] const Relation& relation(std::string_view suffix) const {
    return relations_.at(companion_name(options_.table, suffix));
  }

  base::Result<> find_relations() {
    relations_.clear();
    std::string names;
    std::vector<std::string> parameters = {options_.schema};
    for (const std::string_view suffix :
         {"", "_exports", "_history", "_rows", "_versions", "_changes"}) {
      parameters.push_back(companion_name(options_.table, suffix));
      names += fmt::format("{}${}", names.empty() ? "" : ", ", parameters.size());
    }
    KL_ASSIGN(
        const Answer answer,
        connection_.query(
            context_, "looking at",
            fmt::format("SELECT c.relname, c.oid, c.relkind, "
                        "pg_catalog.has_table_privilege(c.oid, 'SELECT') AND "
                        "pg_catalog.has_table_privilege(c.oid, 'INSERT') AND "
                        "pg_catalog.has_table_privilege(c.oid, 'UPDATE') "
                        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
                        "c.relnamespace "
                        "WHERE n.nspname = $1 AND c.relname IN ({})",
                        names),
            parameters));
    for (int i = 0; i < answer.rows(); ++i) {
      relations_[std::string(answer.field(i, 0))] = {
          std::string(answer.field(i, 1)), answer.field(i, 2).front(), answer.field(i, 3) == "t"};
    }
    return {};
  }

  /// Every wanted column with a type that fits; no other column that would have to be given.
  base::Result<> check_columns(std::string_view suffix, const Columns& wanted, bool with_key) {
    const std::string table = companion_name(options_.table, suffix);
    const auto wrong = [&](const std::string& problem) {
      return shape_error(options_, table, problem, wanted, with_key);
    };
    const Relation& found = relation(suffix);
    if (found.kind != 'r' && found.kind != 'p') return wrong("is no table");
    KL_ASSIGN(const Answer answer,
              connection_.query(
                  context_, "looking at",
                  "SELECT a.attname, t.typname, a.attnotnull AND NOT a.atthasdef AND "
                  "a.attidentity = '' AND a.attgenerated = '' "
                  "FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
                  "WHERE a.attrelid = $1::pg_catalog.oid AND a.attnum > 0 AND NOT a.attisdropped",
                  {found.oid}));
    Columns left = wanted;
    for (int i = 0; i < answer.rows(); ++i) {
      const std::string name(answer.field(i, 0));
      const std::string_view type = answer.field(i, 1);
      const auto at = left.find(name);
      if (at == left.end()) {
        if (answer.field(i, 2) == "t") {
          return wrong(fmt::format("has the column {} that must be given", name));
        }
        continue;
      }
      const bool fits = type == at->second || (at->second == "text" && type == "varchar");
      if (!fits) return wrong(fmt::format("has the column {} with type {}", name, type));
      left.erase(at);
    }
    if (!left.empty()) return wrong(fmt::format("has no column {}", left.begin()->first));
    return {};
  }

  /// True: the five-column key is there; false: the four-column one alone.
  base::Result<bool> read_key() {
    KL_ASSIGN(const Answer answer,
              connection_.query(
                  context_, "looking at",
                  "SELECT (SELECT pg_catalog.string_agg(a.attname, ',' ORDER BY a.attname) "
                  "FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY "
                  "((i.indkey::int2[])[0:i.indnkeyatts - 1])) "
                  "FROM pg_catalog.pg_index i WHERE i.indrelid = $1::pg_catalog.oid AND "
                  "i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND "
                  "i.indexprs IS NULL",
                  {relation("").oid}));
    std::set<std::string, std::less<>> keys;
    for (int i = 0; i < answer.rows(); ++i) keys.emplace(answer.field(i, 0));
    if (keys.contains("cluster,inventory_name,inventory_namespace,source_uid,target_name")) {
      return true;
    }
    if (keys.contains("inventory_name,inventory_namespace,source_uid,target_name")) return false;
    return shape_error(options_, options_.table, "has another key", kTableColumns, true);
  }

  base::Result<> look_at_history(Table& out) {
    const std::string history = companion_name(options_.table, "_history");
    if (!has("_history")) return missing_error(options_, history);
    KL_TRY(check_columns("_history", kHistoryColumns, false));
    if (!out.cluster_in_key) {
      return base::terminal(
          fmt::format("postgres: table {} has a key without cluster; options.history needs one "
                      "with it",
                      out.title),
          "table-shape");
    }
    if (out.exports.empty()) {
      return base::terminal(
          fmt::format("postgres: options.history needs the table {}.{}, which cannot be used",
                      options_.schema, companion_name(options_.table, "_exports")),
          "table-missing");
    }
    out.history = quoted(options_.schema, history);
    return {};
  }

  /// Nice to have: without the right to create it, there is none.
  base::Result<> create_exports() {
    KL_TRY(connection_.run(context_, "creating", "SAVEPOINT kollect_exports"));
    const auto created =
        connection_.run(context_, "creating", fill(kExports, options_.schema, options_.table));
    if (created.has_value()) return {};
    if (!connection_.alive() || created.error().kind == base::ErrorKind::kRetryable) {
      return created.error();
    }
    KL_TRY(connection_.run(context_, "creating", "ROLLBACK TO SAVEPOINT kollect_exports"));
    return {};
  }

  const base::Context& context_;
  Connection& connection_;
  const TableOptions& options_;
  std::map<std::string, Relation> relations_;
};

/// All companions that this sink wants are there.
bool complete(const base::Result<Table>& table, bool missing, const TableOptions& options) {
  return table.has_value() && !missing && !table->exports.empty() &&
         (!options.history || !table->history.empty());
}

}  // namespace

base::Result<Table> look_at_table(const base::Context& context, Connection& connection,
                                  const TableOptions& options, bool& missing) {
  return Preparation(context, connection, options).look(missing);
}

base::Result<Table> prepare_table(const base::Context& context, Connection& connection,
                                  const TableOptions& options) {
  bool missing = false;
  auto found = look_at_table(context, connection, options, missing);
  if (!connection.alive()) return found;
  if (!options.ensure) {
    if (found.has_value() && missing) return missing_error(options, options.table);
    return found;
  }
  const bool lacks_history = !found.has_value() && found.error().reason == "table-missing";
  if (complete(found, missing, options) || (!found.has_value() && !lacks_history)) return found;
  // Only one of several starting processes creates.
  KL_TRY(connection.run(
      context, "creating",
      fmt::format("BEGIN; SELECT pg_catalog.pg_advisory_xact_lock({})",
                  lock_number(fmt::format("create {}.{}", options.schema, options.table)))));
  auto created = Preparation(context, connection, options).create_missing();
  const auto ended =
      connection.alive()
          ? connection.run(context, "creating", created.has_value() ? "COMMIT" : "ROLLBACK")
          : base::Result<Answer>();
  KL_TRY(created);
  if (!ended.has_value()) return ended.error();
  found = look_at_table(context, connection, options, missing);
  if (found.has_value() && missing) return missing_error(options, options.table);
  return found;
}

std::string create_table_sql(std::string_view schema, std::string_view table) {
  return fill(kTable, schema, table);
}

std::string named_table(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory) {
  const std::string name = rows::expand_name(naming_template, cluster, ns, inventory);
  return companion_name(column_text(name), "");
}

std::string lock_number(std::string_view text) {
  return std::to_string(std::bit_cast<std::int64_t>(base::xxh64(text)));
}

}  // namespace kollect::sinks::postgres
