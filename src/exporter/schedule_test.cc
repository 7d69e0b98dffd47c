// The timing diagrams of runtime 9.5 and the rules of 9.3, 9.4 and 9.8, on injected times.
#include "exporter/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/json/document.h"
#include "exporter/breaker.h"

namespace kollect::exporter {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One binding whose passes take no time. Steps from one look to the next, as the exporter does.
class Play {
 public:
  explicit Play(base::Duration interval) : schedule_(exact(), 1) {
    settings_.interval = interval;
    settings_.generation = 1;
    settings_.identity = "sink";
    schedule_.configure(settings_, at(0s));
  }
  static ScheduleOptions exact() {
    ScheduleOptions options;
    options.refresh_jitter = 0;
    options.retry_jitter = 0;
    options.give_ways = 3;
    return options;
  }
  static base::SteadyTime at(base::Duration time) { return base::SteadyTime{} + 1h + time; }

  /// What happens at a moment, before the look.
  void on(base::Duration time, std::function<void(Play&)> what) {
    events_.emplace(time, std::move(what));
  }
  void change(base::Duration time) {
    on(time, [time](Play& play) {
      play.pending_ = true;
      play.schedule_.signal(at(time));
    });
  }
  void edit(base::Duration time) {
    on(time, [time](Play& play) {
      ++play.settings_.generation;
      play.schedule_.configure(play.settings_, at(time));
    });
  }
  /// "12.1 change", one entry per pass. `ok` says how a pass at a moment ends.
  std::vector<std::string> run(base::Duration until) {
    std::vector<std::string> passes;
    base::Duration now = 0s;
    while (now <= until) {
      for (auto it = events_.begin(); it != events_.end() && it->first <= now;
           it = events_.erase(it)) {
        it->second(*this);
      }
      base::SteadyTime next = base::SteadyTime::max();
      const auto look = schedule_.look(at(now), pending_, breaker_.next_try(at(now)));
      if (look.why != Why::kNone) {
        schedule_.begin();
        EXPECT_TRUE(breaker_.try_enter(at(now)));
        const std::string end = outcome_(now);
        passes.push_back(text(now) + " " + std::string(to_string(look.why)) + end);
        if (end.empty()) {
          pending_ = false;
          breaker_.succeeded();
          schedule_.succeeded(at(now), settings_);
        } else {
          breaker_.failed(at(now), end == " terminal");
          schedule_.failed(at(now), end == " terminal");
        }
        continue;
      }
      if (look.next) next = std::min(next, *look.next);
      if (!events_.empty()) next = std::min(next, at(events_.begin()->first));
      if (next == base::SteadyTime::max()) break;
      EXPECT_GT(next, at(now)) << "a look that does not wait";
      ++looks_;
      now = next - at(0s);
    }
    return passes;
  }
  static std::string text(base::Duration time) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    std::string result = std::to_string(milliseconds / 1000);
    if (milliseconds % 1000 != 0) {
      std::string rest = std::to_string(1000 + milliseconds % 1000).substr(1);
      while (rest.back() == '0') rest.pop_back();
      result += "." + rest;
    }
    return result;
  }

  Schedule schedule_;
  ScheduleSettings settings_;
  Breaker breaker_;
  bool pending_ = true;
  int looks_ = 0;
  std::function<std::string(base::Duration)> outcome_ = [](base::Duration) { return ""; };
  std::multimap<base::Duration, std::function<void(Play&)>> events_;
};

