// The permission to write that a leader has, and loses by the mere passing of time (spec: runtime
// 1).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "sinks/sink.h"

namespace kollect::manager {

class Fence;

/// Where those who write find the fence that they have to stand behind. Thread-safe.
class Fences {
 public:
  virtual ~Fences() = default;
  /// Of what belongs to the namespace ("": of what has none). Never null. Ask anew for each write:
  /// a fence that has fallen may have been replaced.
  [[nodiscard]] virtual std::shared_ptr<const Fence> of(std::string_view ns) const = 0;
};

/// Shut at first. It stands until a moment of the local monotonic clock that each renewal of the
/// lease moves on, and falls for ever when that moment comes or somebody lets it fall. Whoever
/// writes asks it: a process that was stopped and goes on later finds it fallen before any of its
/// threads had a turn. Of itself it is the fence of everything. Thread-safe.
class Fence final : public Fences {
 public:
  /// `clock` must outlive it. It stands only while `outer` does, and falls with it; null: alone.
  explicit Fence(const base::Clock& clock, std::shared_ptr<const Fence> outer = nullptr);
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
  /// Work goes on inside it, or has not noticed its fall yet.
  [[nodiscard]] bool busy() const { return inside_ > 0; }
  /// Itself, not owned.
  [[nodiscard]] std::shared_ptr<const Fence> of(std::string_view ns) const override;

  using Callback = std::stop_callback<std::function<void()>>;
  /// A context that ends with `outer` and with the fence. Whether the fence stands is looked at
  /// each time the context is, not only when somebody calls fall(). Lives as long as this.
  class Work {
   public:
    Work(const Fence& fence, const base::Context& outer);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    [[nodiscard]] const base::Context& context() const { return context_; }

   private:
    const Fence& fence_;
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
  mutable std::atomic<int> inside_ = 0;
  const std::shared_ptr<const Fence> outer_;
  std::optional<Callback> outer_falls_;
};

/// The sink, each pass behind the fence of its inventory's namespace: nothing begins unless that
/// stands, what runs is cancelled when it falls. Error: cancelled, reason "fenced". `fences` must
/// outlive the sink.
std::unique_ptr<sinks::Sink> behind(const Fences& fences, std::unique_ptr<sinks::Sink> sink);

}  // namespace kollect::manager
