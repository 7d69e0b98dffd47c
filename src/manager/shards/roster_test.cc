#include "manager/shards/roster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/document.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct RosterTest : ::testing::Test {
  void list(const std::vector<std::string>& leases) {
    roster.begin_list();
    for (const auto& lease : leases)
      give(lease, [&](base::json::View view) { roster.object(view); });
    roster.end_list();
  }
  static std::string lease(const std::string& name, const std::string& holder, int version) {
    return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},"spec":)"
                       R"({{"holderIdentity":"{}","leaseDurationSeconds":60}}}})",
                       name, version, holder);
  }
  static void give(const std::string& text, const auto& receive) {
    const auto document = base::json::Document::parse(text);
    ASSERT_TRUE(document);
    receive(document->root());
  }

  base::ManualClock clock{*base::parse_rfc3339("2026-02-03T04:05:06Z")};
  std::vector<std::string> told;
  Roster roster{clock, "id", [this](const std::string& name, const auto& record) {
                  told.push_back(name + (record ? " " + record->holder : ""));
                }};
};

TEST_F(RosterTest, AHolderIsHeardOfUntilItsTimeIsOver) {
  EXPECT_FALSE(roster.known());
  list({lease("id-member-0", "a", 1), lease("other", "x", 2)});
  EXPECT_TRUE(roster.known());
  EXPECT_THAT(told, ElementsAre("id-member-0 a", ""));
  EXPECT_EQ(roster.holder("other"), "");
  clock.advance(59s);
  EXPECT_EQ(roster.holder("id-member-0"), "a");
  list({lease("id-member-0", "a", 1)});  // no renewal
  clock.advance(1s);
  EXPECT_EQ(roster.holder("id-member-0"), "");
  give(lease("id-member-0", "a", 3), [&](base::json::View view) { roster.object(view); });
  EXPECT_EQ(roster.holder("id-member-0"), "a");
  EXPECT_EQ(roster.find("id-member-0")->since, clock.steady_now());
}

TEST_F(RosterTest, WhoDiedBeforeWeCameIsNotWaitedFor) {
  const auto renewed = [](const char* name, const char* time) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}","resourceVersion":"1"}},"spec":{{"holderIdentity":"a",)"
        R"("leaseDurationSeconds":60,"renewTime":"{}"}}}})",
        name, time);
  };
  list({renewed("id-old", "2026-02-03T04:04:06.000000Z"),
        renewed("id-young", "2026-02-03T04:04:36.000000Z"),
        renewed("id-ahead", "2026-02-03T05:00:00.000000Z")});
  EXPECT_EQ(roster.holder("id-old"), "");
  EXPECT_EQ(roster.find("id-old")->since, clock.steady_now()) << "who may write waits";
  EXPECT_EQ(roster.holder("id-young"), "a");
  clock.advance(30s);
  EXPECT_EQ(roster.holder("id-young"), "");
  EXPECT_EQ(roster.holder("id-ahead"), "a");
  clock.advance(30s);
  EXPECT_EQ(roster.holder("id-ahead"), "");
  give(lease("id-old", "a", 2), [&](base::json::View view) { roster.object(view); });
  EXPECT_EQ(roster.holder("id-old"), "a") << "it lives, whatever its clock says";
}

TEST_F(RosterTest, WhatIsNotListedIsGone) {
  list({lease("id-shard-0", "a", 1), lease("id-shard-1", "b", 1)});
  told.clear();
  list({lease("id-shard-1", "b", 1)});
  EXPECT_THAT(told, ElementsAre("id-shard-1 b", "id-shard-0", ""));
  EXPECT_EQ(roster.holder("id-shard-0"), "");
  give(lease("id-shard-1", "b", 1), [&](base::json::View view) { roster.deleted(view); });
  EXPECT_FALSE(roster.find("id-shard-1"));
}

}  // namespace
}  // namespace kollect::manager
