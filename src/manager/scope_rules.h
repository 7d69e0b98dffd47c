// What a KollectScope or KollectClusterScope lets through (spec: runtime 11).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "manager/object_cache.h"

namespace kollect::manager {

/// Empty lists of a scope restrict nothing. Errors are of kind configuration; their reason is the
/// condition's.
struct ScopeRules {
  std::string name;  ///< the scope's, for messages
  const api::ScopeSpec* spec = nullptr;

  [[nodiscard]] bool names_kind(const api::GroupVersionKind& kind) const;
  /// ScopeGVKDenied: the first of the kinds that allowedGVKs does not have.
  [[nodiscard]] std::optional<base::Error> kinds_denied(
      const std::vector<api::GroupVersionKind>& kinds) const;
  /// ScopeNamespaceDenied: names those outside, at most ten.
  [[nodiscard]] std::optional<base::Error> namespaces_denied(
      const std::vector<std::string>& namespaces) const;
  /// ScopeResourceExportDenied: the profile exports whole objects.
  [[nodiscard]] std::optional<base::Error> resource_denied(const api::ProfileSpec& profile) const;
  /// ScopeSinkDenied. `family`: "snapshot", "database", "event".
  [[nodiscard]] std::optional<base::Error> sink_denied(const std::string& family,
                                                       const std::string& sink) const;
};

/// The scope that counts in a namespace ("": of the cluster), the first by name; null: there is
/// none. Error ScopeLookupFailed: scopes cannot be listed, or that one cannot be read. It is never
/// taken for none (L-17).
template <class T>
base::Result<typename ObjectCache<T>::Ptr> enforced_scope(const ObjectCache<T>& scopes,
                                                          const std::string& ns) {
  base::Error failed;
  if (const auto error = scopes.lookup_error(ns)) {
    failed = error->with_prefix("scopes cannot be listed");
  } else {
    const auto found = scopes.in_namespace(ns);
    if (found.empty()) return nullptr;
    if (!found.front()->problem) return found.front();
    failed = found.front()->problem->with_prefix("scope " + found.front()->meta().name);
  }
  failed.reason = "ScopeLookupFailed";
  return failed;
}

template <class T>
ScopeRules rules_of(const Cached<T>& scope) {
  return {.name = scope.meta().name, .spec = &scope.object.spec};
}

/// Outside allowedStaticRefNamespaces; `what` is in front of the message ("profile a/b").
std::optional<base::Error> place_denied(const std::string& scope_name,
                                        const api::ClusterScopeSpec& scope, const std::string& what,
                                        const std::string& ns, const std::string& reason);

/// "apps/Deployment" as people write it: "Deployment.apps".
std::string kind_text(const api::GroupVersionKind& kind);

}  // namespace kollect::manager
