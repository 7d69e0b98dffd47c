#include "manager/leader/election.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using State = Election::State;
using Ask = Election::Ask;

constexpr base::SteadyTime kZero{};
const base::WallTime kWall = base::WallTime(base::Duration(1000h));

LeaseRecord held_by(const std::string& holder, const std::string& version,
                    base::Duration duration = 60s) {
  return {.holder = holder, .duration = duration, .transitions = 4, .version = version};
}

/// One candidate "me" and its time.
struct Candidate {
  Election election{"me", ElectionTimes(), 1};
  base::SteadyTime now = kZero + 100s;

  /// What it asks now; it must ask something.
  Election::Move asks(Ask what) {
    Election::Move move = election.next(now, kWall);
    EXPECT_EQ(move.ask, what) << "at " << base::format_duration(now - kZero);
    return move;
  }
  /// It asks `what`, and the answer comes `took` later.
  void step(Ask what, const base::Result<LeaseRecord>& answer, base::Duration took = {}) {
    const Election::Move move = asks(what);
    const base::SteadyTime sent = now;
    now += took;
    election.answered(move, answer, sent, now);
  }
  /// Goes on to the next question and gives how long that took.
  base::Duration wait() {
    const Election::Move move = asks(Ask::kWait);
    const base::Duration waited = move.when - now;
    now = move.when;
    return waited;
  }
  void leads_since_now() {
    step(Ask::kRead, base::not_found("no lease"));
    step(Ask::kCreate, held_by("me", "1"));
    EXPECT_EQ(election.state(), State::kLeading);
  }
};

const base::Result<LeaseRecord> kConflict = base::conflict("changed", "conflict");
const base::Result<LeaseRecord> kCut = base::retryable("no answer", "unreachable");

TEST(Election, TimesAreChecked) {
  EXPECT_TRUE(ElectionTimes().check());
  EXPECT_FALSE((ElectionTimes{.lease = 40s, .renew_deadline = 40s, .retry = 5s}.check()));
  EXPECT_FALSE((ElectionTimes{.lease = 60s, .renew_deadline = 5s, .retry = 5s}.check()));
  EXPECT_FALSE((ElectionTimes{.lease = 60s, .renew_deadline = 40s, .retry = 0s}.check()));
}

TEST(Election, WithoutALeaseTheFirstMakesOneAndLeads) {
  Candidate me;
  me.step(Ask::kRead, base::not_found("no lease"));
  const Election::Move create = me.asks(Ask::kCreate);
  EXPECT_EQ(create.record.holder, "me");
  EXPECT_EQ(create.record.duration, 60s);
  EXPECT_EQ(create.record.transitions, 0);
  EXPECT_EQ(create.record.acquired, kWall);
  EXPECT_EQ(create.record.renewed, kWall);
  me.step(Ask::kCreate, held_by("me", "1"), 3s);
  EXPECT_EQ(me.election.state(), State::kLeading);
  // Counted from before the request was sent.
  EXPECT_EQ(me.election.until(), kZero + 100s + 40s);
}

TEST(Election, TheSlowerOfTwoMakersWaits) {
  Candidate me;
  me.step(Ask::kRead, base::not_found("no lease"));
  me.step(Ask::kCreate, base::conflict("is there", "already-exists"));
  EXPECT_EQ(me.election.state(), State::kStandby);
  EXPECT_GE(me.wait(), 5s);
  me.step(Ask::kRead, held_by("other", "1"));
  EXPECT_EQ(me.election.holder(), "other");
  EXPECT_EQ(me.asks(Ask::kWait).ask, Ask::kWait);
}

TEST(Election, ALeaseThatWasGivenUpIsTakenAtOnce) {
  Candidate me;
  me.step(Ask::kRead, held_by("", "9", 1s));
  const Election::Move update = me.asks(Ask::kUpdate);
  EXPECT_EQ(update.record.version, "9");
  EXPECT_EQ(update.record.transitions, 5);
  me.step(Ask::kUpdate, held_by("me", "10"));
  EXPECT_EQ(me.election.state(), State::kLeading);
}

TEST(Election, ASilentHolderIsReplacedAfterItsLeaseAndNotBefore) {
  for (const base::Duration promised : {60s, 15s, 0s}) {
    Candidate me;
    const base::SteadyTime seen = me.now + 2s;
    me.step(Ask::kRead, held_by("other", "7", promised), 2s);
    const base::SteadyTime free = seen + (promised > 0s ? promised : 60s);
    while (me.now < free) {
      me.wait();
      me.step(Ask::kRead, held_by("other", "7", promised));
    }
    EXPECT_EQ(me.now, free);  // asked at the very moment
    me.step(Ask::kUpdate, held_by("me", "8"));
    EXPECT_EQ(me.election.state(), State::kLeading);
  }
}

