#include "collector/meter.h"

namespace kollect::collector {

void Meter::add(base::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  std::size_t bucket = 0;
  while (bucket < CollectorStats::kBounds.size() && seconds > CollectorStats::kBounds[bucket]) {
    ++bucket;
  }
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(time.count(), std::memory_order_relaxed);
}

void Meter::fill(CollectorStats& stats) const {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    stats.durations[i] = counts_[i].load(std::memory_order_relaxed);
    stats.objects += stats.durations[i];
  }
  stats.duration_sum =
      std::chrono::duration<double>(std::chrono::nanoseconds(nanoseconds_.load())).count();
  stats.lists_beside_watches = lists_beside_watches;
  stats.held_up_before = held_up_before;
}

}  // namespace kollect::collector
