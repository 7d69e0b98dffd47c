// What cluster inventories must know of cluster targets.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
  bool operator==(const ClusterTargetStanding&) const = default;
};

/// Written by the cluster target controller, read by the cluster inventory controller. Thread-safe.
class ClusterTargetBoard {
 public:
  /// True when that changed something.
  bool set(const std::string& target, ClusterTargetStanding standing) {
    const std::scoped_lock lock(mutex_);
    ClusterTargetStanding& place = standings_[target];
    if (place == standing) return false;
    place = std::move(standing);
    return true;
  }
  bool forget(const std::string& target) {
    const std::scoped_lock lock(mutex_);
    return standings_.erase(target) > 0;
  }
  void forget_all() {
    const std::scoped_lock lock(mutex_);
    standings_.clear();
  }
  [[nodiscard]] ClusterTargetStanding of(const std::string& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = standings_.find(target);
    return it == standings_.end() ? ClusterTargetStanding() : it->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ClusterTargetStanding> standings_;
};

}  // namespace kollect::manager