TEST(Election, EachRenewalOfTheHolderStartsTheTimeAnew) {
  Candidate me;
  int version = 1;
  const base::SteadyTime end = me.now + 600s;
  while (me.now < end) {
    me.step(Ask::kRead, held_by("other", std::to_string(version++)));
    me.wait();
  }
  EXPECT_EQ(me.election.state(), State::kStandby);
}

TEST(Election, WallClocksDecideNothing) {
  for (const base::Duration skew : {-1000000s, 1000000s}) {
    Candidate me;
    LeaseRecord record = held_by("other", "7");
    record.renewed = kWall + skew;
    me.step(Ask::kRead, record);
    EXPECT_EQ(me.asks(Ask::kWait).ask, Ask::kWait);
    me.now += 60s;
    me.step(Ask::kRead, record);
    EXPECT_EQ(me.asks(Ask::kUpdate).ask, Ask::kUpdate);
  }
}

TEST(Election, WhoIsSecondAtAFreeLeaseWaitsForTheFirst) {
  Candidate me;
  me.step(Ask::kRead, held_by("", "9"));
  me.step(Ask::kUpdate, kConflict);
  EXPECT_GE(me.wait(), 5s);
  me.step(Ask::kRead, held_by("other", "10"));
  EXPECT_EQ(me.election.state(), State::kStandby);
}

TEST(Election, AStandbyThatCannotAskWaits) {
  Candidate me;
  me.step(Ask::kRead, kCut);
  EXPECT_GE(me.wait(), 5s);
  me.step(Ask::kRead, base::denied("no", "forbidden"));
  EXPECT_GE(me.wait(), 5s);
  me.step(Ask::kRead, held_by("", "1"));
  me.asks(Ask::kUpdate);
}

TEST(Election, AClaimWhoseAnswerWasLostIsFoundAgain) {
  Candidate me;
  me.step(Ask::kRead, held_by("", "9"));
  me.step(Ask::kUpdate, kCut);  // done, but nobody said so
  EXPECT_EQ(me.election.state(), State::kStandby);
  me.wait();
  me.step(Ask::kRead, held_by("me", "10"));
  const base::SteadyTime sent = me.now;
  me.step(Ask::kUpdate, held_by("me", "11"));
  EXPECT_EQ(me.election.state(), State::kLeading);
  EXPECT_EQ(me.election.until(), sent + 40s);
}

TEST(Election, AnAnswerThatComesAfterItsTimeMakesNobodyLeader) {
  Candidate me;
  me.step(Ask::kRead, held_by("", "9"));
  me.step(Ask::kUpdate, held_by("me", "10"), 40s);
  EXPECT_EQ(me.election.state(), State::kStandby);
  me.step(Ask::kRead, held_by("me", "10"));
  me.step(Ask::kUpdate, held_by("me", "11"));
  EXPECT_EQ(me.election.state(), State::kLeading);
}

TEST(Election, ADeletedLeaseDoesNotEndItsHoldersTime) {
  Candidate me;
  me.step(Ask::kRead, held_by("other", "7"));
  const base::SteadyTime free = me.now + 60s;
  while (me.now < free) {
    me.wait();
    if (me.now < free) me.step(Ask::kRead, base::not_found("no lease"));
  }
  me.step(Ask::kRead, base::not_found("no lease"));
  me.asks(Ask::kCreate);
}

TEST(Election, ALeaderRenewsAndItsTimeMovesOn) {
  Candidate me;
  me.leads_since_now();
  for (int i = 2; i < 50; ++i) {
    EXPECT_EQ(me.wait(), 5s);
    const Election::Move move = me.asks(Ask::kUpdate);
    EXPECT_EQ(move.record.transitions, 4);  // as the server has it
    const base::SteadyTime sent = me.now;
    me.step(Ask::kUpdate, held_by("me", std::to_string(i)));
    EXPECT_EQ(me.election.until(), sent + 40s);
  }
}

TEST(Election, ALeaderThatIsCutOffStopsAtItsDeadline) {
  Candidate me;
  const base::SteadyTime began = me.now;
  me.leads_since_now();
  while (true) {
    const Election::Move move = me.election.next(me.now, kWall);
    if (move.ask == Ask::kNothing) break;
    if (move.ask == Ask::kWait) {
      me.now = move.when;
      continue;
    }
    const base::SteadyTime sent = me.now;
    me.now += 3s;
    me.election.answered(move, kCut, sent, me.now);
  }
  EXPECT_EQ(me.now, began + 40s);
  EXPECT_EQ(me.election.state(), State::kLost);
  EXPECT_EQ(me.election.why_lost(), "the lease could not be renewed for 40s");
}

