// What a part of the work consists of in this process: how it is taken up and how it is left.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "collector/collector.h"
#include "exporter/exporter.h"
#include "kube/reflector.h"
#include "manager/cluster_inventory_controller.h"
#include "manager/cluster_target_board.h"
#include "manager/connection/checks.h"
#include "manager/inventory_controller.h"
#include "manager/object_cache.h"
#include "manager/shards/tenures.h"
#include "manager/target_board.h"
#include "manager/work_queue.h"

namespace kollect::manager {

/// Takes up and leaves parts of a manager's work. One call at a time.
class Handover {
 public:
  /// Whatever knows something of the objects of a part. References must outlive it.
  struct Places {
    Tenures& tenures;
    const std::vector<std::unique_ptr<kube::Reflector>>& reflectors;  ///< of our own kinds
    const ObjectCache<api::Target>& targets;
    const ObjectCache<api::Inventory>& inventories;
    const ObjectCache<api::ClusterTarget>& cluster_targets;
    const ObjectCache<api::ClusterInventory>& cluster_inventories;
    ConnectionChecks::Caches sinks;
    WorkQueue& target_queue;
    WorkQueue& inventory_queue;
    WorkQueue& cluster_target_queue;
    WorkQueue& cluster_inventory_queue;
    collector::Collector& collector;
    exporter::Exporter& exporter;
    TargetBoard& board;
    ClusterTargetBoard& cluster_board;
    InventoryController& inventory_controller;
    ClusterInventoryController& cluster_inventory_controller;
    ConnectionChecks& checks;
  };
  explicit Handover(Places places) : at_(places) {}

  /// Asks for lists of our own kinds anew; true of the answer: all of them began after this call
  /// and are in, except those of kinds that cannot be read. Whoever had a part before may have seen
  /// more than a watch has brought us yet.
  std::function<bool()> refresh();
  /// All objects of the part are looked at from now on.
  void open(std::size_t part);
  /// Nothing of the parts is looked at, collected or known here when this returns. Exports that run
  /// may take `grace` to end; nothing new begins.
  void close(const std::set<std::size_t>& parts, base::Duration grace);

 private:
  Places at_;
};

}  // namespace kollect::manager
