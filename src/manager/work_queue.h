// Keys of objects that wait to be looked at (spec: runtime 4).
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/clock.h"

namespace kollect::manager {

/// Name of an object; `ns` is "" for cluster-scoped ones.
struct Key {
  std::string ns;
  std::string name;
  auto operator<=>(const Key&) const = default;
  [[nodiscard]] std::string text() const { return ns.empty() ? name : ns + "/" + name; }
};

/// A key is worked by one worker at a time; adds while it waits or is worked on collapse into one
/// further run. Thread-safe.
class WorkQueue {
 public:
  struct Options {
    base::Duration backoff_base = std::chrono::milliseconds(5);
    base::Duration backoff_cap = std::chrono::seconds(1000);
  };
  explicit WorkQueue(const base::Clock& clock) : WorkQueue(clock, Options{}) {}
  WorkQueue(const base::Clock& clock, Options options) : clock_(clock), options_(options) {}

  void add(const Key& key);
  /// One wake-up per key: an earlier one that is planned stays, a later one is replaced.
  void add_after(const Key& key, base::Duration wait);
  /// After an error: waits twice as long each time.
  void add_failed(const Key& key);
  /// Ends the doubling of add_failed.
  void forget(const Key& key);

  /// Blocks until a key is due; nothing when stopped. Call done() when it has been worked.
  std::optional<Key> take(const std::stop_token& stop);
  /// Nothing instead of waiting.
  std::optional<Key> try_take();
  void done(const Key& key);
  /// Wakes all who wait in take().
  void wake_all() { changed_.notify_all(); }

  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t running() const;
  struct Counts {
    std::size_t due = 0;  ///< could be taken now; waiting() has those that are planned as well
    std::size_t running = 0;
    std::uint64_t adds = 0;
    std::uint64_t retries = 0;
  };
  [[nodiscard]] Counts counts() const;
  /// When the next planned key is due.
  [[nodiscard]] std::optional<base::SteadyTime> next_due() const;

 private:
  void plan(const Key& key, base::SteadyTime when);
  std::optional<Key> pop_due(base::SteadyTime now);

  const base::Clock& clock_;
  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Key, base::SteadyTime> planned_;
  std::set<std::pair<base::SteadyTime, Key>> order_;
  std::set<Key> running_;
  std::map<Key, base::SteadyTime> again_;  ///< added while running
  std::map<Key, std::uint32_t> failures_;
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace kollect::manager
