#include "readapi/request.h"

#include <algorithm>

namespace kollect::readapi {
namespace {

constexpr const char* kInventories = "kollectinventories";
/// Where sinks have what cluster inventories export.
constexpr const char* kClusterPlace = "cluster";

void settle_rows(Call& call) {
  RowFilter& filter = call.query.filter;
  if (call.routed.route == Route::kInventoryOf) {
    filter.inventory_namespace = call.routed.ns;
    filter.inventory = call.routed.name;
    filter.ns.clear();
  } else if (call.routed.route == Route::kClusterInventory) {
    filter.inventory_namespace = kClusterPlace;
    filter.inventory = call.routed.name;
    filter.cluster_inventory = true;
    call.wish = {
        .verb = "get", .resource = "kollectclusterinventories", .ns = {}, .name = call.routed.name};
    return;
  } else if (!filter.inventory.empty() && filter.inventory_namespace.empty()) {
    // Its rows are those of the targets of its namespace.
    filter.inventory_namespace = std::exchange(filter.ns, {});
  }
  if (!filter.inventory.empty()) {
    call.wish = {.verb = "get",
                 .resource = kInventories,
                 .ns = filter.inventory_namespace,
                 .name = filter.inventory};
    return;
  }
  call.wish = {.verb = "list",
               .resource = kInventories,
               .ns = filter.ns.empty() ? filter.inventory_namespace : filter.ns,
               .name = {}};
}

}  // namespace

Sight Call::narrow_sight() const {
  Sight sight = verdict.sight;
  const RowFilter& filter = query.filter;
  const std::string& ns = filter.ns.empty() ? filter.inventory_namespace : filter.ns;
  if (!ns.empty()) {
    const bool seen =
        !sight.namespaces || std::ranges::find(*sight.namespaces, ns) != sight.namespaces->end();
    sight.namespaces = seen ? std::vector<std::string>{ns} : std::vector<std::string>{};
  }
  if (!filter.cluster.empty()) {
    const bool seen = !sight.clusters ||
                      std::ranges::find(*sight.clusters, filter.cluster) != sight.clusters->end();
    sight.clusters = seen ? std::vector<std::string>{filter.cluster} : std::vector<std::string>{};
  }
  return sight;
}

base::Result<> settle(Call& call) {
  // What a fleet API is asked is its own business.
  if (call.routed.route == Route::kFleet) return {};
  KL_ASSIGN(call.query, read_query(call.parameters));
  switch (call.routed.route) {
    case Route::kMeta:
    case Route::kStatus:
      return {};  // each asks for itself
    default:
      settle_rows(call);
  }
  const RowFilter& filter = call.query.filter;
  if (!filter.inventory.empty() && filter.inventory_namespace.empty()) {
    return base::configuration("inventory needs namespace beside it", "BadRequest");
  }
  return {};
}

}  // namespace kollect::readapi
