// KollectInventory (spec: runtime 7.3 and 10).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "exporter/exporter.h"
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
                      const base::Logger* log, InventoryOptions options = {})
      : caches_(caches),
        sinks_(sinks),
        exporter_(exporter),
        board_(board),
        writer_(writer),
        clock_(clock),
        log_(log),
        options_(options) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);

 private:
  using Ptr = ObjectCache<api::Inventory>::Ptr;
  /// A sink reference and what it resolved to.
  struct Ref {
    SinkName name;
    const api::SinkReference* reference = nullptr;
    base::Result<ResolvedSink> sink = base::not_found("");
  };
  /// What targets mean for the exports of a namespace.
  struct Readiness {
    bool complete = true;
    std::vector<std::string> keep;     ///< targets whose exported rows stay
    std::vector<std::string> waiting;  ///< names, for the message
    std::optional<std::string> resource_key;
  };
  struct Pass;

  std::vector<Ref> resolve(const base::Context& context, const Ptr& inventory);
  [[nodiscard]] Readiness readiness(const std::string& ns) const;
  exporter::InventoryPlan plan_of(const Ptr& inventory, const std::vector<Ref>& refs,
                                  const Readiness& readiness, base::Duration floor) const;
  base::Result<std::optional<base::Duration>> live(const base::Context& context,
                                                   const Ptr& inventory, const Subject& subject);
  void describe(const base::Context& context, Pass& pass);
  void describe_sinks(Pass& pass);
  base::Result<> clean_dropped(const base::Context& context, const Pass& pass);
  base::Result<> clean_binding(const base::Context& context, const Ptr& inventory,
                               const Subject& subject, const SinkName& name);
  base::Result<std::optional<base::Duration>> clean_up(const base::Context& context,
                                                       const Ptr& inventory,
                                                       const Subject& subject);

  TenantCaches caches_;
  SinkRegistry& sinks_;
  exporter::Exporter& exporter_;
  const TargetBoard& board_;
  Writer& writer_;
  const base::Clock& clock_;
  const base::Logger* log_;
  InventoryOptions options_;
  std::mutex mutex_;
  std::map<Key, std::map<std::string, std::uint64_t>> seen_exports_;  ///< by binding
};

}  // namespace kollect::manager
