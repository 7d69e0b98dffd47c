#include "readstore/store.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "readstore/postgres_place.h"
#include "readstore/sqlite_place.h"
#include "readstore/table_source.h"

namespace kollect::readstore {

namespace {

constexpr std::string_view kWanted =
    "--store wants sqlite:FILE or postgres://USER@HOST/DATABASE (the table by --table)";

base::Result<> read_sqlite(std::string_view rest, StoreAddress& out) {
  if (rest.starts_with("//")) rest.remove_prefix(2);
  const std::size_t question = rest.find("?table=");
  if (question != std::string_view::npos) {
    KL_ASSIGN(out.table, base::percent_decode(rest.substr(question + 7)));
    rest = rest.substr(0, question);
  }
  out.file = rest;
  if (out.file.empty()) return base::configuration(fmt::format("{}: the file is missing", kWanted));
  return {};
}

}  // namespace

base::Result<StoreAddress> read_store_address(std::string_view store, std::string_view table) {
  StoreAddress out;
  constexpr std::string_view kSqlite = "sqlite:";
  constexpr std::string_view kPostgres = "postgres:";
  if (store.starts_with(kSqlite)) {
    KL_TRY(read_sqlite(store.substr(kSqlite.size()), out));
  } else if (store.starts_with("postgres://") || store.starts_with("postgresql://")) {
    out.postgres = true;
    out.url = base::Secret(std::string(store));
  } else if (store.starts_with(kPostgres)) {
    out.postgres = true;
    out.url = base::Secret(std::string(store.substr(kPostgres.size())));
  } else {
    return base::configuration(std::string(kWanted));
  }
  if (!table.empty()) out.table = table;
  if (const std::size_t dot = out.table.find('.'); out.postgres && dot != std::string::npos) {
    out.schema = out.table.substr(0, dot);
    out.table = out.table.substr(dot + 1);
  }
  if (out.table.empty()) return base::configuration("--table: the name of the table is empty");
  return out;
}

base::Result<std::unique_ptr<readapi::Source>> open_store(const base::Context& context,
                                                          const StoreAddress& address) {
  auto place =
      address.postgres
          ? postgres_place({.url = address.url, .schema = address.schema, .table = address.table})
          : sqlite_place({.file = address.file, .table = address.table});
  auto source = std::make_unique<TableSource>(std::move(place));
  KL_TRY(source->prepare(context));
  return std::unique_ptr<readapi::Source>(std::move(source));
}

}  // namespace kollect::readstore
