#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "kube/reflector.h"

namespace kollect::kube {
namespace {

const base::Context kContext = base::Context::background();

TEST(ListGate, NoMorePlacesThanThereAre) {
  ListGate gate(2);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        auto place = gate.enter(kContext);
        ASSERT_TRUE(place);
        const int now = ++inside;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --inside;
      }
    });
  }
  threads.clear();
  EXPECT_LE(most, 2);
  EXPECT_GE(most, 1);
}

TEST(ListGate, FirstComeFirstServed) {
  ListGate gate(1);
  auto held = *gate.enter(kContext);
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      auto place = gate.enter(kContext);
      const std::scoped_lock lock(mutex);
      order.push_back(i);
    });
    // The next thread starts only when this one stands in line.
    while (gate.waiting() != static_cast<std::size_t>(i) + 1) std::this_thread::yield();
  }
  held.reset();
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(ListGate, WhoGivesUpLeavesTheLine) {
  ListGate gate(1);
  auto held = *gate.enter(kContext);
  std::stop_source stop;
  const base::SystemClock clock;
  auto impatient = std::async(std::launch::async, [&] {
    auto place = gate.enter(base::Context(clock, stop.get_token()));
    return place ? std::string("in") : place.error().reason;
  });
  while (gate.waiting() != 1) std::this_thread::yield();
  auto patient = std::async(std::launch::async, [&] { return gate.enter(kContext).has_value(); });
  while (gate.waiting() != 2) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(impatient.get(), "cancelled");
  held.reset();
  EXPECT_TRUE(patient.get());
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST(ListGate, ADeadlineEndsTheWait) {
  ListGate gate(1);
  auto held = *gate.enter(kContext);
  auto late = gate.enter(kContext.with_timeout(std::chrono::milliseconds(1)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "timeout");
}

TEST(ListGate, ThereIsAlwaysOnePlace) {
  ListGate gate(0);
  EXPECT_TRUE(gate.enter(kContext));
}

TEST(ListGate, APlaceMayOutliveItsGate) {
  std::shared_ptr<void> place;
  {
    ListGate gate(1);
    place = *gate.enter(kContext);
  }
  place.reset();
}

}  // namespace
}  // namespace kollect::kube
