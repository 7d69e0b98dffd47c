// Deadline, cancellation and clock as one value that is handed down every call chain.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "base/clock.h"
#include "base/result.h"

namespace kollect::base {

/// Cheap to copy; all copies share the cancellation. A child may have an earlier deadline than its
/// parent, never a later one. Thread-safe.
class Context {
 public:
  /// No deadline, never cancelled, system clock.
  static Context background();
  /// `clock` must outlive the context.
  Context(const Clock& clock, std::stop_token stop);

  /// A copy whose deadline is at most `limit` from now.
  [[nodiscard]] Context with_timeout(Duration limit) const;
  /// A copy that is also cancelled by `stop`; the earlier of both counts.
  [[nodiscard]] Context with_stop(std::stop_token stop) const;

  [[nodiscard]] bool cancelled() const;
  /// Time left, zero when past the deadline, Duration::max() without one.
  [[nodiscard]] Duration remaining() const;
  /// Error kind kCancelled with reason "cancelled" or "timeout" when work should stop, else
  /// success.
  [[nodiscard]] Result<> check() const;
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  /// Waits `how_long` or until cancelled or past the deadline; false when it was cut short.
  bool sleep(Duration how_long) const;

  /// Calls `wake` once when this context is cancelled (not at its deadline), at once if it already
  /// is. Nothing is called any more after the returned handle is gone. `wake` runs on the
  /// cancelling thread and must be quick.
  [[nodiscard]] std::shared_ptr<void> on_cancel(std::function<void()> wake) const;

 private:
  const Clock* clock_;
  std::stop_token stop_;
  std::shared_ptr<const Context> parent_;  // set by with_stop only
  SteadyTime deadline_ = SteadyTime::max();
};

}  // namespace kollect::base
