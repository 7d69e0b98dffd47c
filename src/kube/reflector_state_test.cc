#include "kube/reflector_state.h"

#include <gtest/gtest.h>

#include <map>

namespace kollect::kube {
namespace {

using enum Step;
using enum Ending;

TEST(ReflectorState, EveryMove) {
  const std::map<std::pair<Step, Ending>, Step> moves = {
      // A list by stream. Its end mark makes a watch of it; what ends before is no list.
      {{kListStream, kServerEnded}, kWaitToList},
      {{kListStream, kShortLived}, kWaitToList},
      {{kListStream, kSilent}, kWaitToList},
      {{kListStream, kNoEnd}, kWaitToList},
      {{kListStream, kNotOffered}, kListPages},
      {{kListStream, kExpired}, kWaitToList},
      {{kListStream, kGarbled}, kWaitToList},
      {{kListStream, kRefused}, kWaitToList},
      {{kListStream, kBusy}, kWaitToList},
      {{kListStream, kStopped}, kStop},
      // A list by pages.
      {{kListPages, kComplete}, kWatch},
      {{kListPages, kExpired}, kWaitToList},
      {{kListPages, kGarbled}, kWaitToList},
      {{kListPages, kRefused}, kWaitToList},
      {{kListPages, kBusy}, kWaitToList},
      {{kListPages, kStopped}, kStop},
      // A watch.
      {{kWatch, kServerEnded}, kWatch},
      {{kWatch, kSilent}, kWatch},
      {{kWatch, kShortLived}, kWaitToWatch},
      {{kWatch, kBusy}, kWaitToWatch},
      {{kWatch, kExpired}, kListStream},
      {{kWatch, kGarbled}, kWaitToList},
      {{kWatch, kRefused}, kWaitToList},
      {{kWatch, kStopped}, kStop},
  };
  for (const auto& [from, to] : moves) {
    EXPECT_EQ(next_step(from.first, from.second), to)
        << to_string(from.first) << " " << to_string(from.second) << " gives "
        << to_string(next_step(from.first, from.second));
  }
}

TEST(ReflectorState, SeenFromOutside) {
  EXPECT_EQ(state_of(kListStream), ReflectorState::kListing);
  EXPECT_EQ(state_of(kListPages), ReflectorState::kListing);
  EXPECT_EQ(state_of(kWatch), ReflectorState::kWatching);
  EXPECT_EQ(state_of(kWaitToList), ReflectorState::kWaiting);
  EXPECT_EQ(state_of(kWaitToWatch), ReflectorState::kWaiting);
  EXPECT_EQ(state_of(kStop), ReflectorState::kStopped);
  EXPECT_EQ(to_string(ReflectorState::kWaiting), "waiting");
}

}  // namespace
}  // namespace kollect::kube
