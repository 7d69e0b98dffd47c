// Numbers that the parts of the operator hold, looked up for each page (spec: runtime 14).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "collector/collector.h"
#include "exporter/exporter.h"
#include "inventory/row_store.h"
#include "kube/client.h"
#include "manager/telemetry/telemetry.h"
#include "manager/work_queue.h"
#include "metrics/registry.h"

namespace kollect::manager {

/// Series of one controller's queue: kollect_workqueue_depth and workqueue_*.
void show_queue(metrics::Page& page, const std::string& controller, const WorkQueue& queue);
/// Watches (summed over the namespaces that they are split into), times per object, access
/// reviews.
void show_collector(metrics::Page& page, const collector::CollectorStats& stats);
void show_store(metrics::Page& page, const inventory::RowStoreStats& stats);
/// Looks at rows, by controller.
void show_looks(metrics::Page& page, const std::string& controller,
                const exporter::LookCounts& looks);
/// A sink's breaker.
void show_breaker(metrics::Page& page, const std::string& sink_type, const std::string& ns,
                  const std::string& name, exporter::Breaker::State state);
/// One inventory's last success, and how long the next one may take to come. Gives its rows.
std::size_t show_inventory(metrics::Page& page, const std::string& kind, const std::string& ns,
                           const std::string& name, const exporter::InventoryStatus& status);
void show_requests(metrics::Page& page, const std::string& server,
                   const kube::RequestCounts& counts);

/// Values of one target that do not fit the types of their attributes, and of all targets.
void show_mistyped(metrics::Page& page, const inventory::Owner& target,
                   const std::map<std::string, std::uint64_t>& by_attribute);
void show_mistyped(metrics::Page& page, const collector::Collector& collector);
/// Expressions of prune.cel that failed, of one target and of all that are registered.
void show_prune_errors(metrics::Page& page, const inventory::Owner& target, std::uint64_t errors);
void show_prune_errors(metrics::Page& page, const collector::Collector& collector);

/// Failing objects and refused namespaces of targets are states; what comes anew is counted in
/// kollect_reconcile_errors_total. One thread at a time.
class TargetErrors {
 public:
  explicit TargetErrors(metrics::Registry& registry);
  /// All targets that there are.
  void look(const std::map<inventory::Owner, collector::Signals>& targets);

 private:
  struct Seen {
    std::size_t failures = 0;
    std::size_t forbidden = 0;
    bool access = false;
  };
  metrics::Counter terminal_, forbidden_, transient_;
  std::map<inventory::Owner, Seen> seen_;
};

}  // namespace kollect::manager
