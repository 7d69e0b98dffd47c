#include "exporter/schedule.h"

#include <algorithm>

namespace kollect::exporter {

std::string_view to_string(Why why) {
  switch (why) {
    case Why::kNone:
      return "none";
    case Why::kFirst:
      return "first";
    case Why::kSpec:
      return "spec";
    case Why::kChange:
      return "change";
    case Why::kRefresh:
      return "refresh";
    case Why::kRetry:
      return "retry";
  }
  return "none";
}

base::Duration Schedule::interval() const {
  // Wake-ups are never sooner than a second, so shorter intervals behave like none.
  return settings_.interval < std::chrono::seconds(1) ? base::Duration::zero() : settings_.interval;
}

base::Duration Schedule::jittered(base::Duration duration, double part) {
  if (part == 0) return duration;
  const double factor = std::uniform_real_distribution<double>(1 - part, 1 + part)(random_);
  return base::Duration(
      static_cast<base::Duration::rep>(static_cast<double>(duration.count()) * factor));
}

void Schedule::configure(ScheduleSettings settings, base::SteadyTime now) {
  if (settings == settings_) return;
  const bool another = settings.identity != settings_.identity;
  const bool another_interval = settings.interval != settings_.interval;
  settings_ = std::move(settings);
  if (another) {
    record_.reset();
    failures_ = 0;
    terminal_ = false;
  }
  // Waiting is over: whoever edited wants to see what comes of it.
  if (failures_ > 0) retry_at_ = now;
  if (record_ && another_interval) plan_refresh();
}

void Schedule::plan_refresh() {
  record_->refresh_at = record_->at + jittered(interval(), options_.refresh_jitter);
}

void Schedule::signal(base::SteadyTime now) {
  if (!first_signal_) first_signal_ = now;
  last_signal_ = now;
}

base::SteadyTime Schedule::settled_at() const {
  return std::min(last_signal_ + options_.quiet, *first_signal_ + options_.longest_wait);
}

Schedule::Look Schedule::look_failed(base::SteadyTime now, base::SteadyTime sink_free) const {
  base::SteadyTime due = retry_at_;
  if (terminal_) {
    // Only something else can mend it: a spec (see configure), or the rows.
    if (first_signal_) due = std::min(due, settled_at());
  } else {
    due = std::max(due, sink_free);
  }
  if (now >= due) return {.why = Why::kRetry, .next = {}};
  return {.why = Why::kNone, .next = due};
}

Schedule::Look Schedule::look(base::SteadyTime now, bool pending, base::SteadyTime sink_free) {
  if (held_ || running_) return {};
  if (failures_ > 0) return look_failed(now, sink_free);
  if (!record_) {
    const auto due = std::max(not_before_, sink_free);
    return now >= due ? Look{.why = Why::kFirst, .next = {}} : Look{.why = Why::kNone, .next = due};
  }
  if (sink_free > now) return {.why = Why::kNone, .next = sink_free};
  if (record_->generation != settings_.generation) return {.why = Why::kSpec, .next = {}};
  if (first_signal_ && !pending) first_signal_.reset();  // the last pass had it already
  if (first_signal_) {
    const auto due = settled_at();
    return now >= due ? Look{.why = Why::kChange, .next = {}}
                      : Look{.why = Why::kNone, .next = due};
  }
  if (interval() == base::Duration::zero()) {
    return {.why = Why::kNone, .next = now + options_.watchdog};
  }
  if (now >= record_->refresh_at) return {.why = Why::kRefresh, .next = {}};
  return {.why = Why::kNone,
          .next = std::max(record_->refresh_at, now + base::Duration(std::chrono::seconds(1)))};
}

void Schedule::succeeded(base::SteadyTime at, const ScheduleSettings& settings) {
  running_ = false;
  failures_ = 0;
  terminal_ = false;
  if (settings.identity != settings_.identity) return;  // it went to a sink that is not meant now
  record_ = Record{.at = at, .refresh_at = at, .generation = settings.generation};
  plan_refresh();
}

void Schedule::gave_way(base::SteadyTime now) {
  running_ = false;
  ++gave_way_;
  if (record_) record_->refresh_at = now + std::min(interval(), options_.give_way_pause);
}

void Schedule::failed(base::SteadyTime now, bool terminal) {
  running_ = false;
  ++failures_;
  terminal_ = terminal;
  if (terminal) {
    retry_at_ = now + options_.terminal_retry;
    return;
  }
  base::Duration cap = options_.retry_cap;
  if (interval() > base::Duration::zero()) cap = std::min(cap, interval());
  const std::uint32_t doublings = std::min<std::uint32_t>(failures_ - 1, 20);
  const base::Duration wait = std::min(cap, options_.retry_base * (std::int64_t{1} << doublings));
  retry_at_ = now + std::min(cap, jittered(wait, options_.retry_jitter));
}

}  // namespace kollect::exporter
