#include "manager/scope_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::manager {
namespace {

constexpr std::size_t kNamedAtMost = 10;

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

bool same_kind(const api::GroupVersionKind& a, const api::GroupVersionKind& b) {
  return base::to_lower(a.group) == base::to_lower(b.group) &&
         base::to_lower(a.version) == base::to_lower(b.version) &&
         base::to_lower(a.kind) == base::to_lower(b.kind);
}

}  // namespace

std::string kind_text(const api::GroupVersionKind& kind) {
  return kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
}

bool ScopeRules::names_kind(const api::GroupVersionKind& kind) const {
  return std::ranges::any_of(spec->allowed_gvks,
                             [&](const auto& allowed) { return same_kind(allowed, kind); });
}

std::optional<base::Error> ScopeRules::kinds_denied(
    const std::vector<api::GroupVersionKind>& kinds) const {
  if (spec->allowed_gvks.empty()) return std::nullopt;
  for (const api::GroupVersionKind& kind : kinds) {
    if (names_kind(kind)) continue;
    return base::configuration(
        fmt::format("scope {} does not allow the kind {}", name, kind_text(kind)),
        "ScopeGVKDenied");
  }
  return std::nullopt;
}

std::optional<base::Error> ScopeRules::namespaces_denied(
    const std::vector<std::string>& namespaces) const {
  std::vector<std::string> outside;
  for (const std::string& one : namespaces) {
    if (contains(spec->denied_namespaces, one) ||
        (!spec->allowed_namespaces.empty() && !contains(spec->allowed_namespaces, one))) {
      outside.push_back(one);
    }
  }
  if (outside.empty()) return std::nullopt;
  const std::size_t all = outside.size();
  outside.resize(std::min(all, kNamedAtMost));
  return base::configuration(
      fmt::format("scope {} does not allow the namespace{} {}{}", name, all == 1 ? "" : "s",
                  base::join(outside, ", "),
                  all > kNamedAtMost ? fmt::format(" and {} more", all - kNamedAtMost) : ""),
      "ScopeNamespaceDenied");
}

std::optional<base::Error> ScopeRules::resource_denied(const api::ProfileSpec& profile) const {
  if (spec->allow_resource_export.value_or(true) || !profile.export_spec ||
      profile.export_spec->mode != "Resource") {
    return std::nullopt;
  }
  return base::configuration(
      fmt::format("scope {} does not allow profiles that export whole objects", name),
      "ScopeResourceExportDenied");
}

std::optional<base::Error> ScopeRules::sink_denied(const std::string& family,
                                                   const std::string& sink) const {
  const auto& list = family == "snapshot"   ? spec->snapshot_sink_refs
                     : family == "database" ? spec->database_sink_refs
                                            : spec->event_sink_refs;
  if (list.empty() || contains(list, sink)) return std::nullopt;
  return base::configuration(
      fmt::format("scope {} does not allow the sink {}/{}", name, family, sink), "ScopeSinkDenied");
}

std::optional<base::Error> place_denied(const std::string& scope_name,
                                        const api::ClusterScopeSpec& scope, const std::string& what,
                                        const std::string& ns, const std::string& reason) {
  const auto& list = scope.allowed_static_ref_namespaces;
  if (list.empty() || contains(list, ns)) return std::nullopt;
  return base::configuration(
      fmt::format("{}: scope {} does not allow references into the namespace {}", what, scope_name,
                  ns),
      reason);
}

}  // namespace kollect::manager
