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

TEST(TakeSignals, WhatWasReadIsExportedWhileItsServerIsAway) {
  TargetFacts facts;
  EXPECT_EQ(take_signals(read_once(std::nullopt), facts), TargetPhase::kComplete);
  EXPECT_EQ(take_signals(read_once(base::retryable("gone", "unreachable")), facts),
            TargetPhase::kComplete);
  EXPECT_EQ(facts.failed->reason, "InformerRegistrationFailed");
}

TEST(TakeSignals, ARightTakenAwayIsNoChangeOfWhatThereIs) {
  TargetFacts facts;
  EXPECT_EQ(take_signals(read_once(base::denied("may not list", "forbidden")), facts),
            TargetPhase::kUnreadable);
  EXPECT_EQ(facts.failed->reason, "InformerRegistrationFailed");
}

}  // namespace
}  // namespace kollect::manager
