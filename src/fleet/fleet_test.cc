// Records, merges and rules, without HTTP.
#include "fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/json/document.h"
#include "base/json/write.h"
#include "fleet/json_fixture.h"
#include "fleet/merge.h"
#include "fleet/seed.h"

namespace kollect::fleet {
namespace {

using base::json::Value;
using ::testing::HasSubstr;

const std::string kSeed = R"json({
"clusters":[
 {"_id":"a","cluster_name":"A","cluster_dns":"a.test","environment":"prod","node_count":3,
  "platform_components":[{"id":"certs","enabled":true,"oci_tag":null},{"id":"ghost","enabled":true},{"id":"dash","enabled":false,"oci_tag":""}],
  "namespaces":[{"id":"n"}],"patches":{"certs":{"b":"2","a":"1"}}},
 {"_id":"b","cluster_name":"B","cluster_dns":"b.test","environment":"dev","platform_components":[{"id":"dash","enabled":true}]}],
"platform_components":[
 {"_id":"certs","component_path":"core/certs","component_version":"1","oci_url":"oci://x","oci_tag":"v1"},
 {"_id":"dash","component_path":"obs/dash","component_version":"latest","cluster_env_enabled":true,"oci_url":"oci://x","oci_tag":"17","depends_on":["certs"]}],
"namespaces":[{"id":"n","labels":{"z":"1","a":"2"}}],
"rolebindings":[{"id":"r","role":"view","subjects":[{"kind":"User"},"odd"]}]})json";

