// When one binding exports: a state machine without threads, stores or sinks (spec: runtime 9).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace kollect::exporter {

struct ScheduleSettings {
  base::Duration interval = std::chrono::seconds(30);  ///< effective; below one second counts as 0
  std::int64_t generation = 0;                         ///< of the inventory
  /// Sink's uid, its spec and secrets, and the inventory's uid: another one starts over.
  std::string identity;
  bool operator==(const ScheduleSettings&) const = default;
};

/// Numbers that are the same for all bindings.
struct ScheduleOptions {
  base::Duration quiet = std::chrono::milliseconds(50);  ///< of signals before a change is exported
  base::Duration longest_wait = std::chrono::milliseconds(150);  ///< under signals that never end
  base::Duration watchdog = std::chrono::seconds(30);  ///< look of a binding without refreshes
  base::Duration retry_base = std::chrono::seconds(1);
  base::Duration retry_cap = std::chrono::minutes(5);
  base::Duration terminal_retry = std::chrono::minutes(10);
  double refresh_jitter = 0.1;  ///< part of the interval, both ways
  double retry_jitter = 0.2;
  /// How often in a row a refresh gives way to changes, and how long it then waits. Then it goes on
  /// to its end, and a change waits for that: seldom enough not to be felt.
  std::uint32_t give_ways = 20;
  base::Duration give_way_pause = std::chrono::seconds(5);
};

/// Why a pass is due.
enum class Why { kNone, kFirst, kSpec, kChange, kRefresh, kRetry };
std::string_view to_string(Why why);

/// One thread at a time. Times are handed in.
class Schedule {
 public:
  Schedule(ScheduleOptions options, std::uint64_t seed) : options_(options), random_(seed) {}

  /// New settings. Another identity forgets the record of the last export and failures.
  void configure(ScheduleSettings settings, base::SteadyTime now);
  /// While held nothing is due: suspended, or a target's first list is not complete.
  void hold(bool held) { held_ = held; }
  [[nodiscard]] bool held() const { return held_; }
  /// The first export waits until then.
  void not_before(base::SteadyTime when) { not_before_ = when; }
  /// Rows changed.
  void signal(base::SteadyTime now);

  struct Look {
    Why why = Why::kNone;
    std::optional<base::SteadyTime>
        next;  ///< without a reason: when to look again; none: on events
  };
  /// `pending`: rows changed since what the backend has confirmed. `sink_free`: when the sink's
  /// breaker lets a call through.
  Look look(base::SteadyTime now, bool pending, base::SteadyTime sink_free);

  /// A pass takes the rows as they are now; later signals are of changes that it may not have.
  void begin() {
    running_ = true;
    first_signal_.reset();
  }
  /// The pass that began wrote its rows under these settings; `at` is its export time.
  void succeeded(base::SteadyTime at, const ScheduleSettings& settings);
  void failed(base::SteadyTime now, bool terminal);
  /// The pass was given up (cancelled) without an outcome.
  void abandoned() { running_ = false; }
  /// A pass found the whole set in the backend, or put it there.
  void compared() { gave_way_ = 0; }
  /// The refresh ended early for a change: it is due again later.
  void gave_way(base::SteadyTime now);
  /// False when changes have kept the refresh from its end often enough.
  [[nodiscard]] bool may_give_way() const { return gave_way_ < options_.give_ways; }

  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] bool exported_once() const { return record_.has_value(); }
  [[nodiscard]] std::uint32_t failures() const { return failures_; }
  [[nodiscard]] const ScheduleSettings& settings() const { return settings_; }
  /// The backend's state is known to be the record's: a change can be sent as a difference.
  [[nodiscard]] bool confirmed() const { return record_ && failures_ == 0; }

 private:
  struct Record {
    base::SteadyTime at;
    base::SteadyTime refresh_at;
    std::int64_t generation = 0;
  };
  [[nodiscard]] base::Duration interval() const;
  base::Duration jittered(base::Duration duration, double part);
  [[nodiscard]] Look look_failed(base::SteadyTime now, base::SteadyTime sink_free) const;
  /// When the rows have been quiet long enough.
  [[nodiscard]] base::SteadyTime settled_at() const;
  void plan_refresh();

  ScheduleOptions options_;
  std::minstd_rand random_;
  ScheduleSettings settings_;
  std::optional<Record> record_;
  bool held_ = false;
  bool running_ = false;
  base::SteadyTime not_before_{};
  std::optional<base::SteadyTime> first_signal_;
  base::SteadyTime last_signal_{};
  std::uint32_t failures_ = 0;
  std::uint32_t gave_way_ = 0;
  bool terminal_ = false;
  base::SteadyTime retry_at_{};
};

}  // namespace kollect::exporter
