// KollectTarget and KollectClusterTarget (spec: crds 3.8, 5.2, 5.9).
#include "api/describe.h"

namespace kollect::api {

namespace {

/// The collection filter that both kinds carry directly under spec.
template <class T>
void add_filter(Shape<T>& s) {
  s.field("excludedNamespaces", &T::excluded_namespaces,
          "Namespaces that are never looked at, beside those that the operator excludes.")
      .set();
  s.field("includedNamespaces", &T::included_namespaces,
          "Namespaces to look at, as far as namespaceSelector fits them too. Empty: no such limit.")
      .set();
  s.field("namespaceExcludeSelector", &T::namespace_exclude_selector,
          "Namespaces with these labels are left out.")
      .atomic();
  s.field("resourceRules", &T::resource_rules,
          "Rules of which an object must fit one. When there are any, labelSelector and names do "
          "not count.")
      .atomic_list();
}

}  // namespace

template <>
const Shape<ResourceRule>& shape<ResourceRule>() {
  static const Shape<ResourceRule> kShape([](Shape<ResourceRule>& s) {
    s.field("gvk", &ResourceRule::gvk, "Kind that the rule is about.").required();
    s.field("matchExpressions", &ResourceRule::match_expressions,
            "Label requirements that the object must meet, all of them, and matchLabels too.");
    s.field("matchLabels", &ResourceRule::match_labels, "Labels that the object must have.");
    s.field("matchPolicy", &ResourceRule::match_policy,
            "CEL condition on the variable object, without a prefix. Objects for which it is not "
            "true are left out.");
    s.field("namespaceSelector", &ResourceRule::namespace_selector,
            "Limits the rule to namespaces with these labels.")
        .atomic();
  });
  return kShape;
}

template <>
const Shape<TargetSpec>& shape<TargetSpec>() {
  static const Shape<TargetSpec> kShape([](Shape<TargetSpec>& s) {
    add_filter(s);
    s.field("labelSelector", &TargetSpec::label_selector,
            "Labels that an object must have. Counts only without resourceRules.")
        .atomic();
    s.field("names", &TargetSpec::names,
            "Exact names of the objects to take. Counts only without resourceRules.");
    s.field("namespaceSelector", &TargetSpec::namespace_selector,
            "Labels of the namespaces to look at. When left out, every namespace that the operator "
            "watches.")
        .atomic();
    s.field("profileRef", &TargetSpec::profile_ref,
            "Name of the KollectProfile, in the same namespace.")
        .required();
    s.field("suspend", &TargetSpec::suspend,
            "True stops the collection and drops the rows of this target.");
    s.field(
         "watchMode", &TargetSpec::watch_mode,
         "All takes every object that is not opted out, OptIn only those that are labelled for it.")
        .defaults("All")
        .one_of({"All", "OptIn"});
  });
  return kShape;
}

template <>
const Shape<ClusterTargetSpec>& shape<ClusterTargetSpec>() {
  static const Shape<ClusterTargetSpec> kShape([](Shape<ClusterTargetSpec>& s) {
    add_filter(s);
    s.field("namespaceSelector", &ClusterTargetSpec::namespace_selector,
            "Labels of the namespaces to look at. It must be there and must not be empty.")
        .atomic();
    s.field("profileRef", &ClusterTargetSpec::profile_ref,
            "The KollectProfile to use, by name and namespace.")
        .required();
    s.field("suspend", &ClusterTargetSpec::suspend,
            "True stops the collection and drops the rows of this target.");
  });
  return kShape;
}

}  // namespace kollect::api
