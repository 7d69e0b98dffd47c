#include "kube/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace kollect::kube {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, GrowsWithJitterUpToTheCap) {
  Backoff backoff(800ms, 30s, 1);
  const std::vector<base::Duration> whole = {800ms,   1600ms, 3200ms, 6400ms, 12800ms,
                                             25600ms, 30s,    30s,    30s};
  for (const base::Duration most : whole) {
    const base::Duration pause = backoff.next();
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
  }
  EXPECT_EQ(backoff.failures(), whole.size());
  backoff.reset();
  EXPECT_EQ(backoff.failures(), 0U);
  EXPECT_LE(backoff.next(), 800ms);
}

TEST(Backoff, TwoOfThemDoNotGoInStep) {
  std::set<base::Duration> pauses;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) pauses.insert(Backoff(1s, 1s, seed).next());
  EXPECT_GT(pauses.size(), 15U);
  EXPECT_EQ(Backoff(1s, 1s, 5).next(), Backoff(1s, 1s, 5).next()) << "a seed decides";
}

TEST(Backoff, OddLimitsDoNoHarm) {
  Backoff none(0s, 0s, 0);
  EXPECT_GE(none.next(), 0s);
  Backoff crossed(10s, 1s, 0);
  EXPECT_LE(crossed.next(), 10s);
  Backoff forever(1s, base::Duration::max(), 1);
  for (int i = 0; i < 200; ++i) EXPECT_GT(forever.next(), 0s);
}

TEST(Backoff, BriefAndSpreadCountNothing) {
  Backoff backoff(800ms, 30s, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(backoff.brief(), 800ms);
    const base::Duration spread = backoff.spread(5min);
    EXPECT_GE(spread, 5min);
    EXPECT_LE(spread, 10min);
  }
  EXPECT_EQ(backoff.failures(), 0U);
}

}  // namespace
}  // namespace kollect::kube
