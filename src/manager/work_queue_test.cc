#include "manager/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;

const Key kA{.ns = "n", .name = "a"};
const Key kB{.ns = "n", .name = "b"};

TEST(WorkQueue, AddsCollapse) {
  base::ManualClock clock;
  WorkQueue queue(clock);
  queue.add(kA);
  queue.add(kA);
  queue.add(kB);
  EXPECT_EQ(queue.waiting(), 2U);
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.try_take(), kB);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST(WorkQueue, AKeyIsWorkedByOneAndRunsOnceMoreWhenAddedMeanwhile) {
  base::ManualClock clock;
  WorkQueue queue(clock);
  queue.add(kA);
  ASSERT_EQ(queue.try_take(), kA);
  queue.add(kA);
  queue.add(kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
  EXPECT_EQ(queue.running(), 1U);
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), kA);
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
  EXPECT_EQ(queue.waiting() + queue.running(), 0U);
}

TEST(WorkQueue, OneWakeUpPerKeyAndTheEarlierOneWins) {
  base::ManualClock clock;
  WorkQueue queue(clock);
  queue.add_after(kA, 10s);
  queue.add_after(kA, 30s);
  EXPECT_EQ(queue.try_take(), std::nullopt);
  clock.advance(10s);
  EXPECT_EQ(queue.try_take(), kA);
  queue.done(kA);
  clock.advance(60s);
  EXPECT_EQ(queue.try_take(), std::nullopt);
  queue.add_after(kA, 30s);
  queue.add(kA);
  EXPECT_EQ(queue.try_take(), kA);
}

TEST(WorkQueue, FailuresBackOffUpToTheCapAndForgetStartsOver) {
  base::ManualClock clock;
  WorkQueue queue(clock, {.backoff_base = 5ms, .backoff_cap = 1000s});
  std::vector<base::Duration> waits;
  for (int i = 0; i < 60; ++i) {
    queue.add_failed(kA);
    waits.push_back(*queue.next_due() - clock.steady_now());
    clock.advance(waits.back());
    ASSERT_EQ(queue.try_take(), kA);
    queue.done(kA);
  }
  EXPECT_EQ(waits[0], 5ms);
  EXPECT_EQ(waits[1], 10ms);
  EXPECT_EQ(waits[10], 5120ms);
  EXPECT_EQ(waits[59], 1000s);
  queue.forget(kA);
  queue.add_failed(kA);
  EXPECT_EQ(*queue.next_due() - clock.steady_now(), 5ms);
}

TEST(WorkQueue, WorkersShareKeysAndStop) {
  const base::SystemClock clock;
  WorkQueue queue(clock);
  std::atomic<int> worked = 0;
  std::atomic<bool> overlap = false;
  std::array<std::atomic<int>, 10> inside{};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&](const std::stop_token& stop) {
        while (const auto key = queue.take(stop)) {
          auto& here = inside.at(static_cast<std::size_t>(std::stoi(key->name)));
          if (++here != 1) overlap = true;
          ++worked;
          --here;
          queue.done(*key);
        }
      });
    }
    for (int i = 0; i < 1000; ++i) queue.add({.ns = "n", .name = std::to_string(i % 10)});
    while (queue.waiting() + queue.running() > 0) std::this_thread::yield();
  }
  EXPECT_FALSE(overlap);
  EXPECT_GE(worked, 10);
}

}  // namespace
}  // namespace kollect::manager
