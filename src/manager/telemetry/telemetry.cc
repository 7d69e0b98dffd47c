#include "manager/telemetry/telemetry.h"

#include <chrono>
#include <utility>
#include <vector>

namespace kollect::manager {
namespace {

constexpr std::uint64_t kSpillWarnBytes = 1U << 20U;

double seconds(base::Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// Bounds of passes; those of exports go on to the deadline of one.
std::vector<double> pass_bounds() {
  return {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
}
std::vector<double> export_bounds() {
  auto bounds = pass_bounds();
  bounds.insert(bounds.end(), {30, 60, 120});
  return bounds;
}

std::string sink_error_reason(const base::Error& error) {
  if (error.reason == "too-large") return "payload_too_large";
  return std::string(error_class(error));
}

constexpr const char* kReconciles = "kollect_reconcile_total";
constexpr const char* kReconcilesHelp = "Finished passes of a controller.";
constexpr const char* kSinkErrors = "kollect_sink_errors_total";
constexpr const char* kSinkErrorsHelp = "Failed exports.";
constexpr const char* kSpills = "kollect_export_spill_warn_total";
constexpr const char* kSpillsHelp = "Passes that wrote 1 MiB or more.";
constexpr const char* kDebounced = "kollect_export_debounced_total";
constexpr const char* kDebouncedHelp = "Bindings that had nothing new at a pass of the controller.";

class MeteredSink final : public sinks::Sink {
 public:
  MeteredSink(Telemetry& telemetry, const base::Clock& clock, std::string type,
              std::unique_ptr<sinks::Sink> sink)
      : telemetry_(telemetry), clock_(clock), type_(std::move(type)), sink_(std::move(sink)) {}

  base::Result<sinks::ExportReport> export_all(const base::Context& context,
                                               const std::vector<sinks::Export>& exports,
                                               bool dry_run) override {
    return sink_->export_all(context, exports, dry_run);
  }
  base::Result<sinks::ExportReport> apply(const base::Context& context,
                                          const sinks::Pass& pass) override {
    const base::SteadyTime began = clock_.steady_now();
    auto report = sink_->apply(context, pass);
    const char* kind =
        pass.head.inventory.ns == "cluster" ? "KollectClusterInventory" : "KollectInventory";
    telemetry_.exported(kind, type_, clock_.steady_now() - began, report ? report->bytes : 0,
                        report ? nullptr : &report.error());
    return report;
  }
  [[nodiscard]] bool takes_changes() const override { return sink_->takes_changes(); }
  base::Result<> probe(const base::Context& context) override { return sink_->probe(context); }

 private:
  Telemetry& telemetry_;
  const base::Clock& clock_;
  const std::string type_;
  std::unique_ptr<sinks::Sink> sink_;
};

}  // namespace

std::string_view error_class(const base::Error& error) {
  switch (error.kind) {
    case base::ErrorKind::kDenied:
      return "forbidden";
    case base::ErrorKind::kTerminal:
    case base::ErrorKind::kConfiguration:
    case base::ErrorKind::kNotFound:
      return "terminal";
    case base::ErrorKind::kRetryable:
    case base::ErrorKind::kConflict:
    case base::ErrorKind::kCancelled:
      break;
  }
  return "transient";
}

Telemetry::Telemetry(metrics::Registry& registry) : registry_(registry) {
  for (const char* one : {"transient", "terminal", "forbidden"}) {
    for (const char* kind : {"KollectTarget", "KollectInventory", "KollectClusterInventory"}) {
      registry.counter(kReconcileErrors, kReconcileErrorsHelp,
                       {{"kind", kind}, {"error_class", one}});
    }
    registry.counter(kSinkErrors, kSinkErrorsHelp, {{"reason", one}});
  }
  for (const char* one : {"payload_too_large", "spill_required", "unknown"}) {
    registry.counter(kSinkErrors, kSinkErrorsHelp, {{"reason", one}});
  }
  for (const char* one :
       {"KollectTarget", "KollectClusterTarget", "KollectInventory", "KollectClusterInventory"}) {
    for (const char* result : {"success", "failure"}) {
      registry.counter(kReconciles, kReconcilesHelp, {{"controller", one}, {"result", result}});
    }
  }
  for (const char* one : {"KollectInventory", "KollectClusterInventory"}) {
    registry.counter(kDebounced, kDebouncedHelp, {{"controller", one}});
  }
  registry.counter(kSpills, kSpillsHelp);
}

void Telemetry::reconciled(const std::string& controller, base::Duration took,
                           const base::Error* error) {
  using Kind = base::ErrorKind;
  const bool failed = error != nullptr && error->kind != Kind::kConflict &&
                      error->kind != Kind::kNotFound && error->kind != Kind::kCancelled;
  registry_
      .counter(kReconciles, kReconcilesHelp,
               {{"controller", controller}, {"result", failed ? "failure" : "success"}})
      .add();
  registry_
      .histogram("kollect_reconcile_duration_seconds", "Time of a pass of a controller.",
                 pass_bounds(), {{"controller", controller}})
      .observe(seconds(took));
}

void Telemetry::exported(const std::string& kind, const std::string& sink_type, base::Duration took,
                         std::uint64_t bytes, const base::Error* error) {
  registry_
      .histogram("kollect_export_duration_seconds", "Time of a pass over a sink, good or bad.",
                 export_bounds(), {{"sink_type", sink_type}})
      .observe(seconds(took));
  registry_
      .counter("kollect_export_bytes_total", "Bytes that were written to sinks.",
               {{"sink_type", sink_type}})
      .add(static_cast<double>(bytes));
  if (bytes >= kSpillWarnBytes) registry_.counter(kSpills, kSpillsHelp).add();
  if (error == nullptr || error->kind == base::ErrorKind::kCancelled) return;
  registry_
      .counter(kReconcileErrors, kReconcileErrorsHelp,
               {{"kind", kind}, {"error_class", std::string(error_class(*error))}})
      .add();
  registry_.counter(kSinkErrors, kSinkErrorsHelp, {{"reason", sink_error_reason(*error)}}).add();
}

void Telemetry::debounced(const std::string& controller, std::size_t bindings) {
  registry_.counter(kDebounced, kDebouncedHelp, {{"controller", controller}})
      .add(static_cast<double>(bindings));
}

void Telemetry::sink_probed(const std::string& sink_type, bool good) {
  registry_
      .counter("kollect_sink_connection_test_total", "Probes of sinks.",
               {{"type", sink_type}, {"result", good ? "success" : "failure"}})
      .add();
}

void Telemetry::static_ref(const std::string& kind, const std::string& ref_type,
                           const base::Error* error) {
  const char* result = error == nullptr                          ? "ok"
                       : error->kind == base::ErrorKind::kDenied ? "forbidden"
                                                                 : "not_found";
  registry_
      .counter("kollect_static_ref_resolution_total", "References of cluster kinds.",
               {{"kind", kind}, {"ref_type", ref_type}, {"result", result}})
      .add();
}

std::unique_ptr<sinks::Sink> metered(Telemetry& telemetry, const base::Clock& clock,
                                     std::string sink_type, std::unique_ptr<sinks::Sink> sink) {
  return std::make_unique<MeteredSink>(telemetry, clock, std::move(sink_type), std::move(sink));
}

}  // namespace kollect::manager
