#include "serve/options.h"

#include <fmt/format.h>

#include "cli/flags.h"
#include "http/listen_address.h"

namespace kollect::serve {

namespace {

void add_flags(CLI::App& app, ServeFlags& flags, ServeOptions& options) {
  using cli::add_flag_value;
  add_flag_value(app, "--store", flags.store,
                 "sqlite:FILE or postgres://USER@HOST/DATABASE (or postgres: and key=value pairs): "
                 "where sinks have written");
  add_flag_value(app, "--table", flags.table,
                 "the table, with PostgreSQL also SCHEMA.TABLE (default inventory)");
  add_flag_value(app, "--listen", options.listen, "ADDRESS:PORT (default 127.0.0.1:8082)");
  add_flag_value(app, "--auth-mode", flags.auth_mode,
                 "token, kubernetes or disabled; without it token where a token file is given, "
                 "disabled on a loopback address");
  add_flag_value(app, "--token-file", options.token_file,
                 "lines NAME TOKEN [namespaces=a,b] [clusters=c,d]; read again when it changes");
  add_flag_value(app, "--kubeconfig", options.kubeconfig,
                 "the cluster that judges tokens, with --auth-mode kubernetes");
  add_flag_value(app, "--tls-cert", options.tls_cert,
                 "certificate (PEM); read again when it changes");
  add_flag_value(app, "--tls-key", options.tls_key, "its key (PEM)");
  add_flag_value(app, "--fleet-url", options.fleet_url, "the fleet API, to be read below /fleet");
  add_flag_value(app, "--fleet-token-file", options.fleet_token_file,
                 "the token that this server shows to the fleet API");
  app.add_option("--cors-origins", options.cors_origins, "origins whose pages may read the answers")
      ->delimiter(',');
  add_flag_value(app, "--max-streams", options.max_streams, "streams at a time (default 64)");
  app.add_flag("--ui,!--no-ui", options.ui, "the web console at /ui/ (default true)");
  add_flag_value(app, "--log-level", flags.log_level, "debug, info, warn or error (default info)");
  app.add_flag("--create-indexes", options.create_indexes,
               "make the indexes for large tables, with a connection that writes, and end");
  app.add_flag("--print-indexes", options.print_indexes, "print them as SQL and end");
  app.add_option("--index-attributes", options.index_attributes,
                 "attributes to filter and sort by, with --create-indexes and --print-indexes")
      ->delimiter(',');
  app.add_flag("--index-search", options.index_search,
               "with them: an index for searching, which is as large as the table");
}

base::Result<> read_auth(const ServeFlags& flags, ServeOptions& options) {
  const bool loopback = is_loopback(options.server.address);
  if (flags.auth_mode == "token" || (flags.auth_mode.empty() && !options.token_file.empty())) {
    if (options.token_file.empty()) {
      return base::configuration("--auth-mode token needs --token-file");
    }
    options.auth = AuthMode::kToken;
    return {};
  }
  if (flags.auth_mode == "kubernetes") {
    options.auth = AuthMode::kKubernetes;
  } else if (flags.auth_mode == "disabled") {
    options.auth = AuthMode::kDisabled;
  } else if (!flags.auth_mode.empty()) {
    return base::configuration(
        fmt::format("--auth-mode {}: there are token, kubernetes and disabled", flags.auth_mode));
  } else if (loopback) {
    options.auth = AuthMode::kDisabled;
  } else {
    return base::configuration(fmt::format(
        "--listen {}: others can connect there; give --token-file FILE (lines NAME TOKEN), "
        "--auth-mode kubernetes, or --auth-mode disabled if everybody may read everything",
        options.listen));
  }
  if (!options.token_file.empty()) {
    return base::configuration(
        fmt::format("--token-file is for --auth-mode token, not {}", flags.auth_mode));
  }
  return {};
}

base::Result<> read_fleet(ServeOptions& options) {
  if (options.fleet_url.empty() != options.fleet_token_file.empty()) {
    return base::configuration("--fleet-url and --fleet-token-file: both or none");
  }
  const std::string& url = options.fleet_url;
  if (url.empty()) return {};
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return base::configuration("--fleet-url: must begin with http:// or https://");
  }
  if (url.find_first_of("?#@") != std::string::npos) {
    return base::configuration("--fleet-url: must have no user, query or fragment");
  }
  return {};
}

}  // namespace

bool is_loopback(std::string_view address) {
  return address == "::1" || address == "localhost" || address.starts_with("127.");
}

base::Result<std::optional<int>> read_serve_options(const cli::Invocation& invocation,
                                                    const std::vector<std::string>& args,
                                                    ServeOptions& options) {
  CLI::App app(
      "Serves what sinks have written into SQLite or PostgreSQL: the inventory over HTTP "
      "(docs/read-api.md) and the web console. The store is only read.",
      "serve");
  ServeFlags flags;
  add_flags(app, flags, options);
  if (const auto code = cli::parse_flags(app, invocation, args)) return std::optional<int>(*code);
  KL_ASSIGN(options.log_level, base::parse_log_level(flags.log_level));
  if (flags.store.empty()) {
    return base::configuration("--store is missing: sqlite:FILE or postgres://USER@HOST/DATABASE");
  }
  KL_ASSIGN(options.store, readstore::read_store_address(flags.store, flags.table));
  if (options.create_indexes || options.print_indexes) return std::optional<int>();
  if (!options.index_attributes.empty() || options.index_search) {
    return base::configuration(
        "--index-attributes and --index-search are for --create-indexes and --print-indexes");
  }
  const auto address = http::read_listen_address(options.listen, options.server);
  if (!address) return address.error().with_prefix("--listen");
  KL_TRY(read_auth(flags, options));
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return base::configuration("--tls-cert and --tls-key: both or none");
  }
  KL_TRY(read_fleet(options));
  return std::optional<int>();
}

}  // namespace kollect::serve
