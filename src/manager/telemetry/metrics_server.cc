#include "manager/telemetry/metrics_server.h"

#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "http/listen_address.h"
#include "readapi/access.h"
#include "webhook/certificates.h"

namespace kollect::manager {

namespace {

constexpr base::Duration kKeep = std::chrono::seconds(30);
constexpr std::size_t kMostKept = 256;
constexpr base::Duration kAskLimit = std::chrono::seconds(10);
constexpr const char* kPath = "/metrics";

/// Encrypts, and proves nothing: as long as the process lives, in memory alone.
base::Result<http::ServerIdentity> own_identity(base::WallTime now) {
  const webhook::Validity validity{.from = now - std::chrono::hours(1),
                                   .until = now + std::chrono::years(10)};
  KL_ASSIGN(const auto authority, webhook::make_authority("kollect metrics", validity));
  KL_ASSIGN(auto pair, webhook::issue(authority, {"localhost"}, validity));
  return http::ServerIdentity{.certificate_pem = std::move(pair.certificate_pem),
                              .key_pem = std::move(pair.key_pem),
                              .client_ca_pem = {}};
}

}  // namespace

base::Result<ScrapeGate::Answer> ScrapeGate::review(const base::Context& context,
                                                    const std::string& token) {
  KL_ASSIGN(const kube::Identity who, reviews_.token(context, token));
  if (!who.known) return Answer::kUnknown;
  KL_ASSIGN(const bool may, reviews_.may_get(context, who, kPath));
  return may ? Answer::kYes : Answer::kForbidden;
}

ScrapeGate::Answer ScrapeGate::ask(const base::Context& context, const std::string& token) {
  const std::string key = base::sha256_hex(token);
  const base::SteadyTime now = clock_.steady_now();
  {
    const std::scoped_lock lock(mutex_);
    if (const auto it = kept_.find(key); it != kept_.end() && it->second.until > now) {
      return it->second.answer;
    }
  }
  const auto answer = review(context, token);
  if (!answer) return Answer::kNobodyToAsk;
  const std::scoped_lock lock(mutex_);
  std::erase_if(kept_, [&](const auto& item) { return item.second.until <= now; });
  if (kept_.size() >= kMostKept) kept_.erase(kept_.begin());
  kept_[key] = {.answer = *answer, .until = now + kKeep};
  return *answer;
}

http::Answer MetricsServer::answer(const http::ServerRequest& request) {
  if (request.path != kPath) return http::Answer::text(404, "not found\n");
  if (request.method != "GET" && request.method != "HEAD") {
    return http::Answer::text(405, "GET only\n");
  }
  if (options_.secure) {
    const std::string token = readapi::bearer_token(request.header("authorization").value_or(""));
    const auto allowed = token.empty()
                             ? ScrapeGate::Answer::kUnknown
                             : gate_.ask(base::Context(clock_, {}).with_timeout(kAskLimit), token);
    if (allowed == ScrapeGate::Answer::kUnknown) {
      http::Answer refused = http::Answer::text(401, "a bearer token of the cluster is needed\n");
      refused.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refused;
    }
    if (allowed == ScrapeGate::Answer::kForbidden) {
      return http::Answer::text(403, "get on the path /metrics is not allowed\n");
    }
    if (allowed == ScrapeGate::Answer::kNobodyToAsk) {
      return http::Answer::text(503, "the API server does not say who may read this\n");
    }
  }
  http::Answer page = http::Answer::text(200, registry_.text());
  std::erase_if(page.headers,
                [](const auto& one) { return base::to_lower(one.first) == "content-type"; });
  page.headers.emplace_back("Content-Type", metrics::kTextType);
  return page;
}

base::Result<> MetricsServer::adopt(http::ServerIdentity identity) {
  if (server_) return server_->set_identity(identity);
  listen_.tls = std::move(identity);
  return {};
}

base::Result<std::unique_ptr<MetricsServer>> MetricsServer::start(MetricsOptions options,
                                                                  const metrics::Registry& registry,
                                                                  kube::Client& client,
                                                                  const base::Clock& clock,
                                                                  const base::Logger* log) {
  constexpr const char* kFlag = "--metrics-bind-address";
  std::unique_ptr<MetricsServer> made(
      new MetricsServer(std::move(options), registry, client, clock, log));
  MetricsServer& server = *made;
  const MetricsOptions& set = server.options_;
  if (const auto fine = http::read_listen_address(set.address, server.listen_); !fine) {
    return fine.error().with_prefix(kFlag);
  }
  server.listen_.workers = 2;
  server.listen_.max_body_bytes = 0;
  server.listen_.max_connections = 64;
  server.listen_.replace_idle = true;
  if (set.secure && set.cert_path.empty()) {
    KL_ASSIGN(server.listen_.tls, own_identity(clock.now()));
  } else if (set.secure) {
    const std::filesystem::path folder = set.cert_path;
    const auto added = server.reloader_.add(
        "certificate of the metrics", {folder / set.cert_name, folder / set.cert_key},
        [&server](const std::vector<std::string>& contents) {
          return server.adopt({.certificate_pem = contents[0],
                               .key_pem = base::Secret(contents[1]),
                               .client_ca_pem = {}});
        });
    if (!added) return added.error().with_prefix("--metrics-cert-path");
  }
  auto listening = http::Server::start(
      server.listen_,
      [&server](const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply) {
        reply.send(server.answer(*request));
      },
      log);
  if (!listening) return listening.error().with_prefix(kFlag);
  server.server_ = std::move(*listening);
  if (set.secure && !set.cert_path.empty()) server.reloader_.start();
  return made;
}

}  // namespace kollect::manager
