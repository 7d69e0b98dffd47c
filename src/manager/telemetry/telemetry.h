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

/// Label values are kinds, types, classes and results: closed sets, whose series are there from the
/// start, so that a first failure is an increase. Thread-safe.
class Telemetry {
 public:
  /// `registry` must outlive it.
  explicit Telemetry(metrics::Registry& registry);

  /// A pass of a controller ("KollectTarget") ended; `error` null: well. Conflicts, objects that
  /// went meanwhile and cancelled passes are no failures.
  void reconciled(const std::string& controller, base::Duration took, const base::Error* error);
  /// A pass over a sink ended well.
  void exported(const std::string& sink_type, base::Duration took,
                const sinks::ExportReport& report);
  /// A pass over a sink for a `kind` of inventory failed. A cancelled one is counted as an attempt
  /// only.
  void export_failed(const std::string& kind, const std::string& sink_type, base::Duration took,
                     const base::Error& error);
  /// A backend could not even be built.
  void backend_failed(const base::Error& error);
  /// The rows of an inventory have become many (ExportShardWarning).
  void many_rows();
  /// Bindings that a pass of `controller` found to have nothing new.
  void debounced(const std::string& controller, std::size_t bindings);
  void sink_probed(const std::string& sink_type, bool good);
  /// A reference of a cluster kind: `ref_type` is profile, snapshot, database, event; `error` null:
  /// found.
  void static_ref(const std::string& kind, const std::string& ref_type, const base::Error* error);
  /// Something came ("sink", "store") for which the inventories of a controller should have been
  /// woken, and they could not be read.
  void dependents_unknown(const std::string& controller, const std::string& watch);

 private:
  void attempted(const std::string& sink_type, base::Duration took, std::uint64_t bytes);

  metrics::Registry& registry_;
};

/// The sink, each of whose passes is told to `telemetry`, which must outlive it. `clock` likewise.
std::unique_ptr<sinks::Sink> metered(Telemetry& telemetry, const base::Clock& clock,
                                     std::string sink_type, std::unique_ptr<sinks::Sink> sink);

}  // namespace kollect::manager
