// KollectInventory (spec: runtime 7.3 and 10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "exporter/exporter.h"
#include "manager/inventory_sinks.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "manager/status_draft.h"
#include "manager/target_board.h"
#include "manager/writer.h"

namespace kollect::manager {

/// What both controllers read.
struct TenantCaches {
  const ObjectCache<api::Profile>& profiles;
  const ObjectCache<api::Target>& targets;
  const ObjectCache<api::Scope>& scopes;
  ObjectCache<api::Inventory>& inventories;
};

struct InventoryOptions {
  std::size_t max_export_bytes = 1572864;
};

/// Looks at one inventory at a time: tells the exporter what to export where, and the status what
/// became of it. Thread-safe for different keys.
class InventoryController {
 public:
  InventoryController(TenantCaches caches, SinkRegistry& sinks, exporter::Exporter& exporter,
                      const TargetBoard& board, Writer& writer, const base::Clock& clock,
                      InventoryOptions options = {})
      : caches_(caches),
        exporter_(exporter),
        board_(board),
        writer_(writer),
        clock_(clock),
        sinks_(sinks, exporter, writer, options.max_export_bytes) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);
  /// Somebody else tells its status from now on.
  void forget(const sinks::InventoryId& id) { sinks_.forget(id); }

 private:
  using Ptr = ObjectCache<api::Inventory>::Ptr;
  /// What targets mean for the exports of a namespace.
  struct Readiness {
    bool complete = true;
    std::vector<std::string> keep;       ///< targets whose exported rows stay
    std::vector<sinks::KeptPart> parts;  ///< namespaces of targets for which the same holds
    std::uint64_t as_of = 0;             ///< Exporter::holds() before
    std::vector<std::string> waiting;    ///< names, for the message
    std::optional<std::string> resource_key;
    std::map<std::string, std::string> attribute_types;
  };
  struct Pass;

  [[nodiscard]] Readiness readiness(const std::string& ns) const;
  [[nodiscard]] exporter::InventoryPlan plan_of(const Ptr& inventory,
                                                const Readiness& readiness) const;
  base::Result<std::optional<base::Duration>> live(const base::Context& context,
                                                   const Ptr& inventory, const Subject& subject);
  void describe(const base::Context& context, Pass& pass);

  TenantCaches caches_;
  exporter::Exporter& exporter_;
  const TargetBoard& board_;
  Writer& writer_;
  const base::Clock& clock_;
  InventorySinks sinks_;
};

}  // namespace kollect::manager
