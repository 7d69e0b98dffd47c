// /metrics of the operator (spec: runtime 1 and 14).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/file_reloader.h"
#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/reviews.h"
#include "metrics/registry.h"

namespace kollect::manager {

struct MetricsOptions {
  std::string address = "0";  ///< HOST:PORT; "0" or empty: no metrics
  bool secure = true;         ///< HTTPS, and only for those whom the API server allows it
  std::string cert_path;      ///< folder; empty: a certificate of its own, which nobody can verify
  std::string cert_name = "tls.crt";
  std::string cert_key = "tls.key";
  [[nodiscard]] bool enabled() const { return !address.empty() && address != "0"; }
};

/// Asks the API server who a bearer token is (TokenReview) and whether that one may get the path
/// /metrics (SubjectAccessReview). Answers are kept for a while, so that neither a scraper nor a
/// flood of wrong tokens becomes a flood of requests. Thread-safe.
class ScrapeGate {
 public:
  enum class Answer { kYes, kUnknown, kForbidden, kNobodyToAsk };
  ScrapeGate(kube::Client& client, const base::Clock& clock) : reviews_(client), clock_(clock) {}
  Answer ask(const base::Context& context, const std::string& token);

 private:
  base::Result<Answer> review(const base::Context& context, const std::string& token);

  struct Kept {
    Answer answer = Answer::kUnknown;
    base::SteadyTime until{};
  };
  kube::Reviews reviews_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;  ///< by hash of the token
};

/// Serves until destroyed. Certificates are taken over when their files change.
class MetricsServer {
 public:
  /// References must outlive it. Errors: configuration (address, certificate), terminal (port in
  /// use).
  static base::Result<std::unique_ptr<MetricsServer>> start(MetricsOptions options,
                                                            const metrics::Registry& registry,
                                                            kube::Client& client,
                                                            const base::Clock& clock,
                                                            const base::Logger* log);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

 private:
  MetricsServer(MetricsOptions options, const metrics::Registry& registry, kube::Client& client,
                const base::Clock& clock, const base::Logger* log)
      : options_(std::move(options)),
        registry_(registry),
        clock_(clock),
        gate_(client, clock),
        reloader_(clock, log) {}
  [[nodiscard]] http::Answer answer(const http::ServerRequest& request);
  base::Result<> adopt(http::ServerIdentity identity);

  const MetricsOptions options_;
  const metrics::Registry& registry_;
  const base::Clock& clock_;
  ScrapeGate gate_;
  http::ServerOptions listen_;
  std::unique_ptr<http::Server> server_;
  base::FileReloader reloader_;  ///< last: ends first
};

}  // namespace kollect::manager
