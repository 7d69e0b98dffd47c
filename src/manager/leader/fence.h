// The permission to write that a leader has, and loses by the mere passing of time (spec: runtime
// 1).
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "base/clock.h"
#include "base/context.h"
#include "sinks/sink.h"

namespace kollect::manager {

/// Shut at first. It stands until a moment of the local monotonic clock that each renewal of the
/// lease moves on, and falls for ever when that moment comes or somebody lets it fall. Whoever
/// writes asks it: a process that was stopped and goes on later finds it fallen before any of its
/// threads had a turn. Thread-safe.
class Fence {
 public:
  /// `clock` must outlive it.
  explicit Fence(const base::Clock& clock) : clock_(clock), time_(*this) {}
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  /// Stands for ever: there is one writer only.
  void open() { extend(base::SteadyTime::max()); }
  /// Stands until then. Nothing when it has fallen.
  void extend(base::SteadyTime until);
  /// Cancels everything that runs inside it.
  void fall();

  [[nodiscard]] bool stands() const;
  /// It does not stand any more, and never will again.
  [[nodiscard]] bool fallen() const;
  /// When it falls unless it is extended; SteadyTime::min() while it is shut.
  [[nodiscard]] base::SteadyTime until() const;

  /// A context that ends with `outer` and with the fence. Whether the fence stands is looked at
  /// each time the context is, not only when somebody calls fall(). Lives as long as this.
  class Work {
   public:
    Work(const Fence& fence, const base::Context& outer);
    [[nodiscard]] const base::Context& context() const { return context_; }

   private:
    using Callback = std::stop_callback<std::function<void()>>;
    std::stop_source stop_;
    base::Context context_;
    std::shared_ptr<void> outer_;
    Callback fallen_;
  };

 private:
  /// Time as it is for those who work inside: all deadlines are past when the fence has fallen.
  class Time final : public base::Clock {
   public:
    explicit Time(const Fence& fence) : fence_(fence) {}
    base::WallTime now() const override { return fence_.clock_.now(); }
    base::SteadyTime steady_now() const override;
    bool sleep(base::Duration how_long, const std::stop_token& stop) const override {
      return fence_.clock_.sleep(how_long, stop);
    }
    [[nodiscard]] base::Duration real_time(base::Duration how_long) const override {
      return fence_.clock_.real_time(how_long);
    }

   private:
    const Fence& fence_;
  };

  const base::Clock& clock_;
  const Time time_;
  std::atomic<base::SteadyTime> until_ = base::SteadyTime::min();
  std::stop_source fall_;
};

/// The sink, behind the fence: nothing begins unless it stands, what runs is cancelled when it
/// falls. Error: cancelled, reason "fenced". `fence` must outlive the sink.
std::unique_ptr<sinks::Sink> behind(const Fence& fence, std::unique_ptr<sinks::Sink> sink);

}  // namespace kollect::manager
