// /debug/pprof/ over HTTP (spec: runtime 1), for `go tool pprof`.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "http/server.h"

namespace kollect::profiling {

/// Begins to sample the heap and serves until destroyed:
///   /debug/pprof/                      what there is
///   /debug/pprof/profile?seconds=30    processor time of the next 1 to 300 seconds; 409 while
///                                      another one is taken; a client that goes away ends it
///   /debug/pprof/heap, .../allocs      memory: what is there, what was ever allocated
/// Whoever reaches the address may ask. `address` is HOST:PORT, with an empty host for all
/// addresses. `clock` and `log` must outlive it. Errors: configuration, terminal (port in use).
base::Result<std::unique_ptr<http::Server>> serve_profiles(const std::string& address,
                                                           const base::Clock& clock,
                                                           const base::Logger* log);

}  // namespace kollect::profiling
