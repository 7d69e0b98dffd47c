// What the operator counts while it works: passes, exports, probes (spec: runtime 14). Numbers that
// others hold are looked up for each page: engine_page.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "metrics/registry.h"
#include "sinks/sink.h"

namespace kollect::manager {

inline constexpr const char* kReconcileErrors = "kollect_reconcile_errors_total";
inline constexpr const char* kReconcileErrorsHelp =
    "Failed collections of targets, and failed exports of inventories.";

/// "transient", "terminal" or "forbidden" (spec: runtime 4).
std::string_view error_class(const base::Error& error);

/// Label values are kinds, types, classes and results: closed sets, whose series are there from the
/// start, so that a first failure is an increase. Thread-safe.
class Telemetry {
 public:
  /// `registry` must outlive it.
  explicit Telemetry(metrics::Registry& registry);

  /// A pass of a controller ("KollectTarget") ended; `error` null: well. Conflicts, objects that
  /// went meanwhile and cancelled passes are no failures.
  void reconciled(const std::string& controller, base::Duration took, const base::Error* error);
  /// A pass over a sink ended; `error` null: well. A cancelled one is counted as an attempt only.
  void exported(const std::string& kind, const std::string& sink_type, base::Duration took,
                std::uint64_t bytes, const base::Error* error);
  /// Bindings that a pass of `controller` found to have nothing new.
  void debounced(const std::string& controller, std::size_t bindings);
  void sink_probed(const std::string& sink_type, bool good);
  /// A reference of a cluster kind: `ref_type` is profile, snapshot, database, event; `error` null:
  /// found.
  void static_ref(const std::string& kind, const std::string& ref_type, const base::Error* error);

 private:
  metrics::Registry& registry_;
};

/// The sink, each of whose passes is told to `telemetry`, which must outlive it. `clock` likewise.
std::unique_ptr<sinks::Sink> metered(Telemetry& telemetry, const base::Clock& clock,
                                     std::string sink_type, std::unique_ptr<sinks::Sink> sink);

}  // namespace kollect::manager
