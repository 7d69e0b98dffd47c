// The read API: every route, whatever holds the rows (spec: runtime 13).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "http/server.h"
#include "metrics/registry.h"
#include "readapi/access.h"
#include "readapi/feed.h"
#include "readapi/object_board.h"
#include "readapi/source.h"
#include "readapi/static_files.h"

namespace kollect::readapi {

/// What the service works on; all of it must outlive the service.
struct ServiceParts {
  Source& source;
  Authorizer& access;
  const base::Clock& clock;
  const base::Logger* log = nullptr;
  const ObjectBoard* objects = nullptr;  ///< null: 501 where objects are asked for
  Feed* feed = nullptr;                  ///< null: changes are looked for in the source
  const StaticFiles* ui = nullptr;       ///< null: no console
  metrics::Registry* metrics = nullptr;
};

struct ServiceOptions {
  std::string version;  ///< of the program
  /// Origins that browsers may read from ("https://portal.example"); "*": all.
  std::vector<std::string> cors_origins = {};
  std::size_t max_streams = 64;
  std::size_t stream_buffer_bytes = 32U << 20U;  ///< changes kept for clients that are behind
  base::Duration request_limit = std::chrono::seconds(30);  ///< of one question to the source
  base::Duration export_limit = std::chrono::minutes(15);   ///< of one export
  /// Why nothing can be answered at the moment (not the leader); empty: it can.
  std::function<std::string()> closed = {};
  /// Answers what is asked below /fleet: the request's path is the rest. Called for callers who see
  /// everything.
  std::function<void(const std::shared_ptr<const http::ServerRequest>&, http::Reply)> fleet = {};
  /// /healthz and /readyz are answered here; ready: the source says its state.
  bool probes = false;
  /// The hub of the streams runs on a thread of its own; else turn() is called.
  bool own_thread = true;
};

/// A handler for http::Server. Ends its streams when destroyed; the server must have stopped by
/// then. Thread-safe.
class Service {
 public:
  Service(ServiceParts parts, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void handle(const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply);
  /// The answer alone: for tests, and for whoever has no server. Not of /fleet.
  http::Answer answer(const std::shared_ptr<const http::ServerRequest>& request);
  [[nodiscard]] std::size_t streams() const;
  /// One look at what has changed, without a thread of its own.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::readapi
