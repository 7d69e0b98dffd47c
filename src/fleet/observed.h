// What the inventory saw in the clusters: rows that a sink wrote into PostgreSQL or SQLite
// (docs/databases.md), of the targets of deploy/fleet/drift.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/json/value.h"
#include "base/log.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::fleet {

/// The inventory of deploy/fleet/drift. Where none gathers the targets, each is one of its own.
inline constexpr std::string_view kFleetInventory = "fleet";

struct ObservedSettings {
  bool postgres = false;
  base::Secret url;  ///< postgres://..., or the path of the file of SQLite
  std::string schema = {};
  std::string table;
};

/// INVENTORY_URL (sqlite:///file, postgres://...) and INVENTORY_TABLE ("inventory" when empty;
/// "schema.table" with PostgreSQL). Error (configuration): names the setting, never its value.
base::Result<ObservedSettings> read_observed_settings(const std::string& url,
                                                      const std::string& table);

/// A cluster by the name that its sink has.
struct ObservedCluster {
  std::string name;
  /// The last pass of its inventory; none: nobody wrote that down.
  std::optional<base::WallTime> seen;
  /// Its targets are gathered in one inventory (kFleetInventory); rows of others are old.
  bool gathered = false;
};

/// A row as it stands in the table.
struct ObservedRow {
  std::string_view cluster;
  std::string_view inventory;
  std::string_view target;
  std::string_view uid;
  std::string_view payload;  ///< JSON, if all is well
  std::string_view since;    ///< when it last changed, RFC 3339
};

/// An object that a cluster has.
struct ObservedObject {
  std::string kind;
  std::string ns;  ///< "" for objects without
  std::string name;
  base::json::Value attributes;  ///< an object
  std::optional<base::WallTime> since;

  [[nodiscard]] std::string_view text(std::string_view attribute) const {
    return attributes.text(attribute);
  }
  [[nodiscard]] bool is(std::string_view attribute) const;
};

/// None: the row is not readable.
std::optional<ObservedObject> read_row(const ObservedRow& row);

/// One look at the table: all calls see the same moment. One thread.
class Observed {
 public:
  virtual ~Observed() = default;
  /// Sorted by name.
  virtual base::Result<std::vector<ObservedCluster>> clusters() = 0;
  /// The rows of some clusters, sorted by cluster, inventory, target and uid. Texts die with the
  /// call.
  virtual base::Result<> rows(std::span<const std::string> clusters,
                              const std::function<void(const ObservedRow& row)>& visit) = 0;
};

/// Errors: there is no such file or table, the server does not answer. They hold no part of a URL.
/// `context` must outlive it and ends its waits.
base::Result<std::unique_ptr<Observed>> look_at_inventory(const base::Context& context,
                                                          const ObservedSettings& settings);

}  // namespace kollect::fleet
