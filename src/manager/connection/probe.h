// One look at a sink's backend, and what its outcome is called (spec: runtime 7.5 and 7.6).
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "manager/sink_registry.h"

namespace kollect::manager {

inline constexpr const char* kSinkNotFound = "SinkNotFound";
inline constexpr const char* kSecretResolveFailed = "SecretResolveFailed";
inline constexpr const char* kConnectionTestFailed = "ConnectionTestFailed";

struct ProbeOutcome {
  std::optional<base::Error> error = {};    ///< its reason is the condition's; no secret values
  std::optional<base::Duration> took = {};  ///< of the probe alone; none: it was not reached
  std::string message = {};                 ///< of a success
};

/// Why a sink did not resolve, as an outcome. Errors are passed on that say nothing about the sink:
/// the API server could not be asked, the work was cancelled.
base::Result<ProbeOutcome> unresolved(const base::Error& error, const base::Redactor& redactor);

/// Builds a backend, probes it within 15 s and drops it. Nothing is written. Error: `context` ended
/// meanwhile.
base::Result<ProbeOutcome> probe(const base::Context& context, const ResolvedSink& sink,
                                 const base::Redactor& redactor);

}  // namespace kollect::manager
