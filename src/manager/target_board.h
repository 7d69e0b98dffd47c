// What inventories must know of the targets of their namespace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "manager/work_queue.h"

namespace kollect::manager {

/// Sorted, each once.
inline void add_to(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  std::ranges::sort(list);
  const auto repeated = std::ranges::unique(list);
  list.erase(repeated.begin(), repeated.end());
}

/// How a target stands as far as exports are concerned (spec: runtime 7.3, X-9).
enum class TargetPhase {
  kUnknown,     ///< not looked at yet, or its first lists are on their way: exports wait
  kComplete,    ///< its first lists are in
  kUnreadable,  ///< cannot list (denied, kind not served, unreachable): what was exported of it
                ///< stays
  kGone,        ///< suspended or without a profile: its rows go
};

struct TargetStanding {
  TargetPhase phase = TargetPhase::kUnknown;
  /// Namespaces that it cannot read though it should: what was exported of them stays.
  std::vector<std::string> unread = {};
  bool operator==(const TargetStanding&) const = default;
};

/// Written by the target controller, and by the collector where rights go; read by the inventory
/// controller. Thread-safe.
class TargetBoard {
 public:
  /// True when the others have to be told: it, or a refusal since the last time, changed something.
  /// `as_of`: refusals() before the standing was found out. When there were more since then it is
  /// not of today and counts for nothing.
  bool set(const Key& target, TargetStanding standing, std::uint64_t as_of = UINT64_MAX) {
    const std::scoped_lock lock(mutex_);
    const bool fresh = !entries_.contains(target);
    Entry& entry = entries_[target];
    const bool news = std::exchange(entry.news, false);
    if (entry.refusals > as_of || (entry.standing == standing && !fresh)) return news;
    entry.standing = std::move(standing);
    return true;
  }
  /// Rights have gone: these namespaces, or everything, cannot be read any more.
  void refuse(const Key& target, const std::vector<std::string>& namespaces, bool everything) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[target];
    ++entry.refusals;
    entry.news = true;
    if (everything) entry.standing.phase = TargetPhase::kUnreadable;
    add_to(entry.standing.unread, namespaces);
  }
  [[nodiscard]] std::uint64_t refusals(const Key& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = entries_.find(target);
    return it == entries_.end() ? 0 : it->second.refusals;
  }
  bool forget(const Key& target) {
    const std::scoped_lock lock(mutex_);
    return entries_.erase(target) > 0;
  }
  void forget_if(const std::function<bool(const Key&)>& goes) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) { return goes(item.first); });
  }
  [[nodiscard]] TargetStanding of(const Key& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = entries_.find(target);
    return it == entries_.end() ? TargetStanding() : it->second.standing;
  }

 private:
  struct Entry {
    TargetStanding standing = {};
    std::uint64_t refusals = 0;
    bool news = false;  ///< a refusal that nobody was told of
  };
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace kollect::manager
