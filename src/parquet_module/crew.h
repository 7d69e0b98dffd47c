// Two threads for the columns of a row group: the caller's and one more.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

/// Runs numbered jobs on a thread of its own; a caller who has to wait for them takes some over.
/// Used by one thread. The object's end drops jobs that nobody has begun.
class Crew {
 public:
  using Work = std::function<void(std::size_t)>;
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Begins work(0) to work(count - 1), in any order; the ones before must be finished.
  void start(std::size_t count, Work work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
      next_ = 0;
      count_ = count;
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
  }

  /// Comes back when all is done. Throws what a job has thrown; the rest is not begun then.
  void finish() {
    std::unique_lock lock(mutex_);
    while (next_ < count_) take_one(lock);
    changed_.wait(lock, [&] { return busy_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return over_ || next_ < count_; });
      if (over_) return;
      take_one(lock);
      if (busy_ == 0) changed_.notify_all();
    }
  }

  void take_one(std::unique_lock<std::mutex>& lock) {
    const std::size_t number = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work_(number);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    --busy_;
    if (thrown && !error_) error_ = thrown;
    if (thrown) next_ = count_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  std::size_t busy_ = 0;
  std::exception_ptr error_;
  bool over_ = false;
  std::thread thread_;
};
