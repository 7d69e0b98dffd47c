// Which cluster targets and namespaces a KollectClusterInventory has (spec: selection 12.2).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "inventory/row_store.h"
#include "manager/cluster_target_board.h"
#include "manager/object_cache.h"
#include "select/selection.h"

namespace kollect::manager {

/// What there is to choose from.
struct RollupWorld {
  /// By name; those that are being deleted are none.
  std::vector<ObjectCache<api::ClusterTarget>::Ptr> targets;
  std::function<ClusterTargetStanding(const std::string&)> standing;
  /// Null: namespaces cannot be listed, for this reason.
  const select::Namespaces* namespaces = nullptr;
  std::string why_unknown = {};
};

struct Rollup {
  /// None: all that there are, present and future.
  std::optional<std::vector<std::string>> namespaces = {};
  std::vector<std::string> targets = {};   ///< that take part, sorted
  std::vector<std::string> waiting = {};   ///< of these: first lists are on their way
  std::vector<std::string> degraded = {};  ///< of these
  std::vector<std::string> missing = {};   ///< named, but not there (L-21)
};

/// Errors: a selector that does not compile, or that needs labels nobody may read; with reason
/// InformerRegistrationFailed.
base::Result<Rollup> roll_up(const api::ClusterInventorySpec& spec, const RollupWorld& world);

/// The rows of the rollup: of its targets in its namespaces, and those without namespace (L-22).
std::function<bool(const inventory::Owner&)> rows_of(const Rollup& rollup);
/// Equal texts: equal answers of rows_of().
std::string key_of(const Rollup& rollup);

}  // namespace kollect::manager
