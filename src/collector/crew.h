// A few threads that do one job after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/context.h"

namespace kollect::collector {

/// Jobs get a context that ends with the crew. Thread-safe.
class Crew {
 public:
  using Job = std::function<void(const base::Context&)>;
  Crew(const base::Clock& clock, std::size_t threads);
  ~Crew() { stop(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// After stop() jobs are dropped.
  void post(Job job);
  /// Cancels the running jobs, drops the waiting ones, waits.
  void stop();

 private:
  void run(const std::stop_token& stop);

  const base::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> jobs_;
  bool stopped_ = false;
  std::stop_source stop_;
  std::vector<std::jthread> threads_;
};

}  // namespace kollect::collector
