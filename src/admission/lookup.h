// Objects that admission rules look up.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::admission {

/// What exists beside the object that is judged. Errors refuse it (findings of kind Internal).
/// Thread-safe.
class Lookup {
 public:
  virtual ~Lookup() = default;
  [[nodiscard]] virtual base::Result<std::optional<api::Profile>> profile(
      std::string_view ns, std::string_view name) const = 0;
  /// The scope that governs a namespace: the first by name (spec: crds 4.13).
  [[nodiscard]] virtual base::Result<std::optional<api::Scope>> scope(
      std::string_view ns) const = 0;
  [[nodiscard]] virtual base::Result<std::optional<api::ClusterScope>> cluster_scope() const = 0;
};

/// Manifests stand for what exists. Those that cannot be decoded count as missing.
class ManifestLookup final : public Lookup {
 public:
  /// `existing` must outlive it.
  explicit ManifestLookup(const std::vector<base::json::Value>& existing) : existing_(existing) {}

  [[nodiscard]] base::Result<std::optional<api::Profile>> profile(
      std::string_view ns, std::string_view name) const override;
  [[nodiscard]] base::Result<std::optional<api::Scope>> scope(std::string_view ns) const override;
  [[nodiscard]] base::Result<std::optional<api::ClusterScope>> cluster_scope() const override;

 private:
  const std::vector<base::json::Value>& existing_;
};

}  // namespace kollect::admission
