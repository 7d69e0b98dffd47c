#include "serve/command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/file_reloader.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/program.h"
#include "console/assets.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "readapi/answers.h"
#include "readapi/kube_access.h"
#include "readapi/service.h"
#include "readstore/create_indexes.h"
#include "serve/fleet_proxy.h"
#include "serve/options.h"
#include "serve/own_host.h"
#include "serve/token_access.h"

namespace kollect::serve {
namespace {

constexpr auto kFirstLook = std::chrono::minutes(5);
constexpr auto kDrain = std::chrono::seconds(5);
constexpr std::size_t kWorkers = 8;
constexpr std::uint64_t kMaxBody = 64U << 10U;

/// What may change while it runs, and the files it comes from.
class Front {
 public:
  Front(const ServeOptions& options, const base::Clock& clock, const base::Logger& log)
      : options_(options), reloader_(clock, &log) {}

  base::Result<> read_files() {
    if (options_.auth == AuthMode::kToken) {
      const auto read =
          reloader_.add("tokens", {options_.token_file},
                        [this](const std::vector<std::string>& contents) -> base::Result<> {
                          KL_ASSIGN(TokenGrants grants, parse_token_file(contents.front()));
                          if (tokens_) {
                            tokens_->replace(std::move(grants));
                          } else {
                            tokens_ = std::make_unique<TokenAccess>(std::move(grants));
                          }
                          return {};
                        });
      if (!read)
        return read.error().with_prefix(fmt::format("--token-file {}", options_.token_file));
    }
    if (options_.tls_cert.empty()) return {};
    const auto read = reloader_.add(
        "certificate", {options_.tls_cert, options_.tls_key},
        [this](const std::vector<std::string>& contents) { return take_identity(contents); });
    if (!read) return read.error().with_prefix("--tls-cert, --tls-key");
    return {};
  }

  base::Result<> listen(http::ServerOptions options, http::Handler handler,
                        const base::Logger& log) {
    options.tls = identity_;
    options.workers = kWorkers;
    options.replace_idle = true;
    options.max_body_bytes = kMaxBody;
    KL_ASSIGN(server_, http::Server::start(std::move(options), std::move(handler), &log));
    reloader_.start();
    return {};
  }

  [[nodiscard]] readapi::Authorizer* tokens() const { return tokens_.get(); }
  [[nodiscard]] http::Server& server() { return *server_; }

 private:
  base::Result<> take_identity(const std::vector<std::string>& contents) {
    http::ServerIdentity identity{
        .certificate_pem = contents[0], .key_pem = base::Secret(contents[1]), .client_ca_pem = {}};
    if (server_) return server_->set_identity(identity);
    identity_ = std::move(identity);
    return {};
  }

