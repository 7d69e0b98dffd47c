#include "manager/telemetry/telemetry.h"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "base/error_class.h"
#include "exporter/exporter.h"

namespace kollect::manager {
namespace {

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

/// An exception of a library that no sink has made an error of.
constexpr const char* kUnexpected = "panic";

std::string sink_error_reason(const base::Error& error) {
  if (error.reason == "too-large") return "payload_too_large";
  if (error.reason == "spill_required") return "spill_required";
  if (error.reason == kUnexpected) return "unknown";
  return std::string(base::error_class(error));
}

constexpr const char* kReconciles = "kollect_reconcile_total";
constexpr const char* kReconcilesHelp = "Finished passes of a controller.";
constexpr const char* kSinkErrors = "kollect_sink_errors_total";
constexpr const char* kSinkErrorsHelp = "Failed exports.";
constexpr const char* kSpills = "kollect_export_spill_warn_total";
constexpr const char* kSpillsHelp = "Passes that wrote 1 MiB or more.";
constexpr const char* kShardWarnings = "kollect_export_shard_warn_total";
constexpr const char* kShardWarningsHelp =
    "Times that an inventory has come to have 1800 rows or more.";
constexpr const char* kReplaced = "kollect_export_replaced_rows_total";
constexpr const char* kReplacedHelp =
    "Rows that were written with U+FFFD for characters that the sink cannot hold.";
constexpr const char* kProbes = "kollect_sink_connection_test_total";
constexpr const char* kProbesHelp = "Probes of sinks.";
constexpr const char* kStaticRefs = "kollect_static_ref_resolution_total";
constexpr const char* kStaticRefsHelp = "References of cluster kinds, as a pass found them.";
constexpr const char* kBlindWatches = "kollect_watch_map_list_errors_total";
constexpr const char* kBlindWatchesHelp =
    "Changes that should have woken inventories while those could not be read.";
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
    const char* kind =
        pass.head.inventory.ns == "cluster" ? "KollectClusterInventory" : "KollectInventory";
    const auto failed = [&](const base::Error& error) {
      telemetry_.export_failed(kind, type_, clock_.steady_now() - began, error);
    };
    try {
      auto report = sink_->apply(context, pass);
      if (report) {
        telemetry_.exported(type_, clock_.steady_now() - began, *report);
      } else {
        failed(report.error());
      }
      return report;
    } catch (const std::exception&) {
      failed(base::retryable("exception", kUnexpected));
      throw;  // the exporter makes an error of it
    }
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
  for (const char* one : {"KollectTarget", "KollectClusterTarget", "KollectInventory",
                          "KollectClusterInventory", "KollectSnapshotSink", "KollectDatabaseSink",
                          "KollectEventSink", "KollectConnectionTest"}) {
    for (const char* result : {"success", "failure"}) {
      registry.counter(kReconciles, kReconcilesHelp, {{"controller", one}, {"result", result}});
    }
  }
  for (const char* one : {"KollectInventory", "KollectClusterInventory"}) {
    registry.counter(kDebounced, kDebouncedHelp, {{"controller", one}});
    for (const char* watch : {"store", "sink"}) {
      registry.counter(kBlindWatches, kBlindWatchesHelp, {{"controller", one}, {"watch", watch}});
    }
  }
  // The types that the CustomResourceDefinitions know.
  for (const char* type : {"git", "gitlab", "s3", "gcs", "azureblob", "postgres", "bigquery",
                           "mongodb", "sqlite", "nats", "kafka"}) {
    for (const char* result : {"success", "failure"}) {
      registry.counter(kProbes, kProbesHelp, {{"type", type}, {"result", result}});
    }
  }
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [kind, type] :
       {Pair("KollectClusterTarget", "profile"), Pair("KollectClusterInventory", "snapshot"),
        Pair("KollectClusterInventory", "database"), Pair("KollectClusterInventory", "event")}) {
    for (const char* result : {"ok", "not_found", "forbidden"}) {
      registry.counter(kStaticRefs, kStaticRefsHelp,
                       {{"kind", kind}, {"ref_type", type}, {"result", result}});
    }
  }
  registry.counter(kSpills, kSpillsHelp);
  registry.counter(kShardWarnings, kShardWarningsHelp);
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

void Telemetry::exported(const std::string& sink_type, base::Duration took,
                         const sinks::ExportReport& report) {
  attempted(sink_type, took, report.bytes);
  if (report.bytes >= exporter::kLargeExport) registry_.counter(kSpills, kSpillsHelp).add();
  registry_.counter(kReplaced, kReplacedHelp, {{"sink_type", sink_type}})
      .add(static_cast<double>(report.replaced));
}

void Telemetry::export_failed(const std::string& kind, const std::string& sink_type,
                              base::Duration took, const base::Error& error) {
  attempted(sink_type, took, 0);
  if (error.kind == base::ErrorKind::kCancelled) return;
  registry_
      .counter(kReconcileErrors, kReconcileErrorsHelp,
               {{"kind", kind}, {"error_class", std::string(base::error_class(error))}})
      .add();
  registry_.counter(kSinkErrors, kSinkErrorsHelp, {{"reason", sink_error_reason(error)}}).add();
}

void Telemetry::backend_failed(const base::Error& error) {
  registry_.counter(kSinkErrors, kSinkErrorsHelp, {{"reason", sink_error_reason(error)}}).add();
}

void Telemetry::attempted(const std::string& sink_type, base::Duration took, std::uint64_t bytes) {
  registry_
      .histogram("kollect_export_duration_seconds", "Time of a pass over a sink, good or bad.",
                 export_bounds(), {{"sink_type", sink_type}})
      .observe(seconds(took));
  registry_
      .counter("kollect_export_bytes_total", "Bytes that were written to sinks.",
               {{"sink_type", sink_type}})
      .add(static_cast<double>(bytes));
}

void Telemetry::many_rows() {
  registry_.counter(kShardWarnings, kShardWarningsHelp).add();
}

void Telemetry::dependents_unknown(const std::string& controller, const std::string& watch) {
  registry_
      .counter(kBlindWatches, kBlindWatchesHelp, {{"controller", controller}, {"watch", watch}})
      .add();
}

void Telemetry::debounced(const std::string& controller, std::size_t bindings) {
  registry_.counter(kDebounced, kDebouncedHelp, {{"controller", controller}})
      .add(static_cast<double>(bindings));
}

void Telemetry::sink_probed(const std::string& sink_type, bool good) {
  registry_
      .counter(kProbes, kProbesHelp,
               {{"type", sink_type}, {"result", good ? "success" : "failure"}})
      .add();
}

void Telemetry::static_ref(const std::string& kind, const std::string& ref_type,
                           const base::Error* error) {
  const char* result = error == nullptr                          ? "ok"
                       : error->kind == base::ErrorKind::kDenied ? "forbidden"
                                                                 : "not_found";
  registry_
      .counter(kStaticRefs, kStaticRefsHelp,
               {{"kind", kind}, {"ref_type", ref_type}, {"result", result}})
      .add();
}

std::unique_ptr<sinks::Sink> metered(Telemetry& telemetry, const base::Clock& clock,
                                     std::string sink_type, std::unique_ptr<sinks::Sink> sink) {
  return std::make_unique<MeteredSink>(telemetry, clock, std::move(sink_type), std::move(sink));
}

}  // namespace kollect::manager
