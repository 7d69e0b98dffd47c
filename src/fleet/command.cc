#include "fleet/command.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/flags.h"
#include "cli/program.h"
#include "fleet/api.h"
#include "fleet/client_command.h"
#include "fleet/front.h"
#include "fleet/meter.h"
#include "fleet/open_api.h"
#include "fleet/store.h"
#include "fleet/token_command.h"
#include "metrics/process.h"

namespace kollect::fleet {
namespace {

/// Between two looks at what other processes wrote.
constexpr auto kLook = std::chrono::milliseconds(200);
/// Odd polls are given to the store every ten seconds.
constexpr std::uint64_t kLooksBetweenPolls = 50;

/// The settings of spec fleet-api 8.
struct Settings {
  bool crud = false;
  StoreSettings store;
  std::string open_api;
  FrontSettings front;
  base::Duration stale_limit = std::chrono::hours(24);
  std::optional<ObservedSettings> inventory;
  base::LogLevel log_level = base::LogLevel::kInfo;
};

std::string variable(const cli::Invocation& invocation, const char* name, std::string otherwise) {
  const auto found = invocation.env.find(name);
  return found == invocation.env.end() ? std::move(otherwise) : found->second;
}

std::string plain(const std::string& text) {
  return base::to_lower(base::trim(text));
}

base::Result<Settings> read_settings(const cli::Invocation& invocation) {
  Settings settings;
  const std::string mode = plain(variable(invocation, "API_MODE", "read-only"));
  if (mode != "crud" && mode != "read-only" && mode != "readonly" && mode != "read_only") {
    return base::configuration(fmt::format("API_MODE {}: must be read-only or crud", mode));
  }
  settings.crud = mode == "crud";
  KL_ASSIGN(settings.store,
            read_store_settings(
                variable(invocation, "STORE_BACKEND", "sqlite"),
                variable(invocation, "DATABASE_URL", "sqlite://data/flux-resourceset.db?mode=rwc"),
                variable(invocation, "SEED_FILE", "data/seed.json")));
  KL_ASSIGN(settings.front, read_front(invocation, settings.crud));
  settings.open_api = open_api_text();
  if (const auto file = invocation.env.find("OPENAPI_FILE"); file != invocation.env.end()) {
    auto text = base::read_file(file->second);
    if (!text) return text.error().with_prefix("OPENAPI_FILE");
    settings.open_api = *std::move(text);
  }
  const auto stale = base::parse_duration(variable(invocation, "STALE_LIMIT", "24h"));
  if (!stale) return stale.error().with_prefix("STALE_LIMIT");
  settings.stale_limit = *stale;
  const std::string inventory = variable(invocation, "INVENTORY_URL", "");
  if (!inventory.empty()) {
    KL_ASSIGN(settings.inventory,
              read_observed_settings(inventory, variable(invocation, "INVENTORY_TABLE", "")));
  }
  KL_ASSIGN(settings.log_level, base::parse_log_level(variable(invocation, "LOG_LEVEL", "info")));
  return settings;
}

base::Result<> serve(const cli::Invocation& invocation, const Settings& settings,
                     const base::Logger& log) {
  KL_ASSIGN(const auto front, Front::create(settings.front, *invocation.clock, log));
  KL_ASSIGN(Store store, open_store(settings.store, *invocation.clock, log));
  metrics::Registry registry;
  metrics::add_process_metrics(registry, {.version = cli::version(), .commit = cli::commit()},
                               *invocation.clock);
  MeteredKeeper keeper(*store.keeper, registry, *invocation.clock);
  KL_ASSIGN(const auto fleet, Fleet::create(std::move(store.content), &keeper, *invocation.clock));
  add_fleet_metrics(registry, *fleet);
  Meter meter(registry, Api::route_names());
  Api api(*fleet, front->tokens(),
          {.crud = settings.crud,
           .open_api = settings.open_api,
           .stale_limit = settings.stale_limit,
           .inventory = settings.inventory},
          *invocation.clock, &log, {.registry = &registry, .meter = &meter});
  KL_TRY(front->listen(api));
  front->add_metrics(registry);
  log.info("fleet API is up", {{"mode", settings.crud ? "crud" : "read-only"},
                               {"address", settings.front.address},
                               {"port", std::to_string(front->port())},
                               {"clusters", std::to_string(fleet->count(Family::kCluster))}});
  bool well = true;
  std::uint64_t looks = 0;
  while (invocation.clock->sleep(kLook, invocation.stop)) {
    // Refused where the store may only be read: they are then told by this process alone.
    if (++looks % kLooksBetweenPolls == 0) (void)api.keep_polls();
    const auto followed = fleet->follow();
    if (!followed && well)
      log.error("the store does not answer", {{"error", followed.error().message}});
    if (followed && !well) log.info("the store answers again");
    well = followed.has_value();
  }
  front->close();
  (void)api.keep_polls();
  return {};
}

int run_serve(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  CLI::App app(
      "Serves the desired state of a fleet: which components, namespaces and role bindings each "
      "cluster should have.\nSettings are environment variables: AUTH_TOKEN, CRUD_AUTH_TOKEN, "
      "TOKENS_FILE (one of AUTH_TOKEN and TOKENS_FILE is required), API_MODE (read-only, crud), "
      "STORE_BACKEND (sqlite, postgres, memory), DATABASE_URL, "
      "SEED_FILE, OPENAPI_FILE, LISTEN_ADDR, TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE, "
      "TLS_CLIENT_AUTH (required, optional), SHUTDOWN_DELAY, IDLE_TIMEOUT, "
      "HEADER_TIMEOUT, BODY_TIMEOUT, MAX_CONNECTIONS, STALE_LIMIT, INVENTORY_URL, "
      "INVENTORY_TABLE, LOG_LEVEL.",
      "fleet serve");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto settings = read_settings(invocation);
  const base::Logger log(
      {.level = settings ? settings->log_level : base::LogLevel::kInfo,
       .format = invocation.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
       .out = invocation.err},
      *invocation.clock);
  const auto served =
      settings ? serve(invocation, *settings, log) : base::Result<>(settings.error());
  if (served) return cli::kExitOk;
  fmt::print(invocation.err, "{} fleet serve: {}\n", invocation.program, served.error().message);
  return cli::kExitFailed;
}

}  // namespace

int run_fleet_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "serve") {
    return run_serve(invocation, {args.begin() + 1, args.end()});
  }
  if (!args.empty() && args[0] == "token") {
    return run_token_command(invocation, {args.begin() + 1, args.end()});
  }
  return run_client(invocation, args);
}

}  // namespace kollect::fleet
