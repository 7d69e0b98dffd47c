// What the sinks with one record per row share: where rows come from, keys, what must stay.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inventory/row_set.h"
#include "inventory/row_store.h"
#include "sinks/sink.h"

namespace kollect::sinks::rows {

using Visit = std::function<base::Result<>(const inventory::RowView&)>;

/// All rows of a pass; borrowed, copy freely.
class Source {
 public:
  explicit Source(const inventory::RowSet& set) : set_(&set) {}
  explicit Source(const inventory::Snapshot& snapshot) : snapshot_(&snapshot) {}
  [[nodiscard]] std::size_t size() const;
  /// The order that costs least.
  base::Result<> for_each(const Visit& visit) const;
  /// Canonical order.
  base::Result<> for_each_sorted(const Visit& visit) const;

 private:
  const inventory::RowSet* set_ = nullptr;
  const inventory::Snapshot* snapshot_ = nullptr;
};

/// Column source_uid: the uid, or for rows without one (objects of files) what identifies the
/// object otherwise.
std::string source_uid(const inventory::RowView& row);

/// Hash of (target_name, source_uid), wide enough to stand for the key itself.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const KeyHash&) const = default;
};
KeyHash key_hash(std::string_view target_name, std::string_view source_uid);

/// Rows of one table key in a set of rows: targets of one name in different namespaces may see one
/// object. The last one in canonical order counts; every other one is left out.
class Duplicates {
 public:
  /// Reads all keys once. The rest of the pass must go in canonical order.
  static base::Result<Duplicates> find(const Source& source);
  [[nodiscard]] bool any() const { return !left_.empty(); }
  /// True when a later row has the same key. Call once per row, in canonical order.
  bool superseded(const KeyHash& key);

 private:
  std::unordered_map<std::uint64_t, std::size_t> left_;  ///< rows of the key still to come
};

/// Inventories in whose sets a key stands twice: changes alone do not tell which row counts.
/// Belongs to the thread of the passes, but for any().
class Doubled {
 public:
  void insert(const std::string& inventory) {
    ids_.insert(inventory);
    any_ = true;
  }
  void erase(const std::string& inventory) {
    ids_.erase(inventory);
    any_ = !ids_.empty();
  }
  [[nodiscard]] bool contains(const std::string& inventory) const {
    return ids_.contains(inventory);
  }
  /// From any thread: what a sink says while it is at work.
  [[nodiscard]] bool any() const { return any_; }

 private:
  std::set<std::string> ids_;
  std::atomic<bool> any_ = false;
};

/// Which rows stay in the table although the set does not hold them (P-9, X-9).
class Keep {
 public:
  explicit Keep(const Export& head) : head_(&head) {}
  /// `ns` is the object's namespace, "" for cluster-scoped ones.
  [[nodiscard]] bool holds(std::string_view target_namespace, std::string_view target_name,
                           std::string_view ns) const;

 private:
  const Export* head_;
};

/// Warning of an export in which `collapsed` rows were left out for another one of their key.
std::string collapsed_warning(const InventoryId& inventory, std::uint64_t collapsed);

}  // namespace kollect::sinks::rows
