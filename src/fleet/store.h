// Which store a server uses, opened and seeded.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "fleet/fleet.h"

namespace kollect::fleet {

struct StoreSettings {
  enum class Backend : std::uint8_t { kSqlite, kPostgres, kMemory };
  Backend backend = Backend::kSqlite;
  base::Secret database;  ///< of the first two
  std::string seed;       ///< file
};

/// STORE_BACKEND ("sqlite", "postgres", "memory"), DATABASE_URL and SEED_FILE. A database URL of
/// PostgreSQL chooses it without STORE_BACKEND. Error (configuration): names the setting.
base::Result<StoreSettings> read_store_settings(const std::string& backend,
                                                const std::string& database,
                                                const std::string& seed);

struct Store {
  std::unique_ptr<Keeper> keeper;
  Content content;
};

/// A new store is filled from the seed file. `clock` must outlive it.
base::Result<Store> open_store(const StoreSettings& settings, const base::Clock& clock,
                               const base::Logger& log);

}  // namespace kollect::fleet
