// What admission rules look up, from the operator's caches.
#pragma once

#include <string>
#include <vector>

#include "admission/lookup.h"
#include "base/context.h"
#include "kube/client.h"
#include "manager/object_cache.h"

namespace kollect::manager {

/// Namespaces that are not watched, and everything before the first lists are in, are read from
/// the API server. A scope that cannot be read or decoded is an error: it must not be passed by.
/// Thread-safe.
class AdmissionLookup final : public admission::Lookup {
 public:
  struct Caches {
    const ObjectCache<api::Profile>& profiles;
    const ObjectCache<api::Scope>& scopes;
    const ObjectCache<api::ClusterScope>& cluster_scopes;
  };
  /// References must outlive it. `watched`: namespaces of the caches; empty: all.
  AdmissionLookup(Caches caches, kube::Client& client, const base::Clock& clock,
                  std::vector<std::string> watched)
      : caches_(caches), client_(client), clock_(clock), watched_(std::move(watched)) {}

  [[nodiscard]] base::Result<std::optional<api::Profile>> profile(
      std::string_view ns, std::string_view name) const override;
  [[nodiscard]] base::Result<std::optional<api::Scope>> scope(std::string_view ns) const override;
  [[nodiscard]] base::Result<std::optional<api::ClusterScope>> cluster_scope() const override;

 private:
  [[nodiscard]] bool is_watched(std::string_view ns) const;
  /// The first by name of a cache's objects or of those that the server lists.
  template <class T>
  [[nodiscard]] base::Result<std::optional<T>> first(const ObjectCache<T>& cache,
                                                     const std::string& kind,
                                                     std::string_view ns) const;

  Caches caches_;
  kube::Client& client_;
  const base::Clock& clock_;
  const std::vector<std::string> watched_;
};

}  // namespace kollect::manager
