// Time per object, for metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "collector/collector.h"

namespace kollect::collector {

/// Thread-safe.
class Meter {
 public:
  void add(base::Duration time);
  void fill(CollectorStats& stats) const;
  std::atomic<std::uint64_t> lists_beside_watches = 0;
  std::atomic<std::uint64_t> held_up_before = 0;

 private:
  std::array<std::atomic<std::uint64_t>, CollectorStats::kBounds.size() + 1> counts_{};
  std::atomic<std::int64_t> nanoseconds_ = 0;
};

}  // namespace kollect::collector
