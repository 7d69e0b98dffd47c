#include "manager/read_api/server.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/program.h"
#include "console/assets.h"
#include "http/listen_address.h"
#include "readapi/kube_access.h"
#include "readapi/live/live_source.h"

namespace kollect::manager {
namespace {

/// Spec: runtime 1, 13 and X-52.
constexpr base::Duration kDrain = std::chrono::seconds(5);
constexpr base::Duration kHeaderLimit = std::chrono::seconds(5);
constexpr base::Duration kReadLimit = std::chrono::seconds(30);
constexpr std::size_t kOtherConnections = 512;

}  // namespace

base::Result<> check(ReadApiOptions& options) {
  if (options.auth_mode == "none") options.auth_mode = "disabled";
  if (options.auth_mode != "kubernetes" && options.auth_mode != "disabled") {
    return base::configuration("--inventory-auth-mode takes kubernetes or disabled");
  }
  for (const std::string& origin : options.cors_origins) {
    const bool fine =
        origin == "*" || ((origin.starts_with("https://") || origin.starts_with("http://")) &&
                          !origin.ends_with('/'));
    if (!fine) {
      return base::configuration(fmt::format(
          "--inventory-http-cors-origins: \"{}\" must be an origin as https://portal.example",
          origin));
    }
  }
  return {};
}

base::Result<> ReadApi::adopt(http::ServerIdentity identity) {
  if (server_) return server_->set_identity(identity);
  listen_.tls = std::move(identity);
  return {};
}

base::Result<> ReadApi::listen(const base::Logger* log) {
  auto listening = http::Server::start(
      listen_,
      [this](const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply) {
        service_->handle(request, std::move(reply));
      },
      log);
  if (!listening) return listening.error().with_prefix("--inventory-http-port");
  server_ = std::move(*listening);
  return {};
}

base::Result<std::unique_ptr<ReadApi>> ReadApi::start(const ReadApiOptions& options,
                                                      Manager& manager, kube::Client& client,
                                                      std::function<std::string()> closed,
                                                      const base::Clock& clock,
                                                      const base::Logger* log) {
  std::unique_ptr<ReadApi> made(new ReadApi(clock, log));
  ReadApi& api = *made;
  api.listen_.address = options.address;
  api.listen_.port = options.port;
  api.listen_.workers = 6;
  api.listen_.max_body_bytes = 0;
  api.listen_.max_connections = options.max_streams + kOtherConnections;
  api.listen_.replace_idle = true;
  api.listen_.header_timeout = kHeaderLimit;
  api.listen_.write_timeout = kReadLimit;
  if (options.auth_mode == "disabled") {
    api.access_ = std::make_unique<readapi::OpenAccess>();
    if (log != nullptr) {
      log->warn("everybody who reaches the port may read the inventory",
                {{"flag", "--inventory-auth-mode=disabled"}});
    }
  } else {
    api.access_ = std::make_unique<readapi::KubeAccess>(
        client, clock, log,
        readapi::KubeAccessOptions{.audiences = options.audiences, .keep = options.auth_keep});
  }
  if (options.ui) api.console_ = std::make_unique<console::Files>();
  readapi::ServiceOptions service;
  service.version = cli::version();
  service.cors_origins = options.cors_origins;
  service.max_streams = options.max_streams;
  service.stream_buffer_bytes = options.stream_buffer_bytes;
  service.closed = std::move(closed);
  const ManagerReadParts parts = manager.read_parts();
  api.service_ =
      std::make_unique<readapi::Service>(readapi::ServiceParts{.source = *parts.rows,
                                                               .access = *api.access_,
                                                               .clock = clock,
                                                               .log = log,
                                                               .objects = parts.objects,
                                                               .feed = parts.rows,
                                                               .ui = api.console_.get(),
                                                               .metrics = &manager.metrics()},
                                         std::move(service));
  if (!options.cert_path.empty()) {
    const std::filesystem::path folder = options.cert_path;
    const auto added = api.reloader_.add("certificate of the read API",
                                         {folder / options.cert_name, folder / options.cert_key},
                                         [&api](const std::vector<std::string>& contents) {
                                           return api.adopt({.certificate_pem = contents[0],
                                                             .key_pem = base::Secret(contents[1]),
                                                             .client_ca_pem = {}});
                                         });
    if (!added) return added.error().with_prefix("--inventory-tls-cert-path");
  }
  KL_TRY(api.listen(log));
  if (!options.cert_path.empty()) api.reloader_.start();
  return made;
}

ReadApi::~ReadApi() {
  stop();
}

void ReadApi::stop() {
  if (server_) server_->stop(kDrain);
}

}  // namespace kollect::manager
