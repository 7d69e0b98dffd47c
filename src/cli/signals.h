// SIGINT and SIGTERM: the first asks to stop, the second ends at once (spec: pipeline 11).
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace kollect::cli {

/// Installed for the life of the program's main function; one at a time. SIGPIPE is ignored, so
/// that a closed pipe is a write error.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  /// The signal that came, 0 before.
  [[nodiscard]] const std::atomic<int>& number() const { return number_; }

 private:
  int read_end_ = -1;
  std::stop_source stop_;
  std::atomic<int> number_ = 0;
  std::jthread thread_;
};

}  // namespace kollect::cli
