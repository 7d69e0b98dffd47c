// KollectClusterInventory (spec: runtime 7.4 and 10).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "collector/collector.h"
#include "exporter/exporter.h"
#include "manager/cluster_target_board.h"
#include "manager/inventory_controller.h"
#include "manager/inventory_sinks.h"
#include "manager/object_cache.h"
#include "manager/rollup.h"
#include "manager/sink_registry.h"
#include "manager/writer.h"

namespace kollect::manager {

/// What cluster inventories are made of.
struct RollupCaches {
  const ObjectCache<api::Profile>& profiles;
  const ObjectCache<api::ClusterTarget>& targets;
  const ObjectCache<api::ClusterScope>& cluster_scopes;
  const ObjectCache<api::Scope>& scopes;
  const ObjectCache<api::Inventory>& inventories;
  ObjectCache<api::ClusterInventory>& rollups;
};

/// Looks at one cluster inventory at a time: tells the exporter what to export where, and the
/// status what became of it. Thread-safe for different keys.
class ClusterInventoryController {
 public:
  /// `namespaces`: those of the cluster as they are known now.
  ClusterInventoryController(RollupCaches caches, SinkRegistry& registry,
                             exporter::Exporter& exporter, const ClusterTargetBoard& board,
                             std::function<collector::KnownNamespaces()> namespaces, Writer& writer,
                             const base::Clock& clock, InventoryOptions options = {})
      : caches_(caches),
        registry_(registry),
        exporter_(exporter),
        board_(board),
        namespaces_(std::move(namespaces)),
        writer_(writer),
        clock_(clock),
        sinks_(registry, exporter, writer, options.max_export_bytes) {}

  /// The namespace in the identity of its exports.
  static constexpr const char* kPlace = "cluster";

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);
  /// Somebody else tells its status from now on.
  void forget(const sinks::InventoryId& id) { sinks_.forget(id); }
  /// Where the references of a cluster inventory lead that name no namespace.
  static std::string sink_namespace(const api::ClusterInventorySpec& spec);

 private:
  using Ptr = ObjectCache<api::ClusterInventory>::Ptr;
  struct Pass;

  base::Result<std::optional<base::Duration>> live(const base::Context& context,
                                                   const Ptr& inventory, const Subject& subject);
  /// Something that decides what is exported is not read yet.
  [[nodiscard]] bool waiting(const Exporting& exporting,
                             const collector::KnownNamespaces& known) const;
  /// Says so when what it waits for cannot be listed; nothing is exported meanwhile.
  base::Result<> describe_waiting(const base::Context& context, Pass& pass);
  /// Fills the rollup and the floor; the first reason why nothing is exported.
  std::optional<base::Error> check(Pass& pass, const collector::KnownNamespaces& known) const;
  std::optional<base::Error> check_scopes(Pass& pass) const;
  [[nodiscard]] exporter::InventoryPlan plan_of(const Pass& pass) const;
  /// What its targets cannot read.
  [[nodiscard]] std::vector<sinks::KeptPart> unread(const Rollup& rollup) const;
  void set_plan(const Pass& pass);
  void describe(const base::Context& context, Pass& pass);

  RollupCaches caches_;
  SinkRegistry& registry_;
  exporter::Exporter& exporter_;
  const ClusterTargetBoard& board_;
  std::function<collector::KnownNamespaces()> namespaces_;
  Writer& writer_;
  const base::Clock& clock_;
  InventorySinks sinks_;
};

}  // namespace kollect::manager