// Decisions of one binding as recorded (spec: runtime 9.3), but for intervals below a second: those
// are none (9.2).
TEST(Timing, RecordedDecisions) {
  std::ifstream in(KOLLECT_SOURCE_DIR "/tests/cases/exporter/debounce.json");
  std::stringstream text;
  text << in.rdbuf();
  const auto recorded = base::json::Document::parse(text.str());
  ASSERT_TRUE(recorded.has_value());
  Schedule schedule(Play::exact(), 1);
  std::string exported;
  int judged = 0;
  for (const auto step : recorded->root().find("steps")->items()) {
    const auto moment = std::chrono::round<base::Duration>(
        std::chrono::duration<double>(step.find("atSeconds")->number().as_double()));
    const auto interval = base::parse_duration(step.text("interval"));
    ASSERT_TRUE(interval.has_value());
    const auto now = Play::at(moment);
    schedule.configure({.interval = *interval,
                        .generation = step.find("generation")->number().i,
                        .identity = "sink"},
                       now);
    const bool pending = step.text("checksum") != exported;
    if (pending) schedule.signal(now - Play::exact().quiet);
    const auto look = schedule.look(now, pending, now);
    const bool none = *interval < 1s && !pending;
    SCOPED_TRACE(Play::text(moment));
    EXPECT_EQ(look.why != Why::kNone, step.find("export")->as_bool() && !none);
    if (look.why != Why::kNone) {
      schedule.begin();
      schedule.succeeded(now, schedule.settings());
      exported = step.text("checksum");
    } else if (!step.find("export")->as_bool()) {
      ASSERT_TRUE(look.next.has_value());
      EXPECT_EQ(*look.next - now,
                std::chrono::seconds(step.find("nextDueSecondsIfSkipped")->number().i));
    }
    ++judged;
  }
  EXPECT_EQ(judged, 10);
}

TEST(Timing, A_NothingChanges) {
  Play play(30s);
  EXPECT_THAT(play.run(95s), ElementsAre("0 first", "30 refresh", "60 refresh", "90 refresh"));
}

TEST(Timing, B_ChangesGoOutWhenTheyHaveSettled) {
  Play play(30s);
  play.change(12s);
  play.change(12030ms);
  EXPECT_THAT(play.run(50s), ElementsAre("0 first", "12.08 change", "42.08 refresh"));
}

TEST(Timing, B_ChangesThatNeverSettleGoOutAllTheSame) {
  Play play(30s);
  for (int i = 0; i < 100; ++i) play.change(12s + 10ms * i);
  const auto passes = play.run(13500ms);
  ASSERT_GE(passes.size(), 7U);
  EXPECT_EQ(passes[1], "12.15 change");
  // Nothing waits longer than the longest wait, and the last change is in.
  EXPECT_EQ(passes.back(), "13.04 change");
}

TEST(Timing, C_EachBindingHasItsOwnInterval) {
  Play database(30s);
  Play git(1h);
  database.change(20min + 5s);
  git.change(20min + 5s);
  EXPECT_THAT(git.run(85min), ElementsAre("0 first", "1205.05 change", "4805.05 refresh"));
  const auto passes = database.run(20min + 31s);
  EXPECT_EQ(passes.size(), 42U);  // 0, 30, ... 1200, then the change
  EXPECT_EQ(passes[40], "1200 refresh");
  EXPECT_EQ(passes[41], "1205.05 change");
}

TEST(Timing, D_WithoutIntervalOnlyChanges) {
  for (const base::Duration interval : {base::Duration(0s), base::Duration(999ms)}) {
    Play play(interval);
    play.change(70s);
    EXPECT_THAT(play.run(10min), ElementsAre("0 first", "70.05 change"));
    EXPECT_LE(play.looks_, 25) << "a watchdog look every 30 s";
  }
}

TEST(Timing, E_AnEditExportsAtOnceWhateverTheInterval) {
  Play play(1h);
  play.edit(10s);
  EXPECT_THAT(play.run(30min), ElementsAre("0 first", "10 spec"));
}

TEST(Timing, F_AChangeIgnoresTheFloor) {
  Play play(1min);  // the floor has lifted it
  play.change(5s);
  EXPECT_THAT(play.run(70s), ElementsAre("0 first", "5.05 change", "65.05 refresh"));
}

TEST(Timing, G_ABackendThatIsDownIsTriedWithBackOffAndBreaker) {
  Play play(30s);
  play.outcome_ = [](base::Duration now) { return now < 70s ? " failed" : ""; };
  // 1 s, 2 s, 4 s, 8 s; the fifth failure opens the breaker for 30 s; the trial at 45 s fails and
  // opens it again.
  EXPECT_THAT(play.run(110s),
              ElementsAre("0 first failed", "1 retry failed", "3 retry failed", "7 retry failed",
                          "15 retry failed", "45 retry failed", "75 retry", "105 refresh"));
}

TEST(Timing, G_TheOtherBindingGoesOn) {
  Play play(30s);
  EXPECT_THAT(play.run(61s), ElementsAre("0 first", "30 refresh", "60 refresh"));
}