/// Counts what it is told; refuses on demand.
class Recorder final : public Keeper {
 public:
  base::Result<News> begin() override {
    ++turns;
    return std::exchange(waiting, {});
  }
  base::Result<> keep(std::span<const Change> changes) override {
    if (meanwhile) meanwhile();
    if (refuses) return base::retryable("the disk is full");
    kept.insert(kept.end(), changes.begin(), changes.end());
    return {};
  }
  void abandon() override { ++abandoned; }
  base::Result<News> look() override {
    if (refuses) return base::retryable("gone");
    return std::exchange(waiting, {});
  }
  base::Result<base::json::Array> audit(const AuditQuery&) override { return base::json::Array{}; }
  std::vector<Change> kept;
  std::function<void()> meanwhile;
  News waiting;
  int turns = 0;
  int abandoned = 0;
  bool refuses = false;
};

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto content = parse_seed(kSeed);
    ASSERT_TRUE(content.has_value()) << content.error().message;
    auto made = Fleet::create(*std::move(content), &keeper_, clock_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    fleet_ = *std::move(made);
  }
  std::string poll(Route route, const std::string& dns = {}) const {
    const auto ready = fleet_->answer(route, dns);
    return ready ? std::string((*ready)->body) : std::to_string(ready.error().status);
  }
  Outcome<Kept> put(Family family, const std::string& id, const std::string& body) {
    return fleet_->update(family, id, parse(body), {}, {});
  }
  Outcome<Kept> patch(const std::string& id, const std::string& body) {
    return fleet_->merge(Family::kCluster, id, parse(body), {}, {});
  }

  base::ManualClock clock_;
  Recorder keeper_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(FleetTest, InputsFollowTheClustersOrderAndSkipWhatIsNotDefined) {
  EXPECT_EQ(
      poll(Route::kComponents, "a.test"),
      R"({"inputs":[{"id":"certs","component_path":"core/certs","component_version":"1","cluster_env_enabled":false,"depends_on":[],"enabled":true,"patches":{"a":"1","b":"2"},"cluster":{"name":"A","dns":"a.test","environment":"prod"},"source":{"oci_url":"oci://x","oci_tag":"v1"}},{"id":"dash","component_path":"obs/dash","component_version":"latest","cluster_env_enabled":true,"depends_on":["certs"],"enabled":false,"patches":{},"cluster":{"name":"A","dns":"a.test","environment":"prod"},"source":{"oci_url":"oci://x","oci_tag":""}}]})");
  EXPECT_EQ(poll(Route::kNamespaces, "a.test"),
            R"({"inputs":[{"id":"n","labels":{"a":"2","z":"1"},"annotations":{},)"
            R"("cluster":{"name":"A","dns":"a.test","environment":"prod"}}]})");
  EXPECT_EQ(poll(Route::kRoleBindings, "a.test"), R"({"inputs":[]})");
  EXPECT_EQ(poll(Route::kComponents, "c.test"), "404");
}

TEST_F(FleetTest, DependenciesCanBeCutToWhatIsEnabledOnTheCluster) {
  const auto of_certs = [&](Route route) {
    const Value answer = parse(poll(route, "a.test"));
    return *answer.find("inputs")->as_array()[0].find("depends_on");
  };
  ASSERT_TRUE(put(Family::kComponent, "dash", R"({"depends_on":[]})")) << "no circle";
  ASSERT_TRUE(
      put(Family::kComponent, "certs", R"({"depends_on":["dash","ghost","none","certs"]})"));
  EXPECT_EQ(of_certs(Route::kComponents), parse(R"(["dash","ghost","none","certs"])"));
  EXPECT_EQ(of_certs(Route::kTrimmedComponents), parse("[]")) << "dash is disabled";
  ASSERT_TRUE(patch("a", R"({"platform_components":[{"id":"dash","enabled":true}]})"));
  EXPECT_EQ(of_certs(Route::kTrimmedComponents), parse(R"(["dash"])"));
  ASSERT_TRUE(put(Family::kComponent, "certs", R"({"depends_on":[]})"));
  EXPECT_EQ(poll(Route::kTrimmedComponents, "a.test"), poll(Route::kComponents, "a.test"));
  ASSERT_TRUE(fleet_->remove(Family::kCluster, "a", false, {}, {}));
  EXPECT_EQ(poll(Route::kTrimmedComponents, "a.test"), R"({"inputs":[]})");
  EXPECT_EQ(poll(Route::kTrimmedComponents, "c.test"), "404");
}

TEST_F(FleetTest, AnAnswerIsTheSameObjectUntilSomethingItShowsChanges) {
  const ReadyPtr first = *fleet_->answer(Route::kComponents, "a.test");
  const ReadyPtr other = *fleet_->answer(Route::kComponents, "b.test");
  EXPECT_EQ(*fleet_->answer(Route::kComponents, "a.test"), first);
  ASSERT_TRUE(put(Family::kCluster, "a", R"({"node_count":4})"));
  EXPECT_NE(*fleet_->answer(Route::kComponents, "a.test"), first);
  EXPECT_EQ(*fleet_->answer(Route::kComponents, "b.test"), other) << "another cluster's change";
  EXPECT_EQ((*fleet_->answer(Route::kComponents, "a.test"))->etag, first->etag) << "the same bytes";
  ASSERT_TRUE(put(Family::kComponent, "dash", R"({"component_path":"moved"})"));
  EXPECT_THAT(poll(Route::kComponents, "b.test"), HasSubstr("moved"));
  EXPECT_THAT(poll(Route::kComponents, "a.test"), HasSubstr("moved"));
}

TEST_F(FleetTest, OnlyWhatARequestChangesIsChecked) {
  EXPECT_TRUE(put(Family::kCluster, "a", R"({"node_count":4})")) << "ghost dangles";
  const auto again =
      put(Family::kCluster, "a",
          R"({"platform_components":[{"id":"ghost"},{"id":"nobody"}],"patches":{}})");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().status, 400);
  EXPECT_THAT(again.error().message, HasSubstr("nobody"));
  const auto twice = put(Family::kCluster, "a", R"({"namespaces":[{"id":"n"},{"id":"n"}]})");
  EXPECT_THAT(twice.error().message, HasSubstr("twice"));
  const auto patches = put(Family::kCluster, "b", R"({"patches":{"certs":{"a":"1"}}})");
  EXPECT_THAT(patches.error().message, HasSubstr("certs"));
}

