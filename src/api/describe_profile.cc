// KollectProfile (spec: crds 5.1).
#include "api/describe.h"

namespace kollect::api {

template <>
const Shape<Attribute>& shape<Attribute>() {
  static const Shape<Attribute> kShape([](Shape<Attribute>& s) {
    s.field("name", &Attribute::name, "Key under which the value stands in the row.").required();
    s.field("optional", &Attribute::optional,
            "When true, a value that is missing or cannot be evaluated is left out. When false or "
            "not given, an "
            "evaluation error refuses the whole object, and a missing value is null.");
    s.field("path", &Attribute::path,
            "Where the value comes from: a JSONPath such as $.spec.replicas, a CEL expression "
            "behind cel:, or a "
            "field of a Helm release behind helm:release.")
        .required();
    s.field("type", &Attribute::type,
            "Type that readers can expect, such as string, int, bool, list or map. Values are not "
            "converted.");
  });
  return kShape;
}

template <>
const Shape<Prune>& shape<Prune>() {
  static const Shape<Prune> kShape([](Shape<Prune>& s) {
    s.field("cel", &Prune::cel,
            "CEL conditions on (path, value) that cut members. Older releases ignore them.");
    s.field("defaults", &Prune::defaults,
            "Cut what every object carries and nobody compares: managedFields, resourceVersion, "
            "generation and the "
            "bookkeeping annotations of kubectl and Argo CD. On unless false.");
    s.field("jqPathExpressions", &Prune::jq_path_expressions,
            "What to cut in the spelling of Argo CD, such as "
            ".spec.template.spec.containers[] | select(.name == \"sidecar\").");
    s.field("jsonPaths", &Prune::json_paths,
            "Paths to cut, such as $.spec.template.metadata.annotations.");
    s.field("jsonPointers", &Prune::json_pointers,
            "RFC 6901 pointers to cut, such as /spec/replicas.");
    s.field("preset", &Prune::preset,
            "What is cut before all else, instead of defaults: nothing, what every object carries "
            "(kubernetes), that and the marks of delivery tools (gitops), that and what changes "
            "while an object stays the same (quiet).")
        .one_of({"none", "kubernetes", "gitops", "quiet"});
    s.field("scrubKeys", &Prune::scrub_keys,
            "More key names whose values are masked at any depth, whatever their case, beside "
            "those of the operator.");
  });
  return kShape;
}

template <>
const Shape<ExportSpec>& shape<ExportSpec>() {
  static const Shape<ExportSpec> kShape([](Shape<ExportSpec>& s) {
    s.field("as", &ExportSpec::as, "Attribute key under which the embedded object stands.")
        .defaults("resource");
    s.field("dedupeIdentity", &ExportSpec::dedupe_identity,
            "Leave name, namespace and uid out of the embedded object, since the row has them. On "
            "unless false.");
    s.field("include", &ExportSpec::include,
            "Sections of the object that are kept. apiVersion and kind always are.")
        .defaults("SpecAndStatus")
        .one_of({"MetadataOnly", "SpecOnly", "StatusOnly", "SpecAndStatus", "All"});
    s.field("mode", &ExportSpec::mode,
            "Attributes exports the attributes alone, Resource embeds a pruned copy of the object "
            "as well.")
        .defaults("Attributes")
        .one_of({"Attributes", "Resource"});
    s.field("prune", &ExportSpec::prune, "What is cut from the embedded object.");
  });
  return kShape;
}

template <>
const Shape<Metric>& shape<Metric>() {
  static const Shape<Metric> kShape([](Shape<Metric>& s) {
    s.field("labels", &Metric::labels, "Attributes that become labels of the series, five at most.")
        .set();
    s.field("name", &Metric::name, "Name of the series within the profile.").required();
    s.field("path", &Metric::path,
            "Name of the attribute whose numbers are summed, or a path into the exported object, "
            "such as "
            "resource.spec.replicas.")
        .required();
  });
  return kShape;
}

template <>
const Shape<ProfileSpec>& shape<ProfileSpec>() {
  static const Shape<ProfileSpec> kShape([](Shape<ProfileSpec>& s) {
    s.field("attributes", &ProfileSpec::attributes, "Values to read from each object.")
        .map_by("name");
    s.field("export", &ProfileSpec::export_spec,
            "Embedding of whole objects. When left out, rows hold the attributes alone.");
    s.field("metrics", &ProfileSpec::metrics,
            "Prometheus series made from attributes. When empty, every numeric attribute is summed "
            "under its name.")
        .map_by("name");
    s.field("targetGVK", &ProfileSpec::target_gvk, "Kind that the profile reads.").required();
  });
  return kShape;
}

}  // namespace kollect::api
