#include "manager/probes.h"

#include <fmt/format.h>

#include "http/listen_address.h"

namespace kollect::manager {

namespace {

std::string election_line(const ElectorStatus& election) {
  std::string line = fmt::format("{}, lease held by {}\n", to_string(election.state),
                                 election.holder.empty() ? "nobody" : election.holder);
  if (!election.error.empty()) line += fmt::format("lease: {}\n", election.error);
  return line;
}

std::string shards_line(const ShardStatus& shards) {
  std::string line =
      fmt::format("parts held: {}, of {} for {} replicas\n",
                  shards.held.empty() ? "none" : fmt::format("{}", fmt::join(shards.held, " ")),
                  shards.parts, shards.members);
  if (!shards.member) line += "this one does not take part\n";
  if (!shards.blocked_by.empty()) line += fmt::format("lease held by {}\n", shards.blocked_by);
  if (!shards.error.empty()) line += fmt::format("leases: {}\n", shards.error);
  return line;
}

std::string role(const ProbeState& state) {
  if (state.shards) return shards_line(*state.shards);
  return state.election ? election_line(*state.election) : "leading\n";
}

}  // namespace

http::Answer answer_probe(const std::string& path, bool verbose, const ProbeState& state) {
  const ManagerHealth& health = state.health;
  if (path == "/healthz" || path == "/healthz/healthz") {
    if (state.election && state.election->state == Election::State::kLost) {
      return http::Answer::text(503, "the lease is lost, this process ends\n");
    }
    return http::Answer::text(200, verbose ? "healthz ok\n" : "ok");
  }
  if (path != "/readyz" && path != "/readyz/readyz") return http::Answer::text(404, "not found\n");
  std::string problems;
  if (health.stopping) problems += "stopping\n";
  if (!health.caches_synced) {
    problems += "the kinds of kollect.dev are not read yet; are their CRDs installed?\n";
  }
  if (state.webhooks_wait) problems += "the webhooks have no certificate yet\n";
  if (!problems.empty()) return http::Answer::text(503, "not ready: " + problems);
  if (!verbose) return http::Answer::text(200, "ok");
  return http::Answer::text(200, fmt::format("readyz ok\nrows {}\n{}", health.rows, role(state)));
}

base::Result<std::unique_ptr<http::Server>> serve_probes(const std::string& address,
                                                         std::function<ProbeState()> state,
                                                         const base::Logger* log) {
  http::ServerOptions options;
  if (const auto read = http::read_listen_address(address, options); !read) {
    return read.error().with_prefix("--health-probe-bind-address");
  }
  options.workers = 1;
  options.max_body_bytes = 0;
  auto server = http::Server::start(
      options,
      [state = std::move(state)](const std::shared_ptr<const http::ServerRequest>& request,
                                 http::Reply reply) {
        if (request->method != "GET" && request->method != "HEAD") {
          reply.send(http::Answer::text(405, "GET only\n"));
          return;
        }
        reply.send(answer_probe(request->path, request->query == "verbose", state()));
      },
      log);
  if (!server) return server.error().with_prefix("--health-probe-bind-address");
  return server;
}

}  // namespace kollect::manager
