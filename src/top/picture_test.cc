#include "top/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/write.h"
#include "top/testing.h"

namespace kollect::top {
namespace {

TEST(Picture, AgesAreShort) {
  const base::WallTime now = testing::now();
  EXPECT_EQ(age_text("", now), "never");
  EXPECT_EQ(age_text("2026-11-29T01:00:00Z", now), "0s");
  EXPECT_EQ(age_text("2026-11-29T01:00:05Z", now), "0s");  // a clock that is ahead
  EXPECT_EQ(age_text("2026-11-29T00:58:01Z", now), "119s");
  EXPECT_EQ(age_text("2026-11-29T00:58:00Z", now), "2m");
  EXPECT_EQ(age_text("2026-11-28T23:00:00Z", now), "2h");
  EXPECT_EQ(age_text("2026-11-27T01:00:00Z", now), "2d");
  EXPECT_EQ(age_text("yesterday", now), "yesterday");
}

TEST(Picture, NumbersHaveGroups) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Picture, ClustersAreCountedFromTheirInventories) {
  const auto clusters = clusters_of(testing::fleet().inventories);
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].name, "oslo");
  EXPECT_EQ(clusters[0].inventories, 2U);
  EXPECT_EQ(clusters[0].rows, 1290U);
  EXPECT_EQ(clusters[0].exported_at, "2026-11-29T00:59:30Z");
  EXPECT_EQ(clusters[0].oldest, "");  // one was never exported
  EXPECT_EQ(clusters[1].oldest, "2026-11-28T20:00:00Z");
  EXPECT_EQ(testing::fleet().rows(), 1297U);
}

TEST(Picture, WhatNobodyLookedAtYetIsNoWorseThanWhatFails) {
  const Picture picture = testing::fleet();
  EXPECT_EQ(picture.problems.front().reason, "ExportFailed");
  EXPECT_EQ(picture.problem_count, 2U);
}

TEST(Picture, ProgramsGetEverything) {
  Picture picture = testing::fleet();
  const base::json::Value value = to_json(picture);
  EXPECT_EQ(value.text("at"), "2026-11-29T01:00:00Z");
  EXPECT_EQ(value.find("rows")->as_int(), 1297);
  EXPECT_EQ(value.find("targets")->as_int(), 2);
  EXPECT_EQ(value.find("clusters")->as_array().size(), 2U);
  EXPECT_EQ(base::json::compact(value.find("sinks")->as_array()[0]),
            R"({"sink":"database/pay/pg","type":"postgres","inventory":"pay/all","state":"Failed",)"
            R"("reason":"ExportFailed","exportedAt":"","message":"connection refused"})");
  EXPECT_EQ(value.find("problems")->as_array()[0].text("since"), "2026-11-28T20:10:00Z");
  picture.targets.reset();
  EXPECT_TRUE(to_json(picture).find("targets")->is_null());
}

}  // namespace
}  // namespace kollect::top
