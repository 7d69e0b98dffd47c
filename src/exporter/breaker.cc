#include "exporter/breaker.h"

#include <algorithm>

namespace kollect::exporter {

bool Breaker::try_enter(base::SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  if (!open_) return true;
  if (now < open_until_ || trial_) return false;
  trial_ = true;
  return true;
}

base::SteadyTime Breaker::next_try(base::SteadyTime now) const {
  const std::scoped_lock lock(mutex_);
  if (!open_) return now;
  // While the trial is out its end decides; looking again is cheap.
  if (trial_) return now + std::chrono::seconds(1);
  return std::max(now, open_until_);
}

void Breaker::succeeded() {
  const std::scoped_lock lock(mutex_);
  failed_ = 0;
  open_ = false;
  trial_ = false;
}

void Breaker::failed(base::SteadyTime now, bool terminal) {
  const std::scoped_lock lock(mutex_);
  if (terminal) {
    trial_ = false;
    return;
  }
  ++failed_;
  if (trial_ || failed_ >= options_.failures) {
    open_ = true;
    open_until_ = now + options_.open_time;
  }
  trial_ = false;
}

void Breaker::abandoned() {
  const std::scoped_lock lock(mutex_);
  trial_ = false;
}

bool Breaker::closed() const {
  const std::scoped_lock lock(mutex_);
  return !open_;
}

Breaker::State Breaker::state(base::SteadyTime now) const {
  const std::scoped_lock lock(mutex_);
  if (!open_) return State::kClosed;
  return now < open_until_ ? State::kOpen : State::kHalfOpen;
}

}  // namespace kollect::exporter
