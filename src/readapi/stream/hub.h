// One look at what changes for all who listen (spec: runtime 13.4).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "readapi/feed.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// One change, written once for everybody. Immutable.
class Event {
 public:
  Event(std::uint64_t number, const std::string& epoch, const RowNews& news);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Good as long as the event.
  [[nodiscard]] const RowNews& news() const { return news_; }
  /// The frame of the stream, complete.
  [[nodiscard]] std::string_view frame() const { return frame_; }
  /// The same row as one that is not there any more, for whom it does not concern now.
  void append_as_removed(std::string& out, const std::string& epoch) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::uint64_t number_;
  std::string keys_;
  std::string frame_;
  RowNews news_;  ///< into the texts
};

struct HubOptions {
  std::size_t buffer_bytes = 32U << 20U;
  /// Changes are gathered for so long.
  base::Duration pace = std::chrono::milliseconds(50);
  /// A feed that does not tell is asked this often.
  base::Duration poll = std::chrono::seconds(1);
  /// What changes is remembered for so long after the last client has gone.
  base::Duration linger = std::chrono::minutes(5);
};

/// Reads the feed while somebody listens and keeps the last changes, bounded in bytes. Events are
/// numbered; "<epoch>-<number>" names the state behind one, and no other hub has this epoch.
/// Thread-safe.
class Hub {
 public:
  /// References must outlive it.
  Hub(Feed& feed, const base::Clock& clock, const base::Logger* log, HubOptions options);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// A listener, until it is destroyed. `wake` is called when there is something new, from any
  /// thread.
  class Listener {
   public:
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    friend class Hub;
    Listener(Hub& hub, std::function<void()> wake) : hub_(hub), wake_(std::move(wake)) {}
    Hub& hub_;
    std::function<void()> wake_;
  };
  /// Opens the feed for the first one.
  std::unique_ptr<Listener> listen(std::function<void()> wake);

  struct Batch {
    std::vector<std::shared_ptr<const Event>> events;
    bool lost = false;  ///< what follows `after` is not kept any more
  };
  /// What follows the event of this number, some `bytes` of it.
  [[nodiscard]] Batch after(std::uint64_t number, std::size_t bytes) const;
  /// Number of the newest event.
  [[nodiscard]] std::uint64_t newest() const;
  /// Grows whenever something changed, row by row or not.
  [[nodiscard]] std::uint64_t generation() const;
  [[nodiscard]] const std::string& epoch() const { return epoch_; }
  [[nodiscard]] std::string state(std::uint64_t number) const;
  /// The number of a state; none of another epoch, or when it is none, or lies ahead.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view state) const;
  [[nodiscard]] std::size_t kept_bytes() const;

  /// Runs on a thread of its own from now on, until the end of its life.
  void start();
  /// One look.
  void turn();

 private:
  void run(const std::stop_token& stop);
  void leave(Listener& listener);
  void wake_all();
  void ensure_open();
  void rest();

  Feed& feed_;
  const base::Clock& clock_;
  const base::Logger* log_;
  const HubOptions options_;
  const std::string epoch_;
  bool told_ = false;  ///< the feed says when there is news

  std::mutex feed_mutex_;  ///< of calls to the feed, and before the other one
  bool open_ = false;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool news_ = false;
  std::deque<std::shared_ptr<const Event>> ring_;
  std::size_t bytes_ = 0;
  std::uint64_t newest_ = 0;
  std::uint64_t oldest_known_ = 0;  ///< what follows this number is in the ring
  std::uint64_t generation_ = 0;
  base::SteadyTime alone_since_{};
  bool failing_ = false;
  std::mutex listeners_mutex_;  ///< held while they are woken
  std::set<Listener*> listeners_;
  std::jthread thread_;  ///< last: ends first
};

}  // namespace kollect::readapi
