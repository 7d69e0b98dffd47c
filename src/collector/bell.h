// Wakes the engine's thread and remembers what for.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <stop_token>

#include "base/clock.h"
#include "inventory/row_store.h"

namespace kollect::collector {

/// Thread-safe; rings do not wait and may come with any lock of the room held.
class Bell {
 public:
  struct Rung {
    bool plan = false;                   ///< something has changed that watches depend on
    std::set<inventory::Owner> targets;  ///< whose signals have changed
  };
  void plan();
  void signal(const inventory::Owner& target);
  /// Waits until somebody rings, or so long; gives and forgets what was rung.
  Rung wait(const base::Clock& clock, base::Duration at_most);

 private:
  std::mutex mutex_;
  std::stop_source wake_;
  Rung rung_;
};

}  // namespace kollect::collector
