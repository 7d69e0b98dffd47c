// From `--store` to a source of rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "readapi/source.h"

namespace kollect::readstore {

/// A store as the user names it.
struct StoreAddress {
  bool postgres = false;
  std::string file = {};    ///< SQLite
  base::Secret url = {};    ///< PostgreSQL: all parameters of libpq, trusted as the user's own
  std::string schema = {};  ///< PostgreSQL; empty: as the session's search path says
  std::string table = "inventory";
};

/// Reads sqlite:FILE, sqlite://FILE, postgres://... and postgresql://..., or with "postgres:" in
/// front libpq's key=value pairs; the table from "?table=NAME" (SQLite) or `table`, for PostgreSQL
/// also as "schema.table". Error (configuration): says what to give, never the URL.
base::Result<StoreAddress> read_store_address(std::string_view store, std::string_view table);

/// A source that has answered once. Error: there is no such file, server, table.
base::Result<std::unique_ptr<readapi::Source>> open_store(const base::Context& context,
                                                          const StoreAddress& address);

}  // namespace kollect::readstore