TEST(Timing, H_NothingBeforeTheFirstListsAreComplete) {
  Play play(30s);
  play.schedule_.hold(true);
  for (int i = 0; i < 20; ++i) play.change(1s * i);
  play.on(25s, [](Play& p) { p.schedule_.hold(false); });
  EXPECT_THAT(play.run(30s), ElementsAre("25 first"));
}

TEST(Timing, I_SuspendAndResume) {
  Play play(30s);
  play.on(10s, [](Play& p) { p.schedule_.hold(true); });
  play.change(20s);
  play.edit(40s);
  play.on(40s, [](Play& p) { p.schedule_.hold(false); });
  EXPECT_THAT(play.run(69s), ElementsAre("0 first", "40 spec"));
}

TEST(Timing, AStartMaySpread) {
  Play play(30s);
  play.schedule_.not_before(Play::at(3s));
  EXPECT_THAT(play.run(32s), ElementsAre("3 first"));
}

TEST(Timing, TheRefreshHasJitterWithinItsPart) {
  ScheduleOptions options;
  Schedule schedule(options, 7);
  const ScheduleSettings settings{.interval = 100s, .generation = 1, .identity = "x"};
  schedule.configure(settings, Play::at(0s));
  std::set<base::Duration> seen;
  for (int i = 0; i < 50; ++i) {
    schedule.begin();
    schedule.succeeded(Play::at(0s), settings);
    const auto next = *schedule.look(Play::at(0s), false, Play::at(0s)).next - Play::at(0s);
    EXPECT_GE(next, 90s);
    EXPECT_LE(next, 110s);
    seen.insert(next);
  }
  EXPECT_GT(seen.size(), 10U);
}

TEST(Schedule, TerminalFailuresWaitForSomethingElse) {
  Play play(30s);
  play.outcome_ = [](base::Duration now) { return now < 100s ? " terminal" : ""; };
  play.change(50s);
  play.edit(80s);
  play.edit(200s);
  EXPECT_THAT(play.run(210s), ElementsAre("0 first terminal", "50.05 retry terminal",
                                          "80 retry terminal", "200 retry"));
}

TEST(Schedule, TerminalFailuresAreTriedEveryTenMinutesAllTheSame) {
  Play play(30s);
  play.outcome_ = [](base::Duration) { return " terminal"; };
  EXPECT_THAT(play.run(25min),
              ElementsAre("0 first terminal", "600 retry terminal", "1200 retry terminal"));
}

TEST(Schedule, BackOffIsCappedByTheIntervalAndFiveMinutes) {
  Play fast(4s);
  fast.outcome_ = [](base::Duration) { return " failed"; };
  fast.breaker_.abandoned();
  EXPECT_THAT(fast.run(11s), ElementsAre("0 first failed", "1 retry failed", "3 retry failed",
                                         "7 retry failed", "11 retry failed"));
  Play slow(0s);
  slow.outcome_ = [](base::Duration) { return " failed"; };
  const auto passes = slow.run(2h);
  ASSERT_GT(passes.size(), 12U);
  EXPECT_EQ(std::stoi(passes[passes.size() - 1]) - std::stoi(passes[passes.size() - 2]), 300);
}

TEST(Schedule, AnotherSinkStartsOver) {
  Play play(1h);
  play.on(10s, [](Play& p) {
    p.settings_.identity = "another";
    p.schedule_.configure(p.settings_, Play::at(10s));
    EXPECT_FALSE(p.schedule_.confirmed());
  });
  EXPECT_THAT(play.run(20s), ElementsAre("0 first", "10 first"));
}

TEST(Schedule, APassForASinkThatWasReplacedMeanwhileIsNoRecord) {
  Play play(1h);
  const ScheduleSettings before = play.settings_;
  play.schedule_.begin();
  play.settings_.identity = "another";
  play.schedule_.configure(play.settings_, Play::at(1s));
  play.schedule_.succeeded(Play::at(0s), before);
  EXPECT_FALSE(play.schedule_.exported_once());
  EXPECT_EQ(play.schedule_.look(Play::at(1s), true, Play::at(1s)).why, Why::kFirst);
}

TEST(Schedule, ASignalWithoutAChangeIsForgotten) {
  Play play(1h);
  play.on(10s, [](Play& p) { p.schedule_.signal(Play::at(10s)); });  // pending_ stays false
  EXPECT_THAT(play.run(20s), ElementsAre("0 first"));
}