TEST(Election, AnOutageShorterThanTheDeadlineIsSurvived) {
  Candidate me;
  me.leads_since_now();
  me.wait();
  for (int i = 0; i < 6; ++i) {
    me.step(Ask::kUpdate, kCut);
    me.wait();
  }
  me.step(Ask::kUpdate, held_by("me", "2"));
  EXPECT_EQ(me.election.state(), State::kLeading);
}

TEST(Election, ARenewalThatIsAnsweredTooLateDoesNotSave) {
  Candidate me;
  me.leads_since_now();
  me.wait();
  me.step(Ask::kUpdate, held_by("me", "2"), 36s);
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.state(), State::kLost);
}

TEST(Election, AProcessThatStoodStillIsLostBeforeItAsksAnything) {
  Candidate me;
  me.leads_since_now();
  me.now += 300s;
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.state(), State::kLost);
  me.election.observed(held_by("me", "2"), me.now);
  me.election.release(me.now);
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.state(), State::kLost);
}

TEST(Election, SomebodyElsesNoteOnTheLeaseDisturbsNobody) {
  Candidate me;
  me.leads_since_now();
  me.wait();
  me.step(Ask::kUpdate, kConflict);
  me.step(Ask::kRead, held_by("me", "5"));
  EXPECT_EQ(me.asks(Ask::kUpdate).record.version, "5");
  me.step(Ask::kUpdate, held_by("me", "6"));
  EXPECT_EQ(me.election.state(), State::kLeading);
}

TEST(Election, AStolenLeaseIsLostAtOnce) {
  Candidate me;
  me.leads_since_now();
  me.wait();
  me.step(Ask::kUpdate, kConflict);
  me.step(Ask::kRead, held_by("thief", "5"));
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.why_lost(), "the lease is held by thief");
}

TEST(Election, ALeaseThatWasTakenAwayIsLost) {
  Candidate me;
  me.leads_since_now();
  me.election.observed(held_by("", "5"), me.now);
  me.step(Ask::kRead, held_by("", "5"));
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.why_lost(), "somebody took the lease away");
}

TEST(Election, ALeaderMakesADeletedLeaseAnew) {
  Candidate me;
  me.leads_since_now();
  me.election.observed(std::nullopt, me.now);
  me.step(Ask::kRead, base::not_found("no lease"));
  me.step(Ask::kCreate, held_by("me", "8"));
  EXPECT_EQ(me.election.state(), State::kLeading);
  me.wait();
  EXPECT_EQ(me.asks(Ask::kUpdate).record.version, "8");
}

TEST(Election, WhatAWatchSeesSavesWaiting) {
  Candidate me;
  me.step(Ask::kRead, held_by("other", "7"));
  me.now += 1s;
  me.election.observed(held_by("other", "8"), me.now);
  me.asks(Ask::kWait);
  me.election.observed(held_by("", "9"), me.now);
  me.step(Ask::kRead, held_by("", "9"));
  me.step(Ask::kUpdate, held_by("me", "10"));
  EXPECT_EQ(me.election.state(), State::kLeading);
  // Its own renewals, and news of the time before, change nothing.
  me.election.observed(held_by("me", "10"), me.now);
  me.asks(Ask::kWait);
  me.election.observed(held_by("other", "8"), me.now);
  me.step(Ask::kRead, held_by("me", "10"));
  EXPECT_EQ(me.election.state(), State::kLeading);
}

TEST(Election, ALeaderGivesTheLeaseUp) {
  Candidate me;
  me.leads_since_now();
  me.election.release(me.now);
  const Election::Move move = me.asks(Ask::kUpdate);
  EXPECT_EQ(move.record.holder, "");
  EXPECT_EQ(move.record.duration, 1s);
  EXPECT_EQ(move.record.version, "1");
  me.step(Ask::kUpdate, held_by("", "2"));
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.state(), State::kReleased);
}

TEST(Election, AReleaseIsTriedAgainAndNeverTakesFromOthers) {
  Candidate me;
  me.leads_since_now();
  me.election.release(me.now);
  me.step(Ask::kUpdate, kCut);  // done, but nobody said so
  me.wait();
  me.step(Ask::kUpdate, kConflict);
  me.step(Ask::kRead, held_by("other", "3"));
  me.asks(Ask::kNothing);
  EXPECT_NE(me.election.state(), State::kLeading);

  Candidate deleted;
  deleted.leads_since_now();
  deleted.election.release(deleted.now);
  deleted.step(Ask::kUpdate, base::not_found("no lease"));
  EXPECT_EQ(deleted.election.state(), State::kReleased);
}

TEST(Election, AStandbyHasNothingToGiveUp) {
  Candidate me;
  me.step(Ask::kRead, held_by("other", "7"));
  me.election.release(me.now);
  me.asks(Ask::kNothing);
  EXPECT_EQ(me.election.state(), State::kReleased);
}

