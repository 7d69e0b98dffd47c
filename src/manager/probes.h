// /healthz and /readyz (spec: runtime 1, X-34).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "manager/leader/elector.h"
#include "manager/manager.h"
#include "manager/shards/shards.h"

namespace kollect::manager {

struct ProbeState {
  ManagerHealth health = {};
  bool webhooks_wait = false;                  ///< for their certificate
  std::optional<ElectorStatus> election = {};  ///< none: nobody is asked who leads
  std::optional<ShardStatus> shards = {};      ///< none: the work is not shared
};

/// The answer to a probe: 200 "ok", 503 with the reasons, or 404. `path` as requested. A standby is
/// ready when its caches are; a process that has lost the lease is not alive.
http::Answer answer_probe(const std::string& path, bool verbose, const ProbeState& state);

/// Serves the probes until destroyed. `address` is HOST:PORT, with an empty host for all addresses.
/// Errors: configuration, terminal (port in use).
base::Result<std::unique_ptr<http::Server>> serve_probes(const std::string& address,
                                                         std::function<ProbeState()> state,
                                                         const base::Logger* log);

}  // namespace kollect::manager
