// The condition tables of sinks and of KollectConnectionTest as functions of facts (spec: runtime
// 7.5 and 7.6).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "manager/inventory_conditions.h"
#include "manager/status_draft.h"

namespace kollect::manager {

struct SinkFacts {
  enum class Test {
    kOff,       ///< nobody wants one
    kPassed,    ///< the last probe
    kFailed,    ///< the last probe
    kExported,  ///< an export has worked since the last probe, which had failed
  } test = Test::kOff;
  std::optional<base::Error> error = {};  ///< of kFailed
  std::string message = {};               ///< of kPassed
  bool insecure = false;                  ///< certificates are not checked
};

/// Sets ConnectionVerified, Degraded and TLSInsecure of a sink. `manifest` is the one of the draft.
std::vector<Told> set_sink_conditions(StatusDraft& draft, const base::json::Value& manifest,
                                      const SinkFacts& facts);

/// Sets ConnectionVerified and Ready of a connection test; `error` null: the probe passed with
/// `message`.
void set_test_conditions(StatusDraft& draft, const base::Error* error, const std::string& message);

}  // namespace kollect::manager