  const ServeOptions& options_;
  std::unique_ptr<TokenAccess> tokens_;
  std::optional<http::ServerIdentity> identity_;
  std::unique_ptr<http::Server> server_;
  base::FileReloader reloader_;  ///< behind what it changes
};

/// The cluster that judges tokens, and what asks it.
struct Judge {
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<readapi::KubeAccess> access;
};

base::Result<Judge> make_judge(const cli::Invocation& invocation, const ServeOptions& options,
                               const base::Logger& log) {
  Judge out;
  if (options.auth != AuthMode::kKubernetes) return out;
  auto config = kube::Kubeconfig::load_default(options.kubeconfig, invocation.env);
  if (!config) return config.error().with_prefix("--auth-mode kubernetes");
  KL_ASSIGN(const auto selection, kube::select_contexts(*config, {}));
  KL_ASSIGN(kube::ClusterConfig cluster, config->resolve(selection.names.front()));
  kube::ClientOptions client_options;
  client_options.env = invocation.env;
  client_options.user_agent = "kollect-serve";
  out.client = std::make_unique<kube::Client>(std::make_shared<http::Client>(), cluster,
                                              client_options, &log);
  out.access = std::make_unique<readapi::KubeAccess>(*out.client, *invocation.clock, &log);
  return out;
}

base::Result<std::unique_ptr<FleetProxy>> make_fleet(const ServeOptions& options,
                                                     const base::Clock& clock,
                                                     const base::Logger& log) {
  if (options.fleet_url.empty()) return nullptr;
  const auto token = base::read_file(options.fleet_token_file, 64U << 10U);
  if (!token) return token.error().with_prefix("--fleet-token-file");
  const std::string_view trimmed = base::trim(*token);
  if (trimmed.empty()) return base::configuration("--fleet-token-file: the file is empty");
  return std::make_unique<FleetProxy>(
      FleetSettings{.url = options.fleet_url, .token = base::Secret(std::string(trimmed))}, clock,
      log);
}

/// Hands requests to the service; where no token protects it, only those meant for this machine.
http::Handler handler_of(readapi::Service& service, const ServeOptions& options) {
  const bool guarded = options.auth == AuthMode::kDisabled && is_loopback(options.server.address);
  return [&service, guarded](const std::shared_ptr<const http::ServerRequest>& request,
                             http::Reply reply) {
    if (guarded && !is_for_this_machine(*request)) {
      reply.send(readapi::error_answer(
          421, "MisdirectedRequest",
          "without tokens only localhost and loopback addresses are answered: for other names "
          "give --token-file"));
      return;
    }
    service.handle(request, std::move(reply));
  };
}

base::Result<> serve(const cli::Invocation& invocation, const ServeOptions& options,
                     const base::Logger& log) {
  const base::Clock& clock = *invocation.clock;
  Front front(options, clock, log);
  KL_TRY(front.read_files());
  KL_ASSIGN(const auto fleet, make_fleet(options, clock, log));
  KL_ASSIGN(const auto source,
            readstore::open_store(invocation.context().with_timeout(kFirstLook), options.store));
  KL_ASSIGN(const Judge judge, make_judge(invocation, options, log));
  readapi::OpenAccess everybody;
  readapi::Authorizer* chosen = &everybody;
  if (judge.access) chosen = judge.access.get();
  if (front.tokens() != nullptr) chosen = front.tokens();
  readapi::Authorizer& access = *chosen;
  const console::Files files;
  readapi::ServiceOptions service_options{.version = cli::version(),
                                          .cors_origins = options.cors_origins,
                                          .max_streams = options.max_streams,
                                          .probes = true};
  if (fleet) {
    service_options.fleet = [&fleet](const std::shared_ptr<const http::ServerRequest>& request,
                                     http::Reply reply) {
      fleet->handle(request, std::move(reply));
    };
  }
  readapi::Service service({.source = *source,
                            .access = access,
                            .clock = clock,
                            .log = &log,
                            .ui = options.ui ? &files : nullptr},
                           std::move(service_options));
  KL_TRY(front.listen(options.server, handler_of(service, options), log));
  log.info("the read API is up", {{"address", options.server.address},
                                  {"port", std::to_string(front.server().port())},
                                  {"store", source->abilities().store},
                                  {"auth", std::string(access.mode())}});
  if (options.auth == AuthMode::kDisabled && !is_loopback(options.server.address)) {
    log.warn("everybody who can connect may read everything: --auth-mode disabled");
  }
  while (clock.sleep(std::chrono::hours(1), invocation.stop)) {
  }
  front.server().stop(kDrain);
  return {};
}

base::Result<> make_indexes(const cli::Invocation& invocation, const ServeOptions& options,
                            const base::Logger& log) {
  if (options.print_indexes) {
    KL_ASSIGN(const auto statements,
              readstore::index_statements_of(options.store, options.index_attributes,
                                             options.index_search));
    for (const std::string& statement : statements) fmt::print(invocation.out, "{};\n", statement);
    return {};
  }
  return readstore::create_indexes(invocation.context(), options.store, options.index_attributes,
                                   options.index_search, [&log](std::string_view statement) {
                                     log.info("making an index", {{"sql", std::string(statement)}});
                                   });
}

}  // namespace

int run_serve(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  ServeOptions options;
  const auto read = read_serve_options(invocation, args, options);
  if (read && *read) return **read;
  const base::Logger log(
      {.level = options.log_level,
       .format = invocation.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
       .out = invocation.err},
      *invocation.clock);
  const auto fail = [&](const base::Error& error) {
    fmt::print(invocation.err, "{} serve: {}\n", invocation.program, error.message);
    return invocation.exit_code(cli::kExitFailed);
  };
  if (!read) return fail(read.error());
  const auto done = options.create_indexes || options.print_indexes
                        ? make_indexes(invocation, options, log)
                        : serve(invocation, options, log);
  if (!done) return fail(done.error());
  return cli::kExitOk;
}

}  // namespace kollect::serve
