// Shapes that several kinds use (spec: crds 3.2 to 3.6, 3.8).
#include "api/describe.h"

namespace kollect::api {

template <>
const Shape<Metadata>& shape<Metadata>() {
  static const Shape<Metadata> kShape([](Shape<Metadata>& s) {
    s.field("name", &Metadata::name, "");
    s.field("namespace", &Metadata::ns, "");
    s.field("uid", &Metadata::uid, "");
    s.field("labels", &Metadata::labels, "");
    s.field("annotations", &Metadata::annotations, "");
    s.field("generation", &Metadata::generation, "");
    s.field("deletionTimestamp", &Metadata::deletion_timestamp, "");
  });
  return kShape;
}

template <>
const Shape<GroupVersionKind>& shape<GroupVersionKind>() {
  static const Shape<GroupVersionKind> kShape([](Shape<GroupVersionKind>& s) {
    s.field("group", &GroupVersionKind::group, "API group. Leave it out for the core group.");
    s.field("kind", &GroupVersionKind::kind, "Kind in CamelCase, such as Deployment.").required();
    s.field("version", &GroupVersionKind::version, "API version, such as v1.").required();
  });
  return kShape;
}

template <>
const Shape<LabelSelectorRequirement>& shape<LabelSelectorRequirement>() {
  static const Shape<LabelSelectorRequirement> kShape([](Shape<LabelSelectorRequirement>& s) {
    s.field("key", &LabelSelectorRequirement::key, "Label that the requirement tests.").required();
    s.field("operator", &LabelSelectorRequirement::op, "One of In, NotIn, Exists and DoesNotExist.")
        .required();
    s.field(
         "values", &LabelSelectorRequirement::values,
         "Values to compare with. In and NotIn need at least one, the other operators take none.")
        .atomic_list();
  });
  return kShape;
}

template <>
const Shape<LabelSelector>& shape<LabelSelector>() {
  static const Shape<LabelSelector> kShape([](Shape<LabelSelector>& s) {
    s.field("matchExpressions", &LabelSelector::match_expressions,
            "Label requirements; all of them must hold, and matchLabels too.")
        .atomic_list();
    s.field("matchLabels", &LabelSelector::match_labels,
            "Labels that must be there with exactly these values.");
  });
  return kShape;
}

template <>
const Shape<SecretReference>& shape<SecretReference>() {
  static const Shape<SecretReference> kShape([](Shape<SecretReference>& s) {
    s.field("name", &SecretReference::name, "Name of the Secret.").required();
    s.field("namespace", &SecretReference::ns,
            "Namespace of the Secret. When left out, the namespace of the object that holds this "
            "reference.");
  });
  return kShape;
}

template <>
const Shape<ObjectReference>& shape<ObjectReference>() {
  static const Shape<ObjectReference> kShape([](Shape<ObjectReference>& s) {
    s.field("name", &ObjectReference::name, "Name of the object.").required();
    s.field("namespace", &ObjectReference::ns,
            "Namespace of the object. Cluster-scoped kinds must give it.");
  });
  return kShape;
}

template <>
const Shape<SinkReference>& shape<SinkReference>() {
  static const Shape<SinkReference> kShape([](Shape<SinkReference>& s) {
    s.or_name(&SinkReference::name);
    s.field("exportMinInterval", &SinkReference::export_min_interval,
            "Least time between two exports of an unchanged inventory to this sink, such as 30s or "
            "1h. 0s: never "
            "export an unchanged inventory again.")
        .duration();
    s.field("maxExportBytes", &SinkReference::max_export_bytes,
            "Largest size of one export to this sink in bytes; more is split into parts. At least "
            "1 and at most the "
            "limit of the operator.")
        .format("int64");
    s.field("name", &SinkReference::name, "Name of the sink.").required();
    s.field("namespace", &SinkReference::ns,
            "Namespace of the sink. Only cluster inventories may set it; they fall back to "
            "spec.sinkNamespace.");
  });
  return kShape;
}

}  // namespace kollect::api