TEST(Schedule, WhatChangesDuringAPassIsExportedAfterIt) {
  Play play(1h);
  ASSERT_THAT(play.run(0s), ElementsAre("0 first"));
  play.schedule_.signal(Play::at(1s));
  EXPECT_EQ(play.schedule_.look(Play::at(2s), true, Play::at(2s)).why, Why::kChange);
  play.schedule_.begin();
  EXPECT_TRUE(play.schedule_.confirmed());
  play.schedule_.signal(Play::at(3s));
  EXPECT_EQ(play.schedule_.look(Play::at(9s), true, Play::at(9s)).why,
            Why::kNone);  // one at a time
  play.schedule_.succeeded(Play::at(2s), play.settings_);
  EXPECT_EQ(play.schedule_.look(Play::at(9s), true, Play::at(9s)).why, Why::kChange);
}

TEST(Schedule, ARefreshThatGaveWayIsDueSoonAndNoFailure) {
  Play play(30s);
  ASSERT_THAT(play.run(29s), ElementsAre("0 first"));
  EXPECT_EQ(play.schedule_.look(Play::at(30s), false, Play::at(30s)).why, Why::kRefresh);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(play.schedule_.may_give_way());
    play.schedule_.begin();
    play.schedule_.gave_way(Play::at(31s));
  }
  EXPECT_FALSE(play.schedule_.may_give_way()) << "changes may not put it off for ever";
  EXPECT_TRUE(play.schedule_.confirmed());
  EXPECT_EQ(play.schedule_.failures(), 0U);
  EXPECT_EQ(play.schedule_.look(Play::at(32s), false, Play::at(32s)).next, Play::at(36s));
  EXPECT_EQ(play.schedule_.look(Play::at(36s), false, Play::at(36s)).why, Why::kRefresh);
  play.schedule_.begin();
  play.schedule_.succeeded(Play::at(36s), play.settings_);
  play.schedule_.compared();
  EXPECT_TRUE(play.schedule_.may_give_way());
}

TEST(Schedule, AfterAFailureTheBackendIsInDoubt) {
  Play play(1h);
  ASSERT_THAT(play.run(0s), ElementsAre("0 first"));
  EXPECT_TRUE(play.schedule_.confirmed());
  play.schedule_.begin();
  play.schedule_.failed(Play::at(1s), false);
  EXPECT_FALSE(play.schedule_.confirmed());
}

TEST(Breaker, OpensAfterConsecutiveFailuresHoweverSlow) {
  Breaker breaker;
  base::SteadyTime now{};
  for (int i = 0; i < 5; ++i) {
    now += 10min;
    EXPECT_TRUE(breaker.try_enter(now));
    EXPECT_EQ(breaker.state(now), Breaker::State::kClosed);
    breaker.failed(now, false);
  }
  EXPECT_EQ(breaker.state(now), Breaker::State::kOpen);
  EXPECT_FALSE(breaker.try_enter(now + 29s));
  EXPECT_EQ(breaker.next_try(now), now + 30s);
  now += 30s;
  EXPECT_EQ(breaker.state(now), Breaker::State::kHalfOpen);
  EXPECT_TRUE(breaker.try_enter(now));
  EXPECT_FALSE(breaker.try_enter(now)) << "one trial at a time";
  breaker.failed(now, false);
  EXPECT_FALSE(breaker.try_enter(now + 29s));
  EXPECT_TRUE(breaker.try_enter(now + 30s));
  breaker.succeeded();
  EXPECT_EQ(breaker.state(now + 30s), Breaker::State::kClosed);
}

TEST(Breaker, SuccessesAndTerminalErrorsDoNotOpenIt) {
  Breaker breaker;
  for (int i = 0; i < 20; ++i) {
    breaker.failed({}, i % 5 != 4);
    if (i % 5 == 4) breaker.succeeded();
  }
  EXPECT_EQ(breaker.state({}), Breaker::State::kClosed);
}

TEST(Breaker, ATrialThatWasGivenUpLeavesTheNextOne) {
  Breaker breaker({.failures = 1, .open_time = 1s});
  breaker.failed({}, false);
  const base::SteadyTime later = base::SteadyTime{} + 2s;
  EXPECT_TRUE(breaker.try_enter(later));
  breaker.abandoned();
  EXPECT_TRUE(breaker.try_enter(later));
  breaker.failed(later, true);
  EXPECT_TRUE(breaker.try_enter(later));
}

}  // namespace
}  // namespace kollect::exporter
