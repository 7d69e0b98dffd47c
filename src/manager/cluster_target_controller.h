// KollectClusterTarget (spec: runtime 7.2).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "collector/collector.h"
#include "manager/cluster_target_board.h"
#include "manager/object_cache.h"
#include "manager/status_draft.h"
#include "manager/target_conditions.h"
#include "manager/target_controller.h"
#include "manager/writer.h"
#include "select/selection.h"

namespace kollect::manager {

/// What the controllers of the cluster-scoped kinds read.
struct PlatformCaches {
  const ObjectCache<api::Profile>& profiles;
  ObjectCache<api::ClusterTarget>& targets;
  const ObjectCache<api::ClusterScope>& scopes;
};

/// Looks at one cluster target at a time: registers it with the collector, which keeps its rows in
/// an owner class of their own, and tells in the status what became of it. Thread-safe for
/// different keys.
class ClusterTargetController {
 public:
  ClusterTargetController(PlatformCaches caches, collector::Collector& collector,
                          ClusterTargetBoard& board, Writer& writer, const base::Clock& clock,
                          TargetOptions options)
      : caches_(caches),
        collector_(collector),
        board_(board),
        writer_(writer),
        clock_(clock),
        options_(std::move(options)) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);

  /// Told when the board says something else: cluster inventories depend on it. `leaves`: the
  /// target's rows go right after the call.
  void on_standing(std::function<void(const std::string& target, bool leaves)> listener) {
    on_standing_ = std::move(listener);
  }

 private:
  using Ptr = ObjectCache<api::ClusterTarget>::Ptr;
  using ProfilePtr = ObjectCache<api::Profile>::Ptr;

  base::Result<std::optional<base::Duration>> live(const base::Context& context, const Ptr& target,
                                                   const Subject& subject);
  /// Registers with the collector, or says why not; fills the filter fields of the status.
  std::optional<base::Error> collect(const Ptr& target, StatusDraft& draft, TargetFacts& facts,
                                     ClusterTargetStanding& standing);
  /// Where the target collects, as far as that is known.
  void tell_where(const std::vector<api::GroupVersionKind>& kinds,
                  const std::vector<std::string>& effective, ClusterTargetStanding& standing) const;
  /// What the collector says of it.
  void read_signals(const std::string& name, TargetFacts& facts, ClusterTargetStanding& standing);
  void set_standing(const std::string& name, ClusterTargetStanding standing, bool leaves,
                    std::uint64_t as_of = UINT64_MAX);
  base::Result<ProfilePtr> profile_of(const api::ClusterTargetSpec& spec) const;

  PlatformCaches caches_;
  collector::Collector& collector_;
  ClusterTargetBoard& board_;
  Writer& writer_;
  const base::Clock& clock_;
  TargetOptions options_;
  std::function<void(const std::string&, bool)> on_standing_;
};

}  // namespace kollect::manager