TEST_F(FleetTest, PatchMergesByIdAndByKey) {
  ASSERT_TRUE(patch(
      "a", R"({"platform_components":[{"id":"dash","oci_tag":null,"enabled":true},{"id":"certs"}],
                             "patches":{"certs":{"a":null,"c":"3"}},"node_count":null})"));
  const Value record = fleet_->get(Family::kCluster, "a")->data;
  EXPECT_EQ(
      base::json::compact(*record.find("platform_components")),
      R"([{"id":"certs","enabled":true},{"id":"ghost","enabled":true},{"id":"dash","enabled":true}])");
  EXPECT_EQ(base::json::compact(*record.find("patches")), R"({"certs":{"b":"2","c":"3"}})");
  EXPECT_EQ(record.find("node_count"), nullptr);
  EXPECT_EQ(patch("a", R"({"cluster_name":null})").error().status, 422);
  EXPECT_EQ(patch("none", R"({})").error().status, 404);
}

TEST_F(FleetTest, VersionsCountChangesAndAreKept) {
  ASSERT_TRUE(put(Family::kCluster, "a", R"({"node_count":4})"));
  ASSERT_TRUE(put(Family::kCluster, "a", R"({"node_count":4})")) << "nothing changes";
  EXPECT_EQ(fleet_->get(Family::kCluster, "a")->version, 2U);
  ASSERT_EQ(keeper_.kept.size(), 1U);
  EXPECT_EQ(keeper_.kept[0].version, 2U);
  EXPECT_EQ(keeper_.turns, 2);
  EXPECT_EQ(keeper_.abandoned, 1);
  EXPECT_EQ(
      fleet_->update(Family::kCluster, "a", parse(R"({"node_count":5})"), 1, {}).error().status,
      412);
  EXPECT_TRUE(fleet_->update(Family::kCluster, "a", parse(R"({"node_count":5})"), 2, {}));
}

TEST_F(FleetTest, WhatTheStoreRefusesHasNotHappened) {
  keeper_.refuses = true;
  const auto refused = put(Family::kCluster, "a", R"({"node_count":9})");
  EXPECT_EQ(refused.error().status, 500);
  EXPECT_THAT(refused.error().message, ::testing::Not(HasSubstr("disk")));
  EXPECT_EQ(fleet_->get(Family::kCluster, "a")->version, 1U);
  EXPECT_TRUE(fleet_->trouble().has_value());
  EXPECT_FALSE(fleet_->follow());
  EXPECT_THAT(poll(Route::kNamespaces, "a.test"), HasSubstr("\"n\"")) << "served all the same";
  keeper_.refuses = false;
  EXPECT_TRUE(fleet_->follow());
  EXPECT_FALSE(fleet_->trouble().has_value());
}

TEST_F(FleetTest, AStoreThatFallsSilentIsTold) {
  clock_.advance(std::chrono::hours(1));
  EXPECT_FALSE(fleet_->trouble().has_value()) << "nobody follows it";
  ASSERT_TRUE(fleet_->follow());
  clock_.advance(std::chrono::seconds(2));
  EXPECT_FALSE(fleet_->trouble().has_value());
  clock_.advance(std::chrono::seconds(2));
  EXPECT_TRUE(fleet_->trouble().has_value());
  ASSERT_TRUE(fleet_->follow());
  EXPECT_FALSE(fleet_->trouble().has_value());
}

TEST_F(FleetTest, NewsOfOtherProcesses) {
  Value moved = fleet_->get(Family::kCluster, "b")->data;
  moved.as_object().set("cluster_dns", "b2.test");
  keeper_.waiting.changes.push_back(
      {.family = Family::kCluster, .id = "b", .after = moved, .version = 5});
  EXPECT_NE(poll(Route::kComponents, "b.test"), "404");
  ASSERT_TRUE(fleet_->follow());
  EXPECT_EQ(poll(Route::kComponents, "b.test"), "404");
  EXPECT_THAT(poll(Route::kComponents, "b2.test"), HasSubstr("dash"));
  EXPECT_EQ(fleet_->get(Family::kCluster, "b")->version, 5U);
  // A write begins with them.
  keeper_.waiting.changes.push_back({.family = Family::kCluster, .id = "b"});
  EXPECT_EQ(put(Family::kCluster, "b", R"({"node_count":1})").error().status, 404);
}

