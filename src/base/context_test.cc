#include "base/context.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace kollect::base {
namespace {

using namespace std::chrono_literals;

TEST(Context, Background) {
  const Context context = Context::background();
  EXPECT_FALSE(context.cancelled());
  EXPECT_EQ(context.remaining(), Duration::max());
  EXPECT_FALSE(context.with_timeout(Duration::max()).cancelled());
}

TEST(Context, DeadlineIsNeverLaterThanTheParents) {
  const ManualClock clock;
  const Context parent = Context(clock, {}).with_timeout(10s);
  EXPECT_EQ(parent.with_timeout(1h).remaining(), 10s);
  const Context child = parent.with_timeout(3s);
  EXPECT_EQ(child.remaining(), 3s);
  clock.advance(3s);
  EXPECT_EQ(child.remaining(), 0s);
  EXPECT_EQ(child.check().error().reason, "timeout");
  EXPECT_EQ(child.check().error().kind, ErrorKind::kCancelled);
  EXPECT_TRUE(parent.check().has_value());
}

TEST(Context, StopReachesChildren) {
  const ManualClock clock;
  std::stop_source outer;
  std::stop_source inner;
  const Context parent(clock, outer.get_token());
  const Context child = parent.with_stop(inner.get_token()).with_timeout(1h);
  inner.request_stop();
  EXPECT_EQ(child.check().error().reason, "cancelled");
  EXPECT_FALSE(parent.cancelled());
  const Context other = parent.with_stop({});
  outer.request_stop();
  EXPECT_TRUE(other.cancelled());
}

TEST(Context, SleepOnAManualClock) {
  const ManualClock clock;
  const Context context = Context(clock, {}).with_timeout(10s);
  EXPECT_TRUE(context.sleep(4s));
  EXPECT_EQ(context.remaining(), 6s);
  EXPECT_FALSE(context.sleep(7s));
  EXPECT_EQ(context.remaining(), 0s);
  EXPECT_FALSE(context.sleep(1s));
}

/// An hour of sleep that ends because of a stop.
void expect_woken(const Context& context, std::stop_source& stop) {
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(context.sleep(1h));
  stopper.join();
}

TEST(Context, StopWakesSleepers) {
  const SystemClock clock;
  std::stop_source own;
  expect_woken(Context(clock, own.get_token()), own);
  std::stop_source outer;
  std::stop_source inner;
  const Context both = Context(clock, outer.get_token()).with_stop(inner.get_token());
  expect_woken(both, outer);
  const Context again = Context(clock, {}).with_stop(inner.get_token());
  expect_woken(again, inner);
}

}  // namespace
}  // namespace kollect::base
