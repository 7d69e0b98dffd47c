#include "readstore/create_indexes.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "dbfile/database.h"
#include "pgsql/dsn.h"
#include "pgsql/names.h"
#include "readstore/indexes.h"

namespace kollect::readstore {

namespace {

using Tell = std::function<void(std::string_view)>;

constexpr auto kBusy = std::chrono::seconds(30);

base::Result<> create_in_file(const base::Context& context, IndexWishes wishes,
                              const std::string& file, const Tell& tell) {
  // Opening for reading first tells of a file that is not there, instead of making one.
  { KL_ASSIGN(const auto there, dbfile::Database::open_for_reading(file, kBusy)); }
  KL_ASSIGN(auto database, dbfile::Database::open(file, dbfile::Database::Mode::kReadWrite, kBusy));
  database.watch(&context);
  const auto has = [&](const std::string& table) -> base::Result<bool> {
    KL_ASSIGN(auto look,
              database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1"));
    look.bind(1, table);
    return look.step();
  };
  KL_ASSIGN(const bool there, has(wishes.table));
  if (!there) return base::configuration(fmt::format("{} has no table {}", file, wishes.table));
  KL_ASSIGN(wishes.history, has(wishes.table + "_history"));
  KL_ASSIGN(const auto statements, index_statements(false, wishes));
  for (const std::string& statement : statements) {
    tell(statement);
    KL_TRY(database.execute(statement));
  }
  return {};
}

base::Result<> create_in_server(const base::Context& context, IndexWishes wishes,
                                const base::Secret& url, const Tell& tell) {
  pgsql::DsnOptions dsn;
  dsn.dsn = url;
  dsn.application_name = "kollect-indexes";
  KL_ASSIGN(auto connection, pgsql::connect(context, dsn));
  connection.set_where(wishes.table);
  const auto name = [&](std::string_view suffix) {
    const std::string table = pgsql::quote_name(pgsql::companion_name(wishes.table, suffix));
    return wishes.schema.empty() ? table : pgsql::quote_name(wishes.schema) + "." + table;
  };
  KL_ASSIGN(const auto there,
            connection.query(context, "looking at",
                             "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL, "
                             "EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = "
                             "'pg_trgm')",
                             {name(""), name("_history")}));
  if (there.field(0, 0) != "t") {
    return base::configuration(fmt::format("the database has no table {}", wishes.table));
  }
  wishes.history = there.field(0, 1) == "t";
  if (wishes.search && there.field(0, 2) != "t") {
    return base::configuration(
        "an index for searching needs the extension pg_trgm: CREATE EXTENSION pg_trgm");
  }
  KL_ASSIGN(const auto statements, index_statements(true, wishes));
  for (const std::string& statement : statements) {
    tell(statement);
    // Without a lock against writers; outside a transaction, which is how this one runs.
    KL_TRY(connection.run(
        context, "making an index of",
        base::replace_all(statement, "CREATE INDEX ", "CREATE INDEX CONCURRENTLY ")));
  }
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> index_statements_of(
    const StoreAddress& address, const std::vector<std::string>& attributes, bool search) {
  return index_statements(address.postgres, {.schema = address.schema,
                                             .table = address.table,
                                             .attributes = attributes,
                                             .history = true,
                                             .search = search});
}

base::Result<> create_indexes(const base::Context& context, const StoreAddress& address,
                              const std::vector<std::string>& attributes, bool search,
                              const Tell& tell) {
  IndexWishes wishes{
      .schema = address.schema, .table = address.table, .attributes = attributes, .search = search};
  return address.postgres ? create_in_server(context, std::move(wishes), address.url, tell)
                          : create_in_file(context, std::move(wishes), address.file, tell);
}

}  // namespace kollect::readstore
