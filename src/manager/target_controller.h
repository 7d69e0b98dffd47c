// KollectTarget (spec: runtime 7.1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "collector/collector.h"
#include "extract/program.h"
#include "manager/inventory_controller.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "manager/status_draft.h"
#include "manager/target_board.h"
#include "manager/target_conditions.h"
#include "manager/writer.h"
#include "select/selection.h"

namespace kollect::manager {

struct TargetOptions {
  base::Duration count_resync = std::chrono::seconds(60);
  std::vector<std::string> default_included;
  std::vector<std::string> default_excluded;
  std::vector<std::string> watch_namespaces;
  extract::Options extract;
  bool tenant_mode = false;
};

/// Looks at one target at a time: registers it with the collector, and tells in the status what
/// became of it. Thread-safe for different keys.
class TargetController {
 public:
  TargetController(TenantCaches caches, ObjectCache<api::Target>& targets, SinkRegistry& sinks,
                   collector::Collector& collector, TargetBoard& board, Writer& writer,
                   const base::Clock& clock, const base::Logger* log, TargetOptions options)
      : caches_(caches),
        targets_(targets),
        sinks_(sinks),
        collector_(collector),
        board_(board),
        writer_(writer),
        clock_(clock),
        log_(log),
        options_(std::move(options)) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);

  /// Told when a target's phase changed: inventories of the namespace wait for it. Of one that
  /// becomes unreadable its rows are there still.
  void on_phase(std::function<void(const Key&)> listener) { on_phase_ = std::move(listener); }

 private:
  using Ptr = ObjectCache<api::Target>::Ptr;
  using ProfilePtr = ObjectCache<api::Profile>::Ptr;
  using ScopePtr = ObjectCache<api::Scope>::Ptr;

  base::Result<std::optional<base::Duration>> live(const base::Context& context, const Ptr& target,
                                                   const Subject& subject);
  /// Registers with the collector, or says why not; fills the filter fields of the status.
  std::optional<base::Error> collect(const Ptr& target, StatusDraft& draft, TargetFacts& facts,
                                     TargetPhase& phase);
  /// `namespaces`: null for kinds that have none.
  std::optional<base::Error> check_scope(const Ptr& target, const ScopePtr& scope,
                                         const select::Selection& selection,
                                         const select::NamespaceResult* namespaces) const;
  void check_sinks(const base::Context& context, const std::string& ns, TargetFacts& facts);
  void read_signals(const Ptr& target, StatusDraft& draft, TargetFacts& facts,
                    TargetStanding& standing);
  void set_standing(const Key& key, TargetStanding standing, std::uint64_t as_of = UINT64_MAX);
  [[nodiscard]] select::NamespaceLimits limits(const ScopePtr& scope) const;

  TenantCaches caches_;
  ObjectCache<api::Target>& targets_;
  SinkRegistry& sinks_;
  collector::Collector& collector_;
  TargetBoard& board_;
  Writer& writer_;
  const base::Clock& clock_;
  const base::Logger* log_;
  TargetOptions options_;
  std::function<void(const Key&)> on_phase_;
};

}  // namespace kollect::manager
