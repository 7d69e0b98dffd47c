#include "manager/shards/tenures.h"

#include <thread>

#include <gtest/gtest.h>

namespace kollect::manager {
namespace {

TEST(Tenures, NobodyEntersAClosedPart) {
  Tenures tenures(2);
  EXPECT_FALSE(tenures.enter(""));
  tenures.open(0);
  EXPECT_TRUE(tenures.enter(""));
  EXPECT_TRUE(tenures.is_open(""));
  tenures.close({0});
  EXPECT_FALSE(tenures.enter(""));
  EXPECT_FALSE(tenures.is_open(""));
}

TEST(Tenures, WhatIsNotSharedIsOnePart) {
  Tenures tenures(0);
  tenures.open(0);
  for (const char* ns : {"", "a", "b", "c", "d"}) EXPECT_TRUE(tenures.is_open(ns));
}

TEST(Tenures, ClosingAsksToEndAndWaits) {
  Tenures tenures(1);
  tenures.open(0);
  std::optional<Tenures::Visit> visit = tenures.enter("a");
  const std::stop_token stop = visit->stop();
  std::atomic<bool> closed = false;
  std::jthread closer([&] {
    tenures.close({0});
    closed = true;
  });
  std::atomic<bool> asked = false;
  const std::stop_callback on_stop(stop, [&] {
    asked = true;
    asked.notify_all();
  });
  asked.wait(false);
  EXPECT_FALSE(closed);
  EXPECT_FALSE(tenures.enter("a"));
  visit.reset();
  closer.join();
  EXPECT_TRUE(closed);
  tenures.open(0);
  EXPECT_FALSE(tenures.enter("a")->stop().stop_requested());
}

TEST(Tenures, KeysOfOthersAreLeftAlone) {
  const base::ManualClock clock;
  Tenures tenures(1);
  int looks = 0;
  const auto look = within(tenures,
                           [&](const base::Context& context,
                               const Key& /*key*/) -> base::Result<std::optional<base::Duration>> {
                             ++looks;
                             KL_TRY(context.check());
                             return std::optional<base::Duration>(std::chrono::seconds(5));
                           });
  const base::Context context(clock, {});
  EXPECT_EQ(*look(context, {.ns = "a", .name = "b"}), std::nullopt);
  EXPECT_EQ(looks, 0);
  tenures.open(0);
  EXPECT_EQ(*look(context, {.ns = "a", .name = "b"}), std::chrono::seconds(5));
  EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace kollect::manager