TEST(Election, AClaimUnderWayWhenTheProcessEndsIsGivenBack) {
  Candidate me;
  me.step(Ask::kRead, held_by("", "9"));
  const Election::Move claim = me.asks(Ask::kUpdate);
  me.election.release(me.now);
  me.election.answered(claim, held_by("me", "10"), me.now, me.now);
  EXPECT_EQ(me.asks(Ask::kUpdate).record.holder, "");
  me.step(Ask::kUpdate, held_by("", "11"));
  EXPECT_EQ(me.election.state(), State::kReleased);
}

/// A lease on a server, and candidates whose requests and answers are slow, get lost, and who stand
/// still for a while, all at random. Their monotonic clocks have nothing in common but their speed.
class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) add();
  }

  void run() {
    for (; now_ < kZero + 4h; now_ += 250ms) {
      for (auto& one : all_) turn(*one);
      std::size_t leaders = 0;
      for (const auto& one : all_) leaders += writes(*one) ? 1 : 0;
      ASSERT_LE(leaders, 1U) << base::format_duration(now_ - kZero);
      led_ += leaders > 0 ? 250ms : 0ms;
    }
    EXPECT_GT(led_, 2h) << "too often nobody led";
    EXPECT_GE(lease_.transitions, 3);
  }

 private:
  struct One {
    One(const std::string& name, base::Duration the_offset, std::uint32_t seed)
        : election(name, ElectionTimes(), seed), offset(the_offset) {}
    Election election;
    base::Duration offset;  ///< of its monotonic clock
    bool released = false;
    base::SteadyTime asleep_until{};
    std::optional<Election::Move> out;
    bool reached = false;
    base::SteadyTime sent, arrives, answered;
    base::Result<LeaseRecord> answer = base::retryable("");
  };

  void add() {
    all_.push_back(std::make_unique<One>("c" + std::to_string(++born_),
                                         base::Duration(std::chrono::seconds(pick(100000))),
                                         static_cast<std::uint32_t>(random_())));
  }
  std::int64_t pick(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }
  bool chance(int one_in) { return pick(one_in - 1) == 0; }
  base::SteadyTime time_of(const One& one) const { return now_ + one.offset; }
  /// As the fence has it: by its clock alone, asleep or not; whoever gives the lease up has ended.
  bool writes(const One& one) const {
    return !one.released && one.election.state() == State::kLeading &&
           time_of(one) < one.election.until();
  }

  void turn(One& one) {
    if (one.out && !one.reached && now_ >= one.arrives) {  // the server answers whoever sleeps
      one.answer = serve(*one.out);
      one.reached = true;
      if (chance(30)) one.answer = base::retryable("cut", "unreachable");
    }
    if (chance(8000)) one.asleep_until = now_ + std::chrono::seconds(pick(200));
    if (now_ < one.asleep_until) return;
    if (one.out) {
      if (now_ < one.answered) return;
      const Election::Move move = *std::exchange(one.out, std::nullopt);
      one.election.answered(move, one.reached ? one.answer : kCut, one.sent, time_of(one));
      return;
    }
    if (one.election.state() == State::kLeading && chance(20000)) {
      one.election.release(time_of(one));
      one.released = true;
    }
    const Election::Move move = one.election.next(time_of(one), kWall);
    if (move.ask == Ask::kNothing) {  // the process starts anew
      one = One("c" + std::to_string(++born_), one.offset, static_cast<std::uint32_t>(random_()));
      return;
    }
    if (move.ask == Ask::kWait) return;
    one.out = move;
    one.reached = false;
    one.sent = time_of(one);
    const bool cut = now_ < cut_until_;
    if (chance(300)) cut_until_ = now_ + std::chrono::seconds(pick(50));
    one.arrives = now_ + std::chrono::milliseconds(cut ? 1000000 : pick(chance(10) ? 20000 : 500));
    one.answered =
        cut ? now_ + 10s : one.arrives + std::chrono::milliseconds(pick(chance(10) ? 20000 : 500));
  }

  base::Result<LeaseRecord> serve(const Election::Move& move) {
    const bool there = !lease_.version.empty();
    if (move.ask == Ask::kCreate && there) return base::conflict("is there", "already-exists");
    if (move.ask != Ask::kCreate && !there) return base::not_found("no lease");
    if (move.ask == Ask::kUpdate && move.record.version != lease_.version) return kConflict;
    if (move.ask == Ask::kRead) return lease_;
    lease_ = move.record;
    lease_.version = std::to_string(++version_);
    return lease_;
  }

  std::mt19937 random_;
  base::SteadyTime now_ = kZero + 100s;
  base::SteadyTime cut_until_{};
  base::Duration led_{};
  std::vector<std::unique_ptr<One>> all_;
  LeaseRecord lease_;
  int version_ = 0;
  int born_ = 0;
};

TEST(Election, NeverTwoLeadersWhateverHappens) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    World(seed).run();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kollect::manager
