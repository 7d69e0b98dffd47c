#include "sandbox/changes.h"

#include <algorithm>

namespace kollect::sandbox {

namespace {

constexpr std::uint64_t kDeleteEvery = 50;
constexpr auto kTick = std::chrono::milliseconds(5);

}  // namespace

void Changes::add(const std::string& resource, std::uint32_t count) {
  const std::scoped_lock lock(mutex_);
  if (count == 0) return;
  sets_.push_back({.resource = resource, .count = count});
  total_ += count;
}

void Changes::make_one() {
  std::uint64_t dice = random_() % total_;
  for (Set& set : sets_) {
    if (dice >= set.count) {
      dice -= set.count;
      continue;
    }
    const auto index = static_cast<std::uint32_t>(dice);
    if (++set.made % kDeleteEvery != 0) {
      if (index != set.away) store_.touch_generated(set.resource, index);
    } else if (set.away == UINT32_MAX) {
      if (store_.remove_generated(set.resource, index)) set.away = index;
    } else {
      store_.restore_generated(set.resource, std::exchange(set.away, UINT32_MAX));
    }
    return;
  }
}

void Changes::make(std::uint64_t changes) {
  const std::scoped_lock lock(mutex_);
  for (std::uint64_t i = 0; i < changes && total_ > 0; ++i) {
    const auto alone = writer_.lock();
    make_one();
  }
}

void Changes::start(const base::Clock& clock, double per_second) {
  thread_ = std::jthread([this, &clock, per_second](const std::stop_token& stop) {
    const base::SteadyTime begin = clock.steady_now();
    std::uint64_t done = 0;
    while (!stop.stop_requested()) {
      const double seconds = std::chrono::duration<double>(clock.steady_now() - begin).count();
      const auto due = static_cast<std::uint64_t>(seconds * per_second);
      if (due > done) make(due - done);
      done = std::max(done, due);
      if (!clock.sleep(kTick, stop)) break;
    }
  });
}

void Changes::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace kollect::sandbox
