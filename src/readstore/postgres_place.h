// Tables in a PostgreSQL database that others write.
#pragma once

#include <memory>
#include <string>

#include "base/secret.h"
#include "readstore/session.h"

namespace kollect::readstore {

struct PostgresStore {
  base::Secret url;         ///< all parameters of libpq; no address is refused
  std::string schema = {};  ///< empty: as the session's search path says
  std::string table = "inventory";
  std::size_t most_sessions = 6;  ///< at a time; more wait for their turn
};

/// Connects at the first session. Connections are kept and replaced when they are lost; sessions
/// are read-only transactions of one moment whose statements end by themselves when their context
/// does.
std::unique_ptr<Place> postgres_place(PostgresStore store);

}  // namespace kollect::readstore
