// What inventories must know of the targets of their namespace.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "manager/work_queue.h"

namespace kollect::manager {

/// How a target stands as far as exports are concerned (spec: runtime 7.3, X-9).
enum class TargetPhase {
  kUnknown,     ///< not looked at yet, or its first lists are on their way: exports wait
  kComplete,    ///< its first lists are in
  kUnreadable,  ///< cannot list (denied, kind not served, unreachable): what was exported of it
                ///< stays
  kGone,        ///< suspended or without a profile: its rows go
};

/// Written by the target controller, read by the inventory controller. Thread-safe.
class TargetBoard {
 public:
  /// True when that changed something.
  bool set(const Key& target, TargetPhase phase) {
    const std::scoped_lock lock(mutex_);
    const auto [it, fresh] = phases_.emplace(target, phase);
    if (fresh || it->second == phase) return fresh;
    it->second = phase;
    return true;
  }
  bool forget(const Key& target) {
    const std::scoped_lock lock(mutex_);
    return phases_.erase(target) > 0;
  }
  void forget_if(const std::function<bool(const Key&)>& goes) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(phases_, [&](const auto& item) { return goes(item.first); });
  }
  [[nodiscard]] TargetPhase of(const Key& target) const {
    const std::scoped_lock lock(mutex_);
    const auto it = phases_.find(target);
    return it == phases_.end() ? TargetPhase::kUnknown : it->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, TargetPhase> phases_;
};

}  // namespace kollect::manager
