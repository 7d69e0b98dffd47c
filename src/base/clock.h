// Injected time. Nothing outside base calls the system clock or sleeps on its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/result.h"

namespace kollect::base {

using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

/// Source of wall and monotonic time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual SteadyTime steady_now() const = 0;
  /// Waits until `how_long` is over or `stop` fires; false when it was cut short. Waits real time
  /// unless overridden.
  virtual bool sleep(Duration how_long, const std::stop_token& stop) const;
  /// Real time until this clock has gone on by `how_long`: for waits on a condition variable.
  [[nodiscard]] virtual Duration real_time(Duration how_long) const { return how_long; }
};

/// The machine's clock.
class SystemClock final : public Clock {
 public:
  WallTime now() const override;
  SteadyTime steady_now() const override;
};

/// A clock that stands still until told to move: for tests. Sleeping on it does not wait, it moves
/// the clock.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime{}) : wall_(start) {}
  WallTime now() const override;
  SteadyTime steady_now() const override;
  bool sleep(Duration how_long, const std::stop_token& stop) const override;
  /// Nobody who waits learns of an advance: look often.
  [[nodiscard]] Duration real_time(Duration how_long) const override {
    return std::min<Duration>(how_long, std::chrono::milliseconds(1));
  }
  void advance(Duration by) const;

 private:
  mutable std::mutex mutex_;
  mutable WallTime wall_;
  mutable SteadyTime steady_{};
};

/// RFC 3339 in UTC with "Z", up to nine fraction digits, trailing zeros dropped (spec: sinks 2.3).
std::string format_rfc3339(WallTime time);
/// The same cut to whole seconds.
std::string format_rfc3339_seconds(WallTime time);
/// Reads RFC 3339 with any offset and up to nine fraction digits (more are cut). Error:
/// configuration.
Result<WallTime> parse_rfc3339(std::string_view text);

/// Reads a duration in the grammar of the CRDs: "1h30m", "500ms", "1.5h", "0" (spec: crds 2.4).
Result<Duration> parse_duration(std::string_view text);
/// Canonical text: largest unit first, "1m0s", "24h0m1s", "500ms", "0s" (spec: crds 2.4).
std::string format_duration(Duration duration);

}  // namespace kollect::base
