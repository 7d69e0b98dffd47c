#include "readapi/routes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::readapi {
namespace {

constexpr std::array<std::pair<std::string_view, Route>, 17> kPaths = {{
    {"/v1alpha1/meta", Route::kMeta},
    {"/v1alpha1/inventory", Route::kInventory},
    {"/v1alpha1/inventory/watch", Route::kInventoryWatch},
    {"/inventory", Route::kInventory},  // deprecated spellings
    {"/inventory/watch", Route::kInventoryWatch},
    {"/v1alpha1/changes", Route::kChanges},
    {"/v1alpha1/changes/watch", Route::kChangesWatch},
    {"/v1alpha1/history", Route::kHistory},
    {"/v1alpha1/groups", Route::kGroups},
    {"/v1alpha1/export", Route::kExport},
    {"/v1alpha1/clusters", Route::kClusters},
    {"/v1alpha1/inventories", Route::kInventories},
    {"/v1alpha1/overview", Route::kOverview},
    {"/", Route::kRoot},
    {"/ui", Route::kRoot},
    {"/healthz", Route::kHealth},
    {"/readyz", Route::kReady},
}};

constexpr std::array<std::string_view, 7> kStatusLists = {
    "inventories", "targets", "clusterinventories", "clustertargets", "sinks",
    "profiles",    "scopes"};

/// What stands behind a prefix.
std::optional<std::string_view> behind(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return std::nullopt;
  return path.substr(prefix.size());
}

/// A segment that names an object; none for one that cannot.
std::optional<std::string> object_name(std::string_view segment) {
  auto name = base::percent_decode(segment);
  if (!name || !base::is_dns1123_subdomain(*name)) return std::nullopt;
  return std::move(*name);
}

std::optional<Routed> inventory_of(std::string_view rest) {
  const auto parts = base::split(rest, '/');
  if (parts.size() != 2) return std::nullopt;
  auto ns = object_name(parts[0]);
  auto name = object_name(parts[1]);
  if (!ns || !name) return std::nullopt;
  return Routed{.route = Route::kInventoryOf, .ns = std::move(*ns), .name = std::move(*name)};
}

}  // namespace

std::optional<Routed> route_of(std::string_view path) {
  const auto* const known =
      std::ranges::find(kPaths, path, [](const auto& one) { return one.first; });
  if (known != kPaths.end()) return Routed{.route = known->second};
  if (const auto rest = behind(path, "/v1alpha1/inventory/")) return inventory_of(*rest);
  if (const auto rest = behind(path, "/v1alpha1/clusterinventory/")) {
    auto name = object_name(*rest);
    if (!name) return std::nullopt;
    return Routed{.route = Route::kClusterInventory, .name = std::move(*name)};
  }
  if (const auto rest = behind(path, "/v1alpha1/status/")) {
    if (std::ranges::find(kStatusLists, *rest) == kStatusLists.end()) return std::nullopt;
    return Routed{.route = Route::kStatus, .name = std::string(*rest)};
  }
  if (const auto rest = behind(path, "/openapi/v1alpha1/inventory.")) {
    if (*rest != "yaml" && *rest != "json") return std::nullopt;
    return Routed{.route = Route::kDescription, .name = std::string(*rest)};
  }
  if (const auto rest = behind(path, "/ui/")) {
    return Routed{.route = Route::kConsole, .name = std::string(*rest)};
  }
  if (const auto rest = behind(path, "/fleet/")) {
    return Routed{.route = Route::kFleet, .name = "/" + std::string(*rest)};
  }
  return std::nullopt;
}

}  // namespace kollect::readapi
