// KollectScope, KollectClusterScope and KollectConnectionTest (spec: crds 3.11, 5.7, 5.8, 5.11).
#include "api/describe.h"

namespace kollect::api {

namespace {

template <class T>
void add_ceiling(Shape<T>& s) {
  s.field("allowResourceExport", &T::allow_resource_export,
          "Whether profiles of export mode Resource may be used. Yes unless false.");
  s.field("allowedGVKs", &T::allowed_gvks,
          "Kinds that may be collected, whatever their case. Empty: all kinds.")
      .atomic_list();
  s.field("allowedNamespaces", &T::allowed_namespaces,
          "Namespaces that may be collected. Empty: all.")
      .set();
  s.field("databaseSinkRefs", &T::database_sink_refs,
          "Database sinks that may be exported to. Empty: all.")
      .set();
  s.field("deniedNamespaces", &T::denied_namespaces, "Namespaces that may never be collected.")
      .set();
  s.field("eventSinkRefs", &T::event_sink_refs, "Event sinks that may be exported to. Empty: all.")
      .set();
  s.field("minExportInterval", &T::min_export_interval,
          "Floor of the export intervals, from 0s to 24h.")
      .duration();
  s.field("snapshotSinkRefs", &T::snapshot_sink_refs,
          "Snapshot sinks that may be exported to. Empty: all.")
      .set();
}

}  // namespace

template <>
const Shape<ScopeSpec>& shape<ScopeSpec>() {
  static const Shape<ScopeSpec> kShape([](Shape<ScopeSpec>& s) { add_ceiling(s); });
  return kShape;
}

template <>
const Shape<ClusterScopeSpec>& shape<ClusterScopeSpec>() {
  static const Shape<ClusterScopeSpec> kShape([](Shape<ClusterScopeSpec>& s) {
    add_ceiling(s);
    s.field("allowedStaticRefNamespaces", &ClusterScopeSpec::allowed_static_ref_namespaces,
            "Namespaces whose profiles and sinks cluster-scoped kinds may name. Empty: all.")
        .set();
  });
  return kShape;
}

template <>
const Shape<ConnectionTestSinkRef>& shape<ConnectionTestSinkRef>() {
  static const Shape<ConnectionTestSinkRef> kShape([](Shape<ConnectionTestSinkRef>& s) {
    s.field("databaseSinkRef", &ConnectionTestSinkRef::database_sink_ref,
            "A KollectDatabaseSink of this namespace.");
    s.field("eventSinkRef", &ConnectionTestSinkRef::event_sink_ref,
            "A KollectEventSink of this namespace.");
    s.field("snapshotSinkRef", &ConnectionTestSinkRef::snapshot_sink_ref,
            "A KollectSnapshotSink of this namespace.");
  });
  return kShape;
}

template <>
const Shape<ConnectionTestSpec>& shape<ConnectionTestSpec>() {
  static const Shape<ConnectionTestSpec> kShape([](Shape<ConnectionTestSpec>& s) {
    s.field("ownerSink", &ConnectionTestSpec::owner_sink,
            "Let the sink own this object, so that it goes when the sink goes. On unless false.");
    s.field("profileRef", &ConnectionTestSpec::profile_ref,
            "A profile of this namespace. Reserved.");
    s.field("sinkRef", &ConnectionTestSpec::sink_ref,
            "The sink to probe: exactly one of the members.")
        .required();
    s.field("ttlSecondsAfterFinished", &ConnectionTestSpec::ttl_seconds_after_finished,
            "Seconds after the probe at which this object is deleted. 0: at once.")
        .defaults(300)
        .range(0)
        .format("int32");
  });
  return kShape;
}

}  // namespace kollect::api
