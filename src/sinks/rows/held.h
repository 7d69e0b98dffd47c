// What a table holds of an inventory while a set is compared with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "sinks/rows/rows.h"

namespace kollect::sinks::rows {

/// Keys of a table's rows with a digest of each, and which of them the set has. Some 32 bytes a
/// row: add() all of them, seal(), then look. One thread.
template <class Digest>
class HeldRows {
 public:
  void add(const KeyHash& key, const Digest& digest) { rows_.push_back({key, digest}); }
  void seal() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
    seen_.assign(rows_.size(), false);
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  /// A row's place, for the functions below.
  [[nodiscard]] std::optional<std::size_t> find(const KeyHash& key) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), key,
                                     [](const Row& a, const KeyHash& b) { return a.key < b; });
    if (at == rows_.end() || at->key != key) return std::nullopt;
    return static_cast<std::size_t>(at - rows_.begin());
  }
  [[nodiscard]] const Digest& digest(std::size_t place) const { return rows_[place].digest; }
  /// The set has this row.
  void see(std::size_t place) { seen_[place] = true; }
  [[nodiscard]] bool seen(std::size_t place) const { return seen_[place]; }
  [[nodiscard]] bool all_seen() const {
    return std::find(seen_.begin(), seen_.end(), false) == seen_.end();
  }

 private:
  struct Row {
    KeyHash key;
    Digest digest;
  };
  std::vector<Row> rows_;
  std::vector<bool> seen_;
};

}  // namespace kollect::sinks::rows
