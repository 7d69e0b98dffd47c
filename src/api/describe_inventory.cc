// KollectInventory and KollectClusterInventory (spec: crds 5.3, 5.10).
#include "api/describe.h"

namespace kollect::api {

namespace {

constexpr const char* kIntervalDoc =
    "Least time between two exports of an unchanged inventory, for sinks and references that set "
    "none of their own. "
    "A changed inventory is exported at once. Between 0s and 24h.";

}  // namespace

template <>
const Shape<HttpEndpoint>& shape<HttpEndpoint>() {
  static const Shape<HttpEndpoint> kShape([](Shape<HttpEndpoint>& s) {
    s.field("enabled", &HttpEndpoint::enabled, "Show a summary of this inventory over HTTP.");
    s.field("port", &HttpEndpoint::port, "Port of the summary.").range(1, 65535).format("int32");
  });
  return kShape;
}

template <>
const Shape<InventorySpec>& shape<InventorySpec>() {
  static const Shape<InventorySpec> kShape([](Shape<InventorySpec>& s) {
    s.field("databaseSinkRefs", &InventorySpec::database_sink_refs,
            "Database sinks of this namespace that get the inventory: names, or objects with "
            "settings.");
    s.field(
        "eventSinkRefs", &InventorySpec::event_sink_refs,
        "Event sinks of this namespace that get the inventory: names, or objects with settings.");
    s.field("exportMinInterval", &InventorySpec::export_min_interval, kIntervalDoc)
        .defaults("30s")
        .duration();
    s.field("httpEndpoint", &InventorySpec::http_endpoint,
            "HTTP summary of this inventory. Reserved.");
    s.field("maxExportBytes", &InventorySpec::max_export_bytes,
            "Largest size of one export in bytes for references that set none. When left out, the "
            "limit of the "
            "operator.")
        .format("int64");
    s.field("snapshotSinkRefs", &InventorySpec::snapshot_sink_refs,
            "Snapshot sinks of this namespace that get the inventory: names, or objects with "
            "settings.");
    s.field("suspend", &InventorySpec::suspend, "True stops aggregation and export.");
  });
  return kShape;
}

template <>
const Shape<ClusterInventorySpec>& shape<ClusterInventorySpec>() {
  using C = ClusterInventorySpec;
  static const Shape<C> kShape([](Shape<C>& s) {
    s.field("databaseSinkRefs", &C::database_sink_refs,
            "Database sinks that get the rollup: names, or objects with settings.");
    s.field("dedupe", &C::dedupe,
            "keepAll keeps a row per target and object, byResourceUID one row per object.")
        .defaults("keepAll")
        .one_of({"keepAll", "byResourceUID"});
    s.field("eventSinkRefs", &C::event_sink_refs,
            "Event sinks that get the rollup: names, or objects with settings.");
    s.field("exportMinInterval", &C::export_min_interval, kIntervalDoc).defaults("30s").duration();
    s.field("namespaceSelector", &C::namespace_selector,
            "Labels of the namespaces whose rows are rolled up. Needed when namespaces is empty.")
        .atomic();
    s.field("namespaces", &C::namespaces,
            "Namespaces whose rows are rolled up, as far as namespaceSelector fits them too.")
        .set()
        .item_pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63);
    s.field("profileRef", &C::profile_ref,
            "Profile of this rollup. Reserved; checked, but not used.");
    s.field("sinkNamespace", &C::sink_namespace, "Namespace of sinks whose reference names none.")
        .defaults("kollect-system");
    s.field("snapshotSinkRefs", &C::snapshot_sink_refs,
            "Snapshot sinks that get the rollup: names, or objects with settings.");
    s.field("suspend", &C::suspend, "True stops rollup and export.");
    s.field("targetRefs", &C::target_refs,
            "Names of the cluster targets to roll up. Empty: those that targetSelector fits.");
    s.field("targetSelector", &C::target_selector,
            "Labels of the cluster targets to roll up. When left out, all. Does not count beside "
            "targetRefs.")
        .atomic();
  });
  return kShape;
}

}  // namespace kollect::api
