#include "manager/leader/election.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kollect::manager {
namespace {

/// Standbys spread their questions by up to this part of the retry period.
constexpr double kJitter = 0.2;

base::Duration whole_seconds(base::Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration);
}

}  // namespace

std::string_view to_string(Election::State state) {
  switch (state) {
    case Election::State::kStandby:
      return "standby";
    case Election::State::kLeading:
      return "leading";
    case Election::State::kLost:
      return "lost";
    case Election::State::kReleased:
      return "released";
  }
  return "";
}

base::Result<> ElectionTimes::check() const {
  if (base::Duration::zero() < retry && retry < renew_deadline && renew_deadline < lease) return {};
  return base::configuration(
      fmt::format("the retry period ({}) must be shorter than the renew deadline ({}), and that "
                  "shorter than the lease ({})",
                  base::format_duration(retry), base::format_duration(renew_deadline),
                  base::format_duration(lease)));
}

Election::Election(std::string identity, ElectionTimes times, std::uint64_t seed)
    : identity_(std::move(identity)), times_(times), random_(seed) {}

void Election::ask(Ask what, base::SteadyTime when) {
  ask_ = what;
  when_ = when;
}

void Election::lose(std::string why) {
  state_ = State::kLost;
  why_lost_ = std::move(why);
}

/// When the holder that was seen last counts as gone. The time that it promised counts, not ours:
/// the flags may differ while a new version is rolled out.
base::SteadyTime Election::free_at() const {
  if (seen_.holder.empty() || seen_.holder == identity_) return base::SteadyTime::min();
  return seen_at_ + (seen_.duration > base::Duration::zero() ? seen_.duration : times_.lease);
}

/// A record in another state than before is news, whatever its own times say: clocks differ.
void Election::see(const LeaseRecord& record, base::SteadyTime now) {
  const bool news = record.version != seen_.version || record.holder != seen_.holder;
  seen_ = record;
  if (news) seen_at_ = now;
}

void Election::wait_to_read(base::SteadyTime now) {
  std::uniform_real_distribution<double> part(1.0, 1.0 + kJitter);
  const auto pause = std::chrono::duration_cast<base::Duration>(times_.retry * part(random_));
  const base::SteadyTime free = free_at();
  ask(Ask::kRead, free > now ? std::min(now + pause, free) : now + pause);
}

LeaseRecord Election::claim(base::WallTime wall) const {
  LeaseRecord record = seen_;
  const bool anew = seen_.holder != identity_;
  record.holder = identity_;
  record.duration = whole_seconds(times_.lease);
  record.renewed = wall;
  if (anew) {
    record.acquired = wall;
    if (!seen_.version.empty()) ++record.transitions;
  }
  return record;
}

Election::Move Election::next(base::SteadyTime now, base::WallTime wall) {
  if (state_ == State::kLeading && now >= until_) {
    lose(fmt::format("the lease could not be renewed for {}",
                     base::format_duration(times_.renew_deadline)));
  }
  if (state_ == State::kLost || state_ == State::kReleased) return {};
  if (when_ > now) {
    return {.ask = Ask::kWait, .when = state_ == State::kLeading ? std::min(when_, until_) : when_};
  }
  Move move{.ask = ask_, .when = now};
  if (ask_ == Ask::kCreate || ask_ == Ask::kUpdate) {
    move.record = claim(wall);
    claiming_ = true;
  }
  if (ask_ == Ask::kCreate) move.record.version.clear();
  if (ask_ == Ask::kUpdate && releasing_) {
    move.record.holder.clear();
    move.record.duration = std::chrono::seconds(1);
  }
  return move;
}

void Election::answered(const Move& move, const base::Result<LeaseRecord>& answer,
                        base::SteadyTime sent, base::SteadyTime now) {
  claiming_ = false;
  if (state_ == State::kStandby) {
    standby_answered(move, answer, sent, now);
    if (releasing_) release(now);
  } else if (state_ == State::kLeading && now < until_) {  // else next() tells
    leader_answered(move, answer, sent, now);
  }
}

void Election::standby_answered(const Move& move, const base::Result<LeaseRecord>& answer,
                                base::SteadyTime sent, base::SteadyTime now) {
  if (!answer) {
    // A lease that was deleted does not end its holder's time: that one may not know yet.
    const bool free = answer.error().kind == base::ErrorKind::kNotFound && now >= free_at();
    if (free && move.ask == Ask::kRead) {
      ask(Ask::kCreate, now);
    } else {
      wait_to_read(now);
    }
    return;
  }
  see(*answer, now);
  if (move.ask == Ask::kRead) {
    // Our own name: an earlier request was done although its answer was lost.
    if (now >= free_at()) {
      ask(Ask::kUpdate, now);
    } else {
      wait_to_read(now);
    }
    return;
  }
  if (now >= sent + times_.renew_deadline) {  // it took too long to mean anything
    ask(Ask::kRead, now);
    return;
  }
  state_ = State::kLeading;
  until_ = sent + times_.renew_deadline;
  ask(Ask::kUpdate, std::max(now, sent + times_.retry));
}

void Election::leader_answered(const Move& move, const base::Result<LeaseRecord>& answer,
                               base::SteadyTime sent, base::SteadyTime now) {
  if (!answer) {
    const base::ErrorKind kind = answer.error().kind;
    if (kind == base::ErrorKind::kConflict) {
      ask(Ask::kRead, now);
    } else if (kind != base::ErrorKind::kNotFound) {
      ask(ask_, now + times_.retry);
    } else if (releasing_) {
      state_ = State::kReleased;
    } else {
      ask(Ask::kCreate, now);
    }
    return;
  }
  see(*answer, now);
  if (move.ask == Ask::kRead) {
    if (seen_.holder == identity_) {
      ask(Ask::kUpdate, now);
    } else {
      lose(seen_.holder.empty() ? "somebody took the lease away"
                                : "the lease is held by " + seen_.holder);
    }
    return;
  }
  if (releasing_ && move.record.holder.empty()) {
    state_ = State::kReleased;
    return;
  }
  until_ = std::max(until_, sent + times_.renew_deadline);
  ask(Ask::kUpdate, releasing_ ? now : std::max(now, sent + times_.retry));
}

void Election::observed(const std::optional<LeaseRecord>& record, base::SteadyTime now) {
  if (state_ == State::kLeading) {
    // News of the time before may come late: only the server's answer counts.
    if (!releasing_ && (!record || record->holder != identity_)) ask(Ask::kRead, now);
    return;
  }
  if (state_ != State::kStandby || claiming_) return;
  if (record) see(*record, now);
  if (!record || now >= free_at()) {
    ask(Ask::kRead, now);
  } else {
    wait_to_read(now);
  }
}

void Election::release(base::SteadyTime now) {
  releasing_ = true;
  if (state_ == State::kStandby && !claiming_) state_ = State::kReleased;
  if (state_ == State::kLeading) ask(Ask::kUpdate, now);
}

}  // namespace kollect::manager
