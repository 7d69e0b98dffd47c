// All rows of a running operator at one moment, in canonical order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inventory/row_set.h"
#include "inventory/row_store.h"

namespace kollect::readapi {

/// Rows that were chosen and brought in an order: their places in the set.
using Places = std::vector<std::uint32_t>;

/// Rows of targets and of cluster targets are two sets of the store; here they are one sequence of
/// runs, each of one owner. Immutable but for what is remembered beside it. Thread-safe.
class LiveSet {
 public:
  /// Rows of one owner that follow each other.
  struct Run {
    inventory::Owner owner;
    std::size_t first = 0;  ///< in the set of its class
    std::size_t count = 0;
    std::size_t start = 0;  ///< place of the first one
  };
  LiveSet(std::string state, base::WallTime at, inventory::RowSet targets,
          inventory::RowSet cluster_targets);

  [[nodiscard]] const std::string& state() const { return state_; }
  [[nodiscard]] base::WallTime at() const { return at_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

  using Visit = std::function<base::Result<>(std::size_t place, const inventory::RowView& row)>;
  /// The rows of a run, with their attributes or without. Views die with the call.
  base::Result<> visit(const Run& run, bool attributes, const Visit& visit) const;
  base::Result<> visit(std::size_t place, const inventory::RowSet::Visit& visit) const;

  /// What remember() was told under this name; null: nothing.
  [[nodiscard]] std::shared_ptr<const Places> remembered(const std::string& name) const;
  /// Keeps it as long as there is room.
  void remember(const std::string& name, std::shared_ptr<const Places> places) const;

 private:
  [[nodiscard]] const inventory::RowSet& part(inventory::OwnerClass owner_class) const {
    return owner_class == inventory::OwnerClass::kTarget ? targets_ : cluster_targets_;
  }
  [[nodiscard]] std::vector<Run> runs_of(inventory::OwnerClass owner_class) const;
  void interleave(const Run& a, const Run& b);
  void append(Run run);

  const std::string state_;
  const base::WallTime at_;
  const inventory::RowSet targets_;
  const inventory::RowSet cluster_targets_;
  std::vector<Run> runs_;
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Places>> remembered_;
  mutable std::size_t remembered_places_ = 0;
};

}  // namespace kollect::readapi
