// A circuit breaker for one sink object (spec: runtime 9.8).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace kollect::exporter {

struct BreakerOptions {
  std::uint32_t failures = 5;  ///< consecutive ones, however long they took
  base::Duration open_time = std::chrono::seconds(30);
};

/// Closed: calls go through. After `failures` consecutive transient failures open: nothing goes
/// through for `open_time`; then one trial call, whose outcome closes or opens it again. Terminal
/// errors do not count: waiting does not mend them. Thread-safe; shared by all bindings of a sink.
class Breaker {
 public:
  enum class State { kClosed, kOpen, kHalfOpen };
  explicit Breaker(BreakerOptions options = {}) : options_(options) {}

  /// True when a call may start now. In half-open state the first caller gets the trial.
  bool try_enter(base::SteadyTime now);
  /// When a call may be tried; `now` when it may at once.
  [[nodiscard]] base::SteadyTime next_try(base::SteadyTime now) const;
  void succeeded();
  void failed(base::SteadyTime now, bool terminal);
  /// The call ended without telling anything about the backend (cancelled).
  void abandoned();
  [[nodiscard]] State state(base::SteadyTime now) const;
  [[nodiscard]] bool closed() const;

 private:
  BreakerOptions options_;
  mutable std::mutex mutex_;
  std::uint32_t failed_ = 0;
  bool open_ = false;
  bool trial_ = false;  ///< the trial call is out
  base::SteadyTime open_until_{};
};

}  // namespace kollect::exporter
