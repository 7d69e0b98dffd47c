#include "kube/reflector_state.h"

#include <gtest/gtest.h>

#include <set>

namespace kollect::kube {
namespace {

using enum Step;
using enum Ending;
using enum Pause;

struct Expected {
  Step step;
  Ending ending;
  Step next;
  Pause pause;
  bool shown;
};

constexpr Expected kMoves[] = {
    // A list by stream. Behind its end mark it is a watch; what ends before is no list.
    {kListStream, kComplete, kWatch, kNone, false},
    {kListStream, kServerEnded, kListPages, kBackoff, true},
    {kListStream, kShortLived, kListPages, kBackoff, true},
    {kListStream, kCut, kListPages, kBackoff, true},
    {kListStream, kSilent, kListPages, kNone, false},
    {kListStream, kNoAnswer, kListPages, kBackoff, true},
    {kListStream, kUnmarked, kListPages, kNone, false},
    {kListStream, kExpired, kListPages, kBackoff, true},
    {kListStream, kGarbled, kListPages, kBackoff, true},
    {kListStream, kStuck, kListPages, kBackoff, true},
    {kListStream, kRejected, kListPages, kNone, false},
    {kListStream, kNoWatch, kListPages, kNone, false},
    {kListStream, kRenewed, kListStream, kNone, false},
    {kListStream, kUnauthorized, kListStream, kBackoff, true},
    {kListStream, kForbidden, kListPages, kNone, false},
    {kListStream, kGone, kListStream, kBackoff, true},
    {kListStream, kBusy, kListStream, kBackoff, true},
    {kListStream, kUnreachable, kListStream, kBackoff, true},
    {kListStream, kAsked, kListStream, kNone, false},
    {kListStream, kStopped, kStop, kNone, false},
    // A list by pages.
    {kListPages, kComplete, kWatch, kNone, false},
    {kListPages, kServerEnded, kListPages, kBackoff, true},
    {kListPages, kShortLived, kListPages, kBackoff, true},
    {kListPages, kCut, kListPages, kBackoff, true},
    {kListPages, kSilent, kListPages, kBackoff, true},
    {kListPages, kNoAnswer, kListPages, kBackoff, true},
    {kListPages, kUnmarked, kListPages, kBackoff, true},
    {kListPages, kExpired, kListPages, kBackoff, true},
    {kListPages, kGarbled, kListPages, kBackoff, true},
    {kListPages, kStuck, kListPages, kBackoff, true},
    {kListPages, kRejected, kListPages, kBackoff, true},
    {kListPages, kNoWatch, kListPages, kBackoff, true},
    {kListPages, kRenewed, kListPages, kNone, false},
    {kListPages, kUnauthorized, kListPages, kBackoff, true},
    {kListPages, kForbidden, kListPages, kBackoff, true},
    {kListPages, kGone, kListStream, kBackoff, true},
    {kListPages, kBusy, kListPages, kBackoff, true},
    {kListPages, kUnreachable, kListPages, kBackoff, true},
    {kListPages, kAsked, kListStream, kNone, false},
    {kListPages, kStopped, kStop, kNone, false},
    // A watch. What leaves doubt about what was missed ends in a list.
    {kWatch, kComplete, kWatch, kNone, false},
    {kWatch, kServerEnded, kWatch, kNone, false},
    {kWatch, kShortLived, kWatch, kBackoff, false},
    {kWatch, kCut, kWatch, kBrief, false},
    {kWatch, kSilent, kWatch, kNone, false},
    {kWatch, kNoAnswer, kWatch, kBackoff, true},
    {kWatch, kUnmarked, kListStream, kBackoff, true},
    {kWatch, kExpired, kListStream, kBackoff, false},
    {kWatch, kGarbled, kListStream, kBackoff, true},
    {kWatch, kStuck, kListStream, kBackoff, true},
    {kWatch, kRejected, kListStream, kBackoff, true},
    {kWatch, kNoWatch, kListPages, kLong, true},
    {kWatch, kRenewed, kWatch, kNone, false},
    {kWatch, kUnauthorized, kWatch, kBackoff, true},
    {kWatch, kForbidden, kWatch, kBackoff, true},
    {kWatch, kGone, kListStream, kBackoff, true},
    {kWatch, kBusy, kWatch, kBackoff, true},
    {kWatch, kUnreachable, kWatch, kBackoff, true},
    {kWatch, kAsked, kListStream, kNone, false},
    {kWatch, kStopped, kStop, kNone, false},
};

TEST(ReflectorState, EveryMove) {
  std::set<std::pair<Step, Ending>> seen;
  for (const Expected& expected : kMoves) {
    const std::string what =
        fmt::format("{}, {}", to_string(expected.step), to_string(expected.ending));
    const Move move = next_move(expected.step, expected.ending);
    EXPECT_EQ(move.next, expected.next) << what << " gives " << to_string(move.next);
    EXPECT_EQ(move.pause, expected.pause) << what;
    EXPECT_EQ(move.shown, expected.shown) << what;
    seen.emplace(expected.step, expected.ending);
  }
  EXPECT_EQ(seen.size(), kSteps * kEndings) << "every pair is here once";
}

// What goes wrong must not be tried again and again without a pause.
TEST(ReflectorState, NoCircleOfFailuresIsWithoutPause) {
  const std::set<Ending> good = {kComplete, kServerEnded, kSilent, kRenewed, kAsked, kStopped};
  for (const Step step : {kListStream, kListPages, kWatch}) {
    for (std::size_t i = 0; i < kEndings; ++i) {
      const auto ending = static_cast<Ending>(i);
      const Move move = next_move(step, ending);
      if (good.contains(ending) || move.pause != Pause::kNone) continue;
      EXPECT_NE(move.next, step) << to_string(ending);
      EXPECT_NE(next_move(move.next, ending).pause, Pause::kNone) << to_string(ending);
    }
  }
}

TEST(ReflectorState, AWatchIsNeverResumedWithoutAListWhereSomethingMayHaveBeenMissed) {
  for (const Ending ending : {kExpired, kGarbled, kStuck, kRejected, kGone, kNoWatch, kAsked}) {
    EXPECT_NE(next_move(kWatch, ending).next, kWatch) << to_string(ending);
  }
}

TEST(ReflectorState, AfterTheEndNothingComes) {
  EXPECT_EQ(next_move(kStop, kComplete).next, kStop);
}

TEST(ReflectorState, SeenFromOutside) {
  EXPECT_EQ(state_of(kListStream), ReflectorState::kListing);
  EXPECT_EQ(state_of(kListPages), ReflectorState::kListing);
  EXPECT_EQ(state_of(kWatch), ReflectorState::kWatching);
  EXPECT_EQ(state_of(kStop), ReflectorState::kStopped);
  std::set<std::string_view> names;
  for (const auto state :
       {ReflectorState::kStarting, ReflectorState::kListing, ReflectorState::kWatching,
        ReflectorState::kWaiting, ReflectorState::kStopped}) {
    names.insert(to_string(state));
  }
  EXPECT_EQ(names,
            (std::set<std::string_view>{"starting", "listing", "watching", "waiting", "stopped"}));
  names.clear();
  for (std::size_t i = 0; i < kEndings; ++i) names.insert(to_string(static_cast<Ending>(i)));
  for (const Step step : {kListStream, kListPages, kWatch, kStop}) names.insert(to_string(step));
  EXPECT_EQ(names.size(), kEndings + kSteps + 1);
}

}  // namespace
}  // namespace kollect::kube
