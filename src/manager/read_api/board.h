// Our own objects for the read API: their conditions, and which rows an inventory has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/value.h"
#include "collector/collector.h"
#include "exporter/exporter.h"
#include "manager/cluster_target_board.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "readapi/live/live_source.h"
#include "readapi/object_board.h"

namespace kollect::manager {

/// What the board looks at.
struct BoardParts {
  const ObjectCache<api::Profile>& profiles;
  const ObjectCache<api::Target>& targets;
  const ObjectCache<api::Scope>& scopes;
  const ObjectCache<api::Inventory>& inventories;
  const ObjectCache<api::ClusterTarget>& cluster_targets;
  const ObjectCache<api::ClusterScope>& cluster_scopes;
  const ObjectCache<api::ClusterInventory>& cluster_inventories;
  SinkCaches sinks;
  const exporter::Exporter& exporter;
  const ClusterTargetBoard& cluster_board;
  std::function<collector::KnownNamespaces()> namespaces;
};

/// Thread-safe.
class ReadBoard final : public readapi::ObjectBoard, public readapi::LiveInventories {
 public:
  /// References must outlive it. `opt_in`: only inventories with spec.httpEndpoint.enabled.
  ReadBoard(BoardParts parts, bool opt_in) : parts_(std::move(parts)), opt_in_(opt_in) {}

  // readapi::ObjectBoard
  [[nodiscard]] std::vector<base::json::Value> statuses(std::string_view kind,
                                                        const std::string& ns) const override;
  [[nodiscard]] std::vector<base::json::Value> exports(bool cluster, const std::string& ns,
                                                       const std::string& name) const override;
  // readapi::LiveInventories
  [[nodiscard]] std::vector<readapi::LiveInventory> all() const override;
  [[nodiscard]] std::optional<readapi::LiveInventory> find(bool cluster, const std::string& ns,
                                                           const std::string& name) const override;
  [[nodiscard]] std::optional<readapi::LiveOwners> limit() const override;

 private:
  [[nodiscard]] bool open(const Cached<api::Inventory>& inventory) const;
  [[nodiscard]] readapi::LiveInventory of(const Cached<api::Inventory>& inventory) const;
  [[nodiscard]] readapi::LiveInventory of(const Cached<api::ClusterInventory>& inventory) const;
  [[nodiscard]] base::json::Value with_exports(base::json::Value status,
                                               const base::json::Value& manifest,
                                               const std::string& sink_namespace) const;
  [[nodiscard]] base::json::Value with_users(base::json::Value status, std::string_view family,
                                             const Key& sink) const;
  [[nodiscard]] std::string sink_type(std::string_view family, const Key& sink) const;

  const BoardParts parts_;
  const bool opt_in_;
};

/// A spec without what might be a secret: user information of URLs, and values under names such as
/// "password". References to Secrets are names and stay.
base::json::Value without_secrets(const base::json::Value& spec);

}  // namespace kollect::manager
