// Which kinds are served: the built-in ones and those of CustomResourceDefinitions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"

namespace kollect::sandbox {

class StructuralSchema;

/// A column of `kubectl get`.
struct Column {
  std::string name;
  std::string type = "string";
  std::string format;
  std::string description;
  std::string json_path;  ///< ".spec.replicas"
  int priority = 0;
};

/// One resource in one version.
struct Served {
  std::string group;
  std::string version;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool custom = false;       ///< of a CustomResourceDefinition
  bool create_only = false;  ///< reviews: answered, never kept
  bool has_status = false;   ///< as a subresource
  bool has_scale = false;
  bool counts_generation = false;                  ///< metadata.generation follows the spec
  std::vector<std::string> selectable;             ///< fields that fieldSelector may name
  std::vector<Column> columns;                     ///< behind NAME; empty: AGE alone
  std::shared_ptr<const StructuralSchema> schema;  ///< of custom resources
  base::json::Value open_api;                      ///< its source, for /openapi/v3
  std::string storage_version;                     ///< of custom resources

  /// Name in the store, the same for all versions.
  [[nodiscard]] std::string resource() const { return group + "/" + plural; }
  [[nodiscard]] std::string api_version() const {
    return group.empty() ? version : group + "/" + version;
  }
};
using ServedPtr = std::shared_ptr<const Served>;

/// Immutable; a change makes a new one.
class Catalog {
 public:
  explicit Catalog(std::vector<ServedPtr> all) : all_(std::move(all)) {}
  [[nodiscard]] const std::vector<ServedPtr>& all() const { return all_; }
  [[nodiscard]] ServedPtr find(std::string_view group, std::string_view version,
                               std::string_view plural) const;
  /// In any version, the preferred one first.
  [[nodiscard]] ServedPtr find_kind(std::string_view group, std::string_view version,
                                    std::string_view kind) const;
  /// By kind alone, or "deployments.apps", for flags.
  [[nodiscard]] ServedPtr find_name(std::string_view name) const;
  /// Groups in order, "" first; versions of a group, preferred first.
  [[nodiscard]] std::vector<std::string> groups() const;
  [[nodiscard]] std::vector<std::string> versions(std::string_view group) const;

 private:
  std::vector<ServedPtr> all_;
};

/// Thread-safe.
class Registry {
 public:
  Registry();
  [[nodiscard]] std::shared_ptr<const Catalog> catalog() const;
  /// Replaces what the definition `name` ("widgets.example.com") serves; none: it is gone.
  void set_custom(const std::string& name, std::vector<ServedPtr> served);

 private:
  mutable std::mutex mutex_;
  std::vector<ServedPtr> builtin_;
  std::vector<std::pair<std::string, std::vector<ServedPtr>>> custom_;
  std::shared_ptr<const Catalog> catalog_;
};

/// The kinds that are always there.
std::vector<ServedPtr> builtin_kinds();
/// "v1" before "v1beta1" before "v1alpha1" (the order of kube-aware versions).
bool version_before(std::string_view a, std::string_view b);

}  // namespace kollect::sandbox
