// The choice of cluster targets and namespaces; ids are those of the cases table of selection 12.3.
#include "manager/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::manager {
namespace {

using Phase = ClusterTargetStanding::Phase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::LabelSelector with_label(const std::string& key, const std::string& value) {
  api::LabelSelector selector;
  selector.match_labels = {{key, value}};
  return selector;
}

class RollupTest : public ::testing::Test {
 protected:
  RollupTest() {
    add("images", "a", {.phase = Phase::kReady, .namespaces = {{"atlas", "corvus"}}});
    add("nodes", "b", {.phase = Phase::kReady, .namespaces = {{}}, .cluster_scoped = true});
    add("scan", "a", {.phase = Phase::kReady, .namespaces = {{"atlas", "boreas"}}});
    for (const char* name : {"atlas", "boreas", "corvus"}) {
      const std::string zone = std::string(name) == "corvus" ? "west" : "east";
      namespaces_[name] = {.name = name, .labels = {{"zone", zone}}, .annotations = {}};
    }
  }
  void add(const std::string& name, const std::string& rollup, ClusterTargetStanding standing) {
    auto target = std::make_shared<Cached<api::ClusterTarget>>();
    target->object.metadata.name = name;
    target->object.metadata.labels = {{"rollup", rollup}};
    targets_.push_back(std::move(target));
    standings_[name] = std::move(standing);
  }
  base::Result<Rollup> result() {
    std::vector<ObjectCache<api::ClusterTarget>::Ptr> targets(targets_.begin(), targets_.end());
    return roll_up(spec_, {.targets = std::move(targets),
                           .standing = [&](const std::string& name) { return standings_[name]; },
                           .namespaces = listed_ ? &namespaces_ : nullptr,
                           .why_unknown = "no right"});
  }
  Rollup made() {
    auto rollup = result();
    EXPECT_TRUE(rollup) << rollup.error().message;
    return *rollup;
  }

  api::ClusterInventorySpec spec_;
  std::vector<std::shared_ptr<Cached<api::ClusterTarget>>> targets_;
  std::map<std::string, ClusterTargetStanding> standings_;
  select::Namespaces namespaces_;
  bool listed_ = true;
};

TEST_F(RollupTest, WithoutFieldsAllTargetsAndNamespaces) {
  const Rollup rollup = made();
  EXPECT_FALSE(rollup.namespaces);
  EXPECT_THAT(rollup.targets, ElementsAre("images", "nodes", "scan"));
}

TEST_F(RollupTest, NamesAndSelectors) {
  spec_.target_refs = {"scan", "images", "scan"};  // A1
  spec_.namespaces = {"boreas", "atlas"};
  EXPECT_THAT(made().targets, ElementsAre("images", "scan"));
  EXPECT_THAT(*made().namespaces, ElementsAre("atlas", "boreas"));
  spec_ = {};  // A3
  spec_.target_selector = with_label("rollup", "a");
  spec_.namespace_selector = with_label("zone", "west");
  EXPECT_THAT(made().targets, ElementsAre("images"));
  spec_.namespaces = {"atlas"};  // both must fit
  EXPECT_THAT(*made().namespaces, IsEmpty());
  EXPECT_THAT(made().targets, IsEmpty());
  spec_ = {};  // A4: names make the selector void
  spec_.target_refs = {"images"};
  spec_.target_selector = with_label("rollup", "b");
  spec_.namespaces = {"atlas"};
  EXPECT_THAT(made().targets, ElementsAre("images"));
}

TEST_F(RollupTest, WhoTakesPart) {
  spec_.namespaces = {"corvus"};
  EXPECT_THAT(made().targets, ElementsAre("images", "nodes"));  // L-20
  spec_.target_refs = {"scan"};                                 // A8
  EXPECT_THAT(made().targets, IsEmpty());
  spec_.target_refs = {"images"};  // A9
  spec_.namespaces = {"nowhere"};
  EXPECT_THAT(made().targets, IsEmpty());
  spec_.target_refs = {"images", "ghost"};  // A7
  spec_.namespaces = {"atlas"};
  EXPECT_THAT(made().targets, ElementsAre("images"));
  EXPECT_THAT(made().missing, ElementsAre("ghost"));
  targets_[0]->object.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  EXPECT_THAT(made().targets, IsEmpty());
}

TEST_F(RollupTest, TargetsThatAreNotReady) {
  standings_["scan"].phase = Phase::kDegraded;  // A10
  standings_["images"].phase = Phase::kWaiting;
  EXPECT_THAT(made().degraded, ElementsAre("scan"));
  EXPECT_THAT(made().waiting, ElementsAre("images"));
  // Nobody knows what one brings that was stopped before its namespaces were asked for.
  standings_["scan"].namespaces.reset();
  spec_.namespaces = {"corvus"};
  EXPECT_THAT(made().degraded, ElementsAre("scan"));
  standings_["scan"].namespaces = {{"atlas"}};
  EXPECT_THAT(made().degraded, IsEmpty());
}

TEST_F(RollupTest, NamespacesThatCannotBeListed) {
  listed_ = false;
  spec_.namespaces = {"corvus", "nowhere"};
  EXPECT_THAT(*made().namespaces, ElementsAre("corvus", "nowhere"));
  spec_.namespace_selector = with_label("zone", "west");
  const auto failed = result();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, "InformerRegistrationFailed");
  EXPECT_THAT(failed.error().message, HasSubstr("no right"));
}

TEST_F(RollupTest, ASelectorThatDoesNotCompile) {
  spec_.target_selector = with_label("no label key!", "x");
  const auto failed = result();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, "InformerRegistrationFailed");
  EXPECT_THAT(failed.error().message, HasSubstr("spec.targetSelector"));
}

TEST_F(RollupTest, RowsOfTheChosen) {
  spec_.target_refs = {"images", "nodes"};
  spec_.namespaces = {"atlas"};
  const auto wanted = rows_of(made());
  using inventory::OwnerClass;
  EXPECT_TRUE(wanted({OwnerClass::kClusterTarget, "atlas", "images"}));
  EXPECT_TRUE(wanted({OwnerClass::kClusterTarget, "", "nodes"}));  // L-22
  EXPECT_FALSE(wanted({OwnerClass::kClusterTarget, "corvus", "images"}));
  EXPECT_FALSE(wanted({OwnerClass::kClusterTarget, "atlas", "scan"}));
  EXPECT_FALSE(wanted({OwnerClass::kTarget, "atlas", "images"}));
  const std::string key = key_of(made());
  spec_.namespaces = {"atlas", "corvus"};
  EXPECT_NE(key_of(made()), key);
}

}  // namespace
}  // namespace kollect::manager
