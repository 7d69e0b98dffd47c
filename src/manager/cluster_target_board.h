// What cluster inventories must know of cluster targets.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manager/target_board.h"

namespace kollect::manager {

/// How a cluster target stands (spec: runtime 7.4, selection 12.2).
struct ClusterTargetStanding {
  enum class Phase {
    kWaiting,   ///< not looked at yet, or its first lists are on their way
    kReady,     ///< its Ready is True
    kDegraded,  ///< its Degraded is True
  } phase = Phase::kWaiting;
  /// Namespaces that it collects from; none: nobody knows, because it was stopped before they were
  /// asked for.
  std::optional<std::vector<std::string>> namespaces = {};
  bool cluster_scoped = false;  ///< some kind of it has no namespaces
  /// Namespaces that it cannot read though it should: what was exported of them stays.
  std::vector<std::string> unread = {};
  bool refused = false;  ///< it may list nothing of a kind
  bool operator==(const ClusterTargetStanding&) const = default;
};

/// Written by the cluster target controller, and by the collector where rights go; read by the
/// cluster inventory controller. Thread-safe.
class ClusterTargetBoard {
 public:
  /// As TargetBoard::set().
  bool set(const std::string& target, ClusterTargetStanding standing,
           std::uint64_t as_of = UINT64_MAX) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[target];
    const bool news = std::exchange(entry.news, false);
    if (entry.refusals > as_of || entry.standing == standing) return news;
    entry.standing = std::move(standing);
    return true;
  }
  /// As TargetBoard::refuse().
  void refuse(const std::string& target, const std::vector<std::string>& namespaces,
              bool everything) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[target];
    ++entry.refusals;
    entry.news = true;
    if (everything) {
      entry.standing.phase = ClusterTargetStanding::Phase::kDegraded;
      entry.standing.refused = true;
    }
    add_to(entry.standing.unread, namespaces);
  }
  [[nodiscard]] std::uint64_t refusals(const std::string& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = entries_.find(target);
    return it == entries_.end() ? 0 : it->second.refusals;
  }
  bool forget(const std::string& target) {
    const std::scoped_lock lock(mutex_);
    return entries_.erase(target) > 0;
  }
  void forget_all() {
    const std::scoped_lock lock(mutex_);
    entries_.clear();
  }
  [[nodiscard]] ClusterTargetStanding of(const std::string& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = entries_.find(target);
    return it == entries_.end() ? ClusterTargetStanding() : it->second.standing;
  }

 private:
  mutable std::mutex mutex_;
  struct Entry {
    ClusterTargetStanding standing = {};
    std::uint64_t refusals = 0;
    bool news = false;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace kollect::manager
