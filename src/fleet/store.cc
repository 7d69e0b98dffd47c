#include "fleet/store.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/postgres_keeper.h"
#include "fleet/seed.h"
#include "fleet/sqlite_keeper.h"

namespace kollect::fleet {

namespace {

template <class AnyKeeper>
base::Result<Store> filled(std::unique_ptr<AnyKeeper> keeper, const StoreSettings& settings,
                           const base::Logger& log) {
  KL_ASSIGN(const bool fresh, keeper->is_new());
  if (fresh) {
    KL_ASSIGN(const Content seed, read_seed(settings.seed));
    KL_TRY(keeper->seed(seed));
  }
  Store store;
  KL_ASSIGN(store.content, keeper->load(&log));
  store.keeper = std::move(keeper);
  return store;
}

}  // namespace

base::Result<StoreSettings> read_store_settings(const std::string& backend,
                                                const std::string& database,
                                                const std::string& seed) {
  using Backend = StoreSettings::Backend;
  StoreSettings settings{.database = base::Secret(database), .seed = seed};
  const std::string name = base::to_lower(base::trim(backend));
  if (name == "memory" || name == "in-memory" || name == "in_memory") {
    settings.backend = Backend::kMemory;
  } else if (name == "postgres" || name == "postgresql" || database.starts_with("postgres://") ||
             database.starts_with("postgresql://")) {
    settings.backend = Backend::kPostgres;
  } else if (name != "sqlite") {
    return base::configuration(
        fmt::format("STORE_BACKEND {}: must be sqlite, postgres or memory", name));
  }
  return settings;
}

base::Result<Store> open_store(const StoreSettings& settings, const base::Clock& clock,
                               const base::Logger& log) {
  switch (settings.backend) {
    case StoreSettings::Backend::kMemory:
      break;
    case StoreSettings::Backend::kPostgres: {
      auto keeper = PostgresKeeper::open({.dsn = settings.database}, clock);
      if (!keeper) return keeper.error().with_prefix("DATABASE_URL");
      return filled(*std::move(keeper), settings, log);
    }
    case StoreSettings::Backend::kSqlite: {
      KL_ASSIGN(const SqliteUrl url, parse_sqlite_url(settings.database.reveal()));
      KL_ASSIGN(auto keeper, SqliteKeeper::open(url.file, url.create));
      return filled(std::move(keeper), settings, log);
    }
  }
  Store store;
  KL_ASSIGN(store.content, read_seed(settings.seed));
  store.keeper = std::make_unique<SeedKeeper>(settings.seed, store.content);
  return store;
}

}  // namespace kollect::fleet
