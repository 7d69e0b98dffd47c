// What the read API asks of whatever holds the rows: a running operator, a SQLite file, a
// PostgreSQL database of a whole fleet (spec: runtime 13).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"
#include "inventory/row.h"

namespace kollect::readapi {

/// Which rows. Empty fields ask for nothing; all that are there must hold.
struct RowFilter {
  std::string cluster = {};
  std::string inventory_namespace = {};
  std::string inventory = {};
  /// `inventory` is a cluster inventory; `inventory_namespace` is "cluster" then, the place where
  /// sinks have such.
  bool cluster_inventory = false;
  std::string ns = {};  ///< namespace of the object, or of its target
  std::string target = {};
  std::string group = {};
  std::string version = {};
  std::string kind = {};
  std::string name = {};
  std::string uid = {};
  /// Case-insensitive part of the namespace, the name, the kind or a value of the attributes.
  std::string search = {};
  /// Attribute and the text of its value: a string as it is, anything else as compact JSON.
  std::vector<std::pair<std::string, std::string>> attributes = {};
  bool operator==(const RowFilter&) const = default;
};

/// What the caller may see at all, on top of any filter; absent: everything.
struct Sight {
  std::optional<std::vector<std::string>> clusters = {};
  /// A row is seen by the namespace of its target and, in a database, of its inventory.
  std::optional<std::vector<std::string>> namespaces = {};
  bool operator==(const Sight&) const = default;
};

/// A name of an output column to sort by ("name", "namespace", "kind", "cluster", "exportedAt",
/// "attributes.<name>"); empty: canonical order (spec: sinks 2.2), behind cluster and inventory.
struct Order {
  std::string by = {};
  bool descending = false;
  bool operator==(const Order&) const = default;
};

struct RowRequest {
  RowFilter filter = {};
  Sight sight = {};
  Order order = {};
  std::uint64_t offset = 0;
  std::uint64_t limit = 500;              ///< 0: all that follow
  std::optional<base::WallTime> at = {};  ///< the rows of a moment that has passed
  bool count = true;                      ///< RowCursor::total() is wanted
  /// A total that would take long to count may be told as "at least so many":
  /// RowCursor::at_least().
  bool bounded = false;
};

/// A row and where it was found. Borrowed.
struct SourceRow {
  std::string_view cluster;
  std::string_view inventory_namespace;  ///< "" where a row belongs to no inventory (live store)
  std::string_view inventory;
  std::string_view exported_at;  ///< RFC 3339; "" where there is none
  inventory::RowView row;
};

/// An answer as it is being read: rows are not held. Used by one thread at a time.
class RowCursor {
 public:
  virtual ~RowCursor() = default;
  /// All rows of filter and sight, whatever offset and limit.
  [[nodiscard]] virtual std::uint64_t total() const = 0;
  /// There may be more than total() rows, though not fewer, and it is more than the page's last row
  /// where rows follow. Only where the request was `bounded`.
  [[nodiscard]] virtual bool at_least() const { return false; }
  /// Changes when the rows of the source do; the same text, the same rows. For ETag.
  [[nodiscard]] virtual std::string state() const = 0;
  /// The latest moment of which the rows are.
  [[nodiscard]] virtual base::WallTime updated_at() const = 0;
  /// The next row, good until the next call; nothing at the end.
  virtual base::Result<std::optional<SourceRow>> next() = 0;
};

struct GroupRequest {
  RowFilter filter = {};
  Sight sight = {};
  std::vector<std::string> by;            ///< names of columns as in Order, one at least
  std::size_t limit = 100;                ///< groups
  std::optional<base::WallTime> at = {};  ///< the rows of a moment that has passed
};

/// Rows with the same value of a column, counted.
struct Group {
  std::vector<std::string> values;  ///< of the columns asked for, in their order
  std::uint64_t rows = 0;
};

/// One version of one object, oldest first.
struct RowVersion {
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory;
  std::string row;         ///< JSON of spec sinks 2.1
  std::string valid_from;  ///< RFC 3339
  std::string valid_to;    ///< "" : it still stands
  std::string began;       ///< "appeared" or "changed"
  std::string ended;       ///< "", "changed" or "went"
};

/// One difference of the history.
struct HistoryChange {
  std::string at;      ///< RFC 3339
  std::string change;  ///< "appeared", "changed" or "went"
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory;
  std::string row;     ///< JSON of spec sinks 2.1; of one that went, its last state
  std::string before;  ///< attributes, JSON; "" where there were none
};

struct ChangeRequest {
  RowFilter filter = {};
  Sight sight = {};
  base::WallTime since{};                    ///< exclusive
  std::optional<base::WallTime> until = {};  ///< inclusive
  std::string after = {};                    ///< cursor of the last page; empty: from the start
  std::uint64_t limit = 500;
};

struct ChangePage {
  std::vector<HistoryChange> changes;  ///< in the order of their moments
  std::string next;                    ///< cursor of the next page; empty: this was the last
};

/// An inventory as its last export left it, or as its object says.
struct InventoryState {
  std::string cluster;
  std::string ns;  ///< "" for a cluster inventory
  std::string name;
  std::uint64_t rows = 0;
  std::string exported_at;  ///< RFC 3339
  std::int64_t generation = 0;
  std::string checksum;
};

/// What the source can do; the API says so at /v1alpha1/meta.
struct Abilities {
  std::string store;     ///< "operator", "sqlite" or "postgres"
  bool history = false;  ///< `at`, changes(), versions()
  bool objects = false;  ///< kinds of Kollect with their conditions: ObjectBoard
  bool stream = false;   ///< changes arrive by themselves; else they are looked for
};

/// Rows for the API. Thread-safe; every call ends with its context. Errors: retryable where the
/// store is not there for the moment, configuration for a request that it cannot answer.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual Abilities abilities() const = 0;
  virtual base::Result<std::unique_ptr<RowCursor>> rows(const base::Context& context,
                                                        const RowRequest& request) = 0;
  /// Most rows first.
  virtual base::Result<std::vector<Group>> groups(const base::Context& context,
                                                  const GroupRequest& request) = 0;
  virtual base::Result<std::vector<InventoryState>> inventories(const base::Context& context,
                                                                const Sight& sight) = 0;
  /// Without history: configuration.
  virtual base::Result<ChangePage> changes(const base::Context& context,
                                           const ChangeRequest& request) = 0;
  virtual base::Result<std::vector<RowVersion>> versions(const base::Context& context,
                                                         const RowFilter& object,
                                                         const Sight& sight) = 0;
  /// As RowCursor::state(), cheap: asked often.
  virtual base::Result<std::string> state(const base::Context& context) = 0;
};

}  // namespace kollect::readapi
