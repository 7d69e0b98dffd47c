// Paths of the read API (spec: runtime 13.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kollect::readapi {

enum class Route {
  kMeta,
  kInventory,
  kInventoryOf,
  kClusterInventory,
  kInventoryWatch,
  kChanges,
  kChangesWatch,
  kHistory,
  kGroups,
  kExport,
  kClusters,
  kInventories,
  kStatus,
  kOverview,
  kFleet,
  kDescription,
  kConsole,
  kRoot,
  kHealth,
  kReady,
};

struct Routed {
  Route route = Route::kRoot;
  std::string ns = {};    ///< of kInventoryOf
  std::string name = {};  ///< of an inventory; of kStatus what is listed; of kConsole and kFleet
                          ///< the rest of the path; of kDescription "yaml" or "json"
};

/// Of a path as it was sent, still percent-encoded. None: there is nothing at that path.
std::optional<Routed> route_of(std::string_view path);

}  // namespace kollect::readapi
