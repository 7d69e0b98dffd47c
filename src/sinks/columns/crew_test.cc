// The two threads that encode the columns of a Parquet file.
#include "parquet_module/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace kollect::sinks::columns {
namespace {

TEST(Crew, DoesEveryJobOnceBeforeItIsFinished) {
  Crew crew;
  crew.finish();  // nothing to wait for
  std::vector<int> done(17);
  for (int round = 1; round <= 200; ++round) {
    crew.start(done.size(), [&](std::size_t job) { ++done[job]; });
    crew.finish();
    EXPECT_EQ(done, std::vector<int>(done.size(), round));
  }
}

TEST(Crew, TellsOfAFailureAndBeginsNothingMore) {
  Crew crew;
  std::atomic<std::size_t> begun = 0;
  crew.start(1000, [&](std::size_t job) {
    ++begun;
    if (job >= 3) throw std::runtime_error("no room");
  });
  EXPECT_THROW(crew.finish(), std::runtime_error);
  EXPECT_GE(begun, 4U);
  EXPECT_LE(begun, 5U);  // both threads may have begun one that failed
  crew.finish();  // told once
  int later = 0;
  crew.start(1, [&](std::size_t) { ++later; });
  crew.finish();
  EXPECT_EQ(later, 1);
}

TEST(Crew, MayBeLeftWithWorkToDo) {
  std::atomic<int> running = 0;
  {
    Crew crew;
    crew.start(100, [&](std::size_t) {
      ++running;
      --running;
    });
  }
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace kollect::sinks::columns
