#include "fleet/polls.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "fleet/sqlite_polls.h"

namespace kollect::fleet {
namespace {

base::WallTime at(int seconds) {
  return base::WallTime(std::chrono::seconds(seconds));
}

TEST(FleetPolls, AreCountedByName) {
  Polls polls;
  polls.see_dead("a", at(1));
  polls.see_dead("a", at(3));
  polls.see_unknown("b", at(2));
  const PollNotes notes = polls.take();
  EXPECT_EQ(notes.dead.at("a").count, 2U);
  EXPECT_EQ(notes.dead.at("a").first, at(1));
  EXPECT_EQ(notes.dead.at("a").last, at(3));
  EXPECT_EQ(notes.unknown.at("b").count, 1U);
  EXPECT_TRUE(polls.notes().empty());
  polls.see_unknown("b", at(1));
  polls.add(notes);
  EXPECT_EQ(polls.notes().unknown.at("b").count, 2U);
  EXPECT_EQ(polls.notes().unknown.at("b").first, at(1));
}

TEST(FleetPolls, VeryManyUnknownNamesAreCountedTogether) {
  Polls polls;
  for (std::size_t i = 0; i < kMostUnknownNames + 5; ++i) {
    polls.see_unknown("n" + std::to_string(i), at(1));
  }
  polls.see_unknown("n0", at(2));
  EXPECT_EQ(polls.notes().unknown.size(), kMostUnknownNames);
  EXPECT_EQ(polls.notes().unknown.at("n0").count, 2U);
  EXPECT_EQ(polls.notes().others, 5U);
}

TEST(FleetPolls, AreKeptInAFile) {
  const auto folder = base::TempDir::create();
  ASSERT_TRUE(folder.has_value());
  PollNotes notes;
  for (int i = 0; i < 2; ++i) {
    auto file = SqlitePolls::open(folder->path() / "polls");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    notes = {};
    notes.dead["a"].add({.count = 2, .first = at(5 + i), .last = at(7 + i)});
    for (std::size_t n = 0; n < kMostUnknownNames; ++n) {
      notes.unknown[std::to_string(i) + "-" + std::to_string(n)].add(
          {.count = 1, .first = at(i), .last = at(i)});
    }
    notes.others = 3;
    ASSERT_TRUE(file->add(notes));
    notes = *file->all();
  }
  EXPECT_EQ(notes.dead.at("a").count, 4U);
  EXPECT_EQ(notes.dead.at("a").first, at(5));
  EXPECT_EQ(notes.dead.at("a").last, at(8));
  EXPECT_EQ(notes.unknown.size(), kMostUnknownNames);
  EXPECT_TRUE(notes.unknown.contains("1-0")) << "the latest stay";
  EXPECT_EQ(notes.others, 6U);
}

}  // namespace
}  // namespace kollect::fleet
