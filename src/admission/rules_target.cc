// KollectTarget (T1 to T8) and KollectClusterTarget (B1 to B8) (spec: crds 5.2, 5.9).
#include <algorithm>
#include <set>

#include "admission/checks.h"
#include "admission/rules.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

bool same_kind(const api::GroupVersionKind& a, const api::GroupVersionKind& b) {
  return base::iequals(a.group, b.group) && base::iequals(a.version, b.version) &&
         base::iequals(a.kind, b.kind);
}

std::string text_of(const api::GroupVersionKind& gvk) {
  return gvk.group.empty() ? fmt::format("{} {}", gvk.version, gvk.kind)
                           : fmt::format("{}/{} {}", gvk.group, gvk.version, gvk.kind);
}

/// T6: the first kind that the scope does not allow. Kinds are those of the rules, else the
/// profile's; a profile that does not exist yet is passed over.
std::optional<std::string> kind_refusal(const api::ScopeSpec& scope, const std::string& scope_name,
                                        const api::CollectionFilter& filter,
                                        const std::optional<api::Profile>& profile) {
  if (scope.allowed_gvks.empty()) {
    return std::nullopt;
  }
  std::vector<api::GroupVersionKind> kinds;
  for (const api::ResourceRule& rule : filter.resource_rules) {
    kinds.push_back(rule.gvk);
  }
  if (kinds.empty() && profile) {
    kinds.push_back(profile->spec.target_gvk);
  }
  for (const api::GroupVersionKind& kind : kinds) {
    if (std::none_of(
            scope.allowed_gvks.begin(), scope.allowed_gvks.end(),
            [&](const api::GroupVersionKind& allowed) { return same_kind(allowed, kind); })) {
      return fmt::format("scope {} does not allow kind {}", scope_name, text_of(kind));
    }
  }
  return std::nullopt;
}

/// T7 and T8: the first included namespace that the scope denies, else the first that it does not
/// allow.
std::optional<std::string> namespace_refusal(const api::ScopeSpec& scope,
                                             const std::string& scope_name,
                                             const std::vector<std::string>& included) {
  const std::set<std::string> denied(scope.denied_namespaces.begin(),
                                     scope.denied_namespaces.end());
  const std::set<std::string> allowed(scope.allowed_namespaces.begin(),
                                      scope.allowed_namespaces.end());
  for (const std::string& entry : included) {
    const std::string ns(base::trim(entry));
    if (!ns.empty() && denied.contains(ns)) {
      return fmt::format("scope {} denies namespace {}", scope_name, ns);
    }
  }
  for (const std::string& entry : included) {
    const std::string ns(base::trim(entry));
    if (!ns.empty() && !allowed.empty() && !allowed.contains(ns)) {
      return fmt::format("scope {} does not allow namespace {}", scope_name, ns);
    }
  }
  return std::nullopt;
}

/// Whole objects where a scope forbids them (spec: extraction 7). A profile that does not exist yet
/// is passed over.
void check_resource_export(Findings& findings, const api::ScopeSpec& scope,
                           const std::string& scope_name,
                           const std::optional<api::Profile>& profile) {
  if (scope.allow_resource_export.value_or(true) || !profile || !profile->spec.export_spec ||
      profile->spec.export_spec->mode != "Resource") {
    return;
  }
  findings.forbidden("spec.profileRef",
                     fmt::format("profile {} exports whole objects, which scope {} does not allow",
                                 profile->metadata.name, scope_name));
}

/// T2 to T4 and the selectors that both kinds have (selection L-11).
void check_filter(Findings& findings, const api::CollectionFilter& filter,
                  const std::optional<api::LabelSelector>& namespace_selector) {
  check_unique(findings, "spec.includedNamespaces", filter.included_namespaces);
  check_unique(findings, "spec.excludedNamespaces", filter.excluded_namespaces);
  check_resource_rules(findings, filter.resource_rules);
  check_selector(findings, "spec.namespaceSelector", namespace_selector);
  check_selector(findings, "spec.namespaceExcludeSelector", filter.namespace_exclude_selector);
}

/// Plain denial of the first reason, if there is one.
bool deny(Findings& findings, const std::optional<std::string>& reason) {
  if (reason) {
    findings.plain(*reason);
  }
  return reason.has_value();
}

}  // namespace

void check_target(Findings& findings, const api::Target& target, const RuleContext& context) {
  const api::TargetSpec& spec = target.spec;
  check_name_ref(findings, "spec.profileRef", spec.profile_ref);
  check_filter(findings, spec, spec.namespace_selector);
  check_selector(findings, "spec.labelSelector", spec.label_selector);
  if (!findings.clean()) {
    return;
  }
  if (!spec.watch_mode.empty() && spec.watch_mode != "All" && spec.watch_mode != "OptIn") {
    findings.plain(
        fmt::format("watchMode \"{}\" is not supported; use All or OptIn", spec.watch_mode));
    return;
  }
  const std::string ns = target.metadata.ns.empty() ? "default" : target.metadata.ns;
  if (const auto scope = found(findings, context.lookup.scope(ns))) {
    const auto profile = found(findings, context.lookup.profile(ns, spec.profile_ref));
    const std::string& name = scope->metadata.name;
    if (!deny(findings, kind_refusal(scope->spec, name, spec, profile)) &&
        !deny(findings, namespace_refusal(scope->spec, name, spec.included_namespaces))) {
      check_resource_export(findings, scope->spec, name, profile);
    }
  }
}

void check_cluster_target(Findings& findings, const api::ClusterTarget& target,
                          const RuleContext& context) {
  const api::ClusterTargetSpec& spec = target.spec;
  check_object_ref(findings, "spec.profileRef", spec.profile_ref);
  if (!spec.namespace_selector || spec.namespace_selector->empty()) {
    findings.required("spec.namespaceSelector", "must be given and must not be empty");
  }
  check_filter(findings, spec, spec.namespace_selector);
  if (!findings.clean()) {
    return;
  }
  const auto scope = found(findings, context.lookup.cluster_scope());
  if (!scope) {
    return;
  }
  const std::string& name = scope->metadata.name;
  const auto profile =
      found(findings, context.lookup.profile(spec.profile_ref.ns, spec.profile_ref.name));
  if (deny(findings, kind_refusal(scope->spec, name, spec, profile)) ||
      deny(findings, namespace_refusal(scope->spec, name, spec.included_namespaces))) {
    return;
  }
  const auto& statics = scope->spec.allowed_static_ref_namespaces;
  if (!statics.empty() &&
      std::find(statics.begin(), statics.end(), spec.profile_ref.ns) == statics.end()) {
    findings.plain(fmt::format("cluster scope {} does not allow references to namespace {}", name,
                               spec.profile_ref.ns));
    return;
  }
  check_resource_export(findings, scope->spec, name, profile);
}

}  // namespace kollect::admission
