#include "manager/probes.h"

#include <charconv>

#include <fmt/format.h>

namespace kollect::manager {

http::Answer answer_probe(const std::string& path, bool verbose, const ManagerHealth& health) {
  if (path == "/healthz" || path == "/healthz/healthz") {
    return http::Answer::text(200, verbose ? "healthz ok\n" : "ok");
  }
  if (path != "/readyz" && path != "/readyz/readyz") return http::Answer::text(404, "not found\n");
  std::string problems;
  if (health.stopping) problems += "stopping\n";
  if (!health.caches_synced) {
    problems += "the kinds of kollect.dev are not read yet; are their CRDs installed?\n";
  }
  if (!problems.empty()) return http::Answer::text(503, "not ready: " + problems);
  return http::Answer::text(200, verbose ? fmt::format("readyz ok\nrows {}\n", health.rows) : "ok");
}

base::Result<std::unique_ptr<http::Server>> serve_probes(const std::string& address,
                                                         std::function<ManagerHealth()> health,
                                                         const base::Logger* log) {
  const auto colon = address.rfind(':');
  http::ServerOptions options;
  options.address = colon == std::string::npos ? "" : address.substr(0, colon);
  const std::string port = colon == std::string::npos ? address : address.substr(colon + 1);
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (code != std::errc() || end != port.data() + port.size()) {
    return base::configuration(
        fmt::format("--health-probe-bind-address: \"{}\" is not HOST:PORT", address));
  }
  if (options.address.size() > 2 && options.address.front() == '[') {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  options.workers = 1;
  options.max_body_bytes = 0;
  auto server = http::Server::start(
      options,
      [health = std::move(health)](const std::shared_ptr<const http::ServerRequest>& request,
                                   http::Reply reply) {
        if (request->method != "GET" && request->method != "HEAD") {
          reply.send(http::Answer::text(405, "GET only\n"));
          return;
        }
        reply.send(answer_probe(request->path, request->query == "verbose", health()));
      },
      log);
  if (!server) return server.error().with_prefix("--health-probe-bind-address");
  return server;
}

}  // namespace kollect::manager
