// Growing pauses with jitter between failed tries.
#pragma once

#include <cstdint>
#include <random>

#include "base/clock.h"

namespace kollect::kube {

/// The n-th pause in a row is a random time between half and all of base · 2ⁿ, at most the cap. One
/// thread.
class Backoff {
 public:
  /// `seed` 0: from the machine.
  Backoff(base::Duration first, base::Duration cap, std::uint64_t seed);

  /// The next pause; counts one more failure.
  base::Duration next();
  /// A random time of up to the first pause, which counts nothing.
  base::Duration brief();
  /// A random time between `least` and twice that.
  base::Duration spread(base::Duration least);
  void reset() { failures_ = 0; }
  /// Pauses since the last reset.
  [[nodiscard]] std::uint32_t failures() const { return failures_; }

 private:
  base::Duration between(base::Duration least, base::Duration most);

  const base::Duration first_;
  const base::Duration cap_;
  std::minstd_rand random_;
  std::uint32_t failures_ = 0;
};

}  // namespace kollect::kube