TEST_F(FleetTest, DeletedClustersAnswerWithNothing) {
  ASSERT_TRUE(
      fleet_->remove(Family::kCluster, "b", false, {},
                     {.name = "x", .request_id = {}, .source = {}, .method = {}, .path = {}}));
  EXPECT_EQ(poll(Route::kComponents, "b.test"), R"({"inputs":[]})");
  ASSERT_TRUE(keeper_.kept[0].buried.has_value());
  EXPECT_EQ(keeper_.kept[0].buried->actor, "x");
  // Another cluster takes the name.
  ASSERT_TRUE(put(Family::kCluster, "a", R"({"cluster_dns":"b.test"})"));
  EXPECT_THAT(poll(Route::kNamespaces, "b.test"), HasSubstr("\"n\""));
  EXPECT_EQ(poll(Route::kNamespaces, "a.test"), "404") << "given up, not deleted";
  EXPECT_TRUE(fleet_->tombstones().empty());
}

TEST_F(FleetTest, DefinitionsInUseAreGuarded) {
  const auto guarded = fleet_->remove(Family::kComponent, "dash", false, {}, {});
  EXPECT_EQ(guarded.error().status, 409);
  EXPECT_THAT(guarded.error().message, HasSubstr("2 clusters (a, b)"));
  EXPECT_TRUE(fleet_->remove(Family::kComponent, "dash", true, {}, {}));
  EXPECT_EQ(poll(Route::kComponents, "b.test"), R"({"inputs":[]})");
  EXPECT_TRUE(fleet_->remove(Family::kRoleBinding, "r", false, {}, {})) << "nobody uses it";
}

TEST(FleetSeed, RoundTripsThroughTheStoredForm) {
  const auto content = parse_seed(kSeed);
  ASSERT_TRUE(content.has_value());
  for (const Family family : kAllFamilies) {
    for (const auto& [id, record] : content->records.at(static_cast<std::size_t>(family))) {
      const auto again = from_storage(family, to_storage(family, record.data));
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(base::json::compact(*again), base::json::compact(record.data));
    }
  }
  EXPECT_THAT(base::json::compact(to_storage(Family::kCluster, content->records[0].at("b").data)),
              HasSubstr(R"("oci_tag":null,"component_path":null)"));
}

TEST(FleetSeed, TwoClustersOfOneNameAreRefused) {
  auto content = parse_seed(R"({"clusters":[
    {"_id":"a","cluster_name":"A","cluster_dns":"x.test","environment":"dev","platform_components":[]},
    {"_id":"b","cluster_name":"B","cluster_dns":"x.test","environment":"dev","platform_components":[]}],
    "platform_components":[]})");
  ASSERT_TRUE(content.has_value());
  const base::ManualClock clock;
  const auto made = Fleet::create(*std::move(content), nullptr, clock);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, HasSubstr("x.test"));
}

TEST(FleetModel, RepeatedMembersAreFound) {
  const auto repeated = [](const char* text) {
    const auto document = base::json::Document::parse(text);
    return has_repeated_members(document->root());
  };
  EXPECT_TRUE(repeated(R"({"a":1,"a":2})"));
  EXPECT_TRUE(repeated(R"([{"b":{"a":1,"a":2}}])"));
  EXPECT_FALSE(repeated(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})"));
}

TEST_F(FleetTest, PollsDoNotWaitForTheStore) {
  std::string served;
  keeper_.meanwhile = [&] { served = poll(Route::kNamespaces, "a.test"); };
  ASSERT_TRUE(put(Family::kNamespace, "n", R"({"labels":{"b":"2"}})"));
  EXPECT_THAT(served, HasSubstr(R"("labels":{"a":"2","z":"1"})")) << "as it was before";
  EXPECT_THAT(poll(Route::kNamespaces, "a.test"), HasSubstr(R"("labels":{"b":"2"})"));
}

}  // namespace
}  // namespace kollect::fleet
