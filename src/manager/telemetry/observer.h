// Between the parts of the operator and its metrics: what a pass came to is counted, what the parts
// hold is looked up for each page (spec: runtime 14).
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "collector/collector.h"
#include "exporter/exporter.h"
#include "inventory/row_store.h"
#include "kube/client.h"
#include "manager/object_cache.h"
#include "manager/shards/tenures.h"
#include "manager/sink_registry.h"
#include "manager/telemetry/domain_series.h"
#include "manager/telemetry/engine_page.h"
#include "manager/telemetry/telemetry.h"
#include "manager/work_queue.h"
#include "manager/workers.h"
#include "metrics/registry.h"

namespace kollect::manager {

/// The parts that are looked at.
struct Observed {
  const ObjectCache<api::Profile>& profiles;
  const ObjectCache<api::Target>& targets;
  const ObjectCache<api::ClusterTarget>& cluster_targets;
  const ObjectCache<api::Inventory>& inventories;
  const ObjectCache<api::ClusterInventory>& cluster_inventories;
  SinkCaches sinks;
  inventory::RowStore& store;
  const collector::Collector& collector;
  const exporter::Exporter& exporter;
  kube::Client& client;
  const Tenures& tenures;
  const std::vector<std::string>& watch_namespaces;
};

/// Thread-safe from start() on.
class Observer {
 public:
  /// References must outlive it, and it the pages of `registry` and the passes.
  Observer(Observed parts, metrics::Registry& registry, Telemetry& telemetry,
           const base::Clock& clock, base::Duration metrics_interval);

  /// Pages show this queue from now on. Before start().
  void add_queue(const std::string& controller, const WorkQueue& queue);
  /// Pages are filled from now on.
  void start();
  /// What to tell of the passes of a controller ("KollectTarget").
  [[nodiscard]] Workers::Seen seen_by(const std::string& controller);
  /// Inventories are woken for a change of a sink ("sink") or of rows ("store").
  void waking_inventories(const std::string& watch);

 private:
  void passed(const std::string& controller, const Key& key, base::Duration took,
              const base::Error* error);
  void inventory_passed(const std::string& controller, const sinks::InventoryId& id,
                        const exporter::InventoryStatus* status);
  void count_profile_of(const Key& cluster_target);
  void count_sinks_of(const Key& cluster_inventory);
  template <class T>
  void count_sink(const ObjectCache<T>& cache, const char* family, const Key& sink);
  [[nodiscard]] bool watched(const std::string& ns) const;
  [[nodiscard]] std::string sink_type(std::string_view family, const Key& sink) const;
  void fill(metrics::Page& page);
  void show_breakers(metrics::Page& page) const;
  void show_inventories(metrics::Page& page) const;

  Observed parts_;
  metrics::Registry& registry_;
  Telemetry& telemetry_;
  std::map<std::string, const WorkQueue*> queues_;
  DomainSeries domain_;
  std::mutex mutex_;
  TargetErrors target_errors_;
  std::set<sinks::InventoryId> large_;  ///< those with many rows at their last pass
};

}  // namespace kollect::manager
