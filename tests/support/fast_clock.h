// A clock that runs faster than the machine's: hours pass in minutes, in the right order.
#pragma once

#include "base/clock.h"

namespace kollect::testing {

/// Starts at the present. Deadlines, intervals and waits that are taken from it shrink alike; what
/// the kernel or another process times does not.
class FastClock final : public base::Clock {
 public:
  explicit FastClock(int speed) : speed_(speed) {}

  base::WallTime now() const override { return wall_ + passed(); }
  base::SteadyTime steady_now() const override { return steady_ + passed(); }
  [[nodiscard]] base::Duration real_time(base::Duration how_long) const override {
    return how_long / speed_;
  }

 private:
  base::Duration passed() const { return (real_.steady_now() - steady_) * speed_; }

  const int speed_;
  const base::SystemClock real_;
  const base::WallTime wall_ = real_.now();
  const base::SteadyTime steady_ = real_.steady_now();
};

}  // namespace kollect::testing
