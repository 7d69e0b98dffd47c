// /healthz and /readyz (spec: runtime 1, X-34).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "manager/manager.h"

namespace kollect::manager {

/// The answer to a probe: 200 "ok", 503 with the reasons, or 404. `path` as requested.
http::Answer answer_probe(const std::string& path, bool verbose, const ManagerHealth& health);

/// Serves the probes until destroyed. `address` is HOST:PORT, with an empty host for all addresses.
/// Errors: configuration, terminal (port in use).
base::Result<std::unique_ptr<http::Server>> serve_probes(const std::string& address,
                                                         std::function<ManagerHealth()> health,
                                                         const base::Logger* log);

}  // namespace kollect::manager
