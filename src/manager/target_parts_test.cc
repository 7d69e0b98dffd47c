// What the collector's signals mean for inventories.
#include "manager/target_parts.h"

#include <gtest/gtest.h>

namespace kollect::manager {
namespace {

collector::Signals read_once(std::optional<base::Error> error) {
  collector::Signals signals;
  signals.registered = true;
  signals.complete = true;
  signals.error = std::move(error);
  return signals;
}

TargetPhase phase_of(const collector::Signals& signals, TargetFacts& facts) {
  return take_signals(signals, facts, {}).phase;
}

TEST(TakeSignals, WhatWasReadIsExportedWhileItsServerIsAway) {
  TargetFacts facts;
  EXPECT_EQ(phase_of(read_once(std::nullopt), facts), TargetPhase::kComplete);
  EXPECT_EQ(phase_of(read_once(base::retryable("gone", "unreachable")), facts),
            TargetPhase::kComplete);
  EXPECT_EQ(facts.failed->reason, "InformerRegistrationFailed");
}

TEST(TakeSignals, ARightTakenAwayIsNoChangeOfWhatThereIs) {
  TargetFacts facts;
  EXPECT_EQ(phase_of(read_once(base::denied("may not list", "forbidden")), facts),
            TargetPhase::kUnreadable);
  EXPECT_EQ(facts.failed->reason, "InformerRegistrationFailed");
}

TEST(TakeSignals, ARightThatIsBackIsOfNoUseBeforeSomethingWasRead) {
  TargetFacts facts;
  collector::Signals signals = read_once(std::nullopt);
  signals.evaluating = true;
  const TargetStanding refused{.phase = TargetPhase::kUnreadable, .unread = {"a", "b"}};
  EXPECT_EQ(take_signals(signals, facts, refused), refused);
  const TargetStanding partly{.phase = TargetPhase::kComplete, .unread = {"b"}};
  signals.forbidden_namespaces = {"c"};
  const TargetStanding both{.phase = TargetPhase::kComplete, .unread = {"b", "c"}};
  EXPECT_EQ(take_signals(signals, facts, partly), both);
  signals.evaluating = false;
  signals.forbidden_namespaces.clear();
  const TargetStanding whole{.phase = TargetPhase::kComplete};
  EXPECT_EQ(take_signals(signals, facts, refused), whole);
  EXPECT_EQ(take_signals(signals, facts, partly), whole);
}

TEST(TargetBoard, ARefusalCountsAtOnceAndOlderFindingsDoNot) {
  TargetBoard board;
  const Key key{.ns = "n", .name = "t"};
  const TargetStanding complete{.phase = TargetPhase::kComplete};
  EXPECT_TRUE(board.set(key, complete, board.refusals(key)));
  EXPECT_FALSE(board.set(key, complete, board.refusals(key)));
  const std::uint64_t before = board.refusals(key);
  board.refuse(key, {"b", "a"}, false);
  EXPECT_EQ(board.of(key).unread, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(board.set(key, complete, before)) << "somebody has to be told of the refusal";
  EXPECT_FALSE(board.set(key, complete, before));
  EXPECT_EQ(board.of(key).unread.size(), 2U);
  const TargetStanding known{.phase = TargetPhase::kComplete, .unread = {"a"}};
  EXPECT_TRUE(board.set(key, known, board.refusals(key)));
  EXPECT_EQ(board.of(key), known);
  board.refuse(key, {}, true);
  EXPECT_EQ(board.of(key).phase, TargetPhase::kUnreadable);
  EXPECT_TRUE(board.set(key, board.of(key), board.refusals(key))) << "equal, but untold";
}

}  // namespace
}  // namespace kollect::manager
