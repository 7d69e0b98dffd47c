// Cluster targets and inventories through `collect --manifests` (spec: selection 11 and 12,
// pipeline 3).
#include "base/process.h"
#include "pipeline/aggregation_testing.h"

namespace kollect::pipeline {
namespace {

using base::json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using testing::RunResult;

class AggregationFromManifests : public ::testing::Test {
 protected:
  static Value spec(std::string_view yaml) { return *base::yaml::read_one(yaml); }

  static void git(std::vector<std::string> args) {
    base::Command command;
    command.program = "git";
    command.args = std::move(args);
    command.env = {{"PATH", "/usr/bin:/bin"}, {"GIT_CONFIG_NOSYSTEM", "1"}};
    const auto result = base::run(base::Context::background(), command);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_EQ(result->exit_code, 0) << result->err;
  }

  testing::Aggregation run_{{"--manifests", KOLLECT_SOURCE_DIR "/tests/cases/select/fixture.yaml"}};
};

TEST_F(AggregationFromManifests, TableT) {
  run_.check_cluster_targets();
}

TEST_F(AggregationFromManifests, TableA) {
  run_.check_cluster_inventories();
}

TEST_F(AggregationFromManifests, TableI) {
  run_.check_inventories();
}

// T5: two rows for one object, in two owner classes that never see each other.
TEST_F(AggregationFromManifests, T5ATargetOfTheSameName) {
  run_.put("KollectTarget", "atlas", "images", spec("{profileRef: deployments, names: [api]}"));
  run_.put("KollectInventory", "atlas", "own", spec("{}"));
  run_.put_cluster_inventory(spec("{targetRefs: [images], namespaces: [atlas]}"));
  const RunResult run = run_.collect();
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run_.rows("inventory/cluster/rollup.json"),
              Optional(ElementsAre("atlas/images: atlas/api")));
  EXPECT_THAT(run_.rows("inventory/atlas/own.json"),
              Optional(ElementsAre("atlas/images: atlas/api", "atlas/images: boreas/api",
                                   "atlas/images: draco/api")));
}

// Records go by target, whatever inventories are there.
TEST_F(AggregationFromManifests, RecordsNameClusterTargets) {
  run_.put_cluster_inventory(spec("{namespaces: [atlas]}"));
  const RunResult run = run_.collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(R"({"context":"local","targetNamespace":"","targetName":"images",)"
                                 R"("path":"inventory/cluster/images.yaml",)"));
}

TEST_F(AggregationFromManifests, TargetsOutsideOfTheInventoryKeepTheirOwnDocuments) {
  run_.put_cluster_inventory(spec("{targetRefs: [images], namespaces: [atlas]}"));
  EXPECT_EQ(run_.collect().code, 0);
  EXPECT_FALSE(run_.program.exists("out/inventory/cluster/images.json"));
  EXPECT_TRUE(run_.program.exists("out/inventory/cluster/scan.json"));
  EXPECT_TRUE(run_.program.exists("out/inventory/cluster/nodes.json"));
}

// --namespace narrows the cluster targets; the inventory takes what is left.
TEST_F(AggregationFromManifests, NamespaceFlag) {
  run_.put_cluster_inventory(spec("{targetRefs: [images], namespaces: [boreas, corvus]}"));
  const RunResult run = run_.collect(
      {"--namespace", "boreas", "--output", run_.program.path("out"), "--format", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run_.rows("inventory/cluster/rollup.json"),
              Optional(ElementsAre("boreas/images: boreas/api")));
}

TEST_F(AggregationFromManifests, SinksThatAreNotThereAreNamed) {
  run_.put_cluster_inventory(spec("{namespaces: [atlas], snapshotSinkRefs: [nowhere]}"));
  run_.put("KollectInventory", "ops", "all", spec("{databaseSinkRefs: [db]}"));
  const RunResult run = run_.collect();
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("KollectClusterInventory rollup: spec.snapshotSinkRefs[0]: there "
                                 "is no KollectSnapshotSink kollect-system/nowhere here"));
  EXPECT_THAT(run.err, HasSubstr("KollectInventory ops/all: spec.databaseSinkRefs[0]: there is no "
                                 "KollectDatabaseSink ops/db here"));
  EXPECT_EQ(run_.collect({"--output", "-", "--strict"}).code, 2);
}

// A rollup and an inventory go to the sinks that name them, in one commit of one repository each.
TEST_F(AggregationFromManifests, SinksGetTheInventoriesThatNameThem) {
  const std::string bare = run_.program.path("repo.git");
  git({"init", "-q", "--bare", "-b", "main", bare});
  run_.put("KollectSnapshotSink", "kollect-system", "tree",
           spec(fmt::format(
               "{{type: git, endpoint: \"file://{}\", serialization: {{format: json}}}}", bare)));
  run_.put_cluster_inventory(spec(
      "{targetSelector: {matchLabels: {rollup: a}}, dedupe: byResourceUID, namespaces: [atlas, "
      "boreas], snapshotSinkRefs: [tree]}"));
  run_.put("KollectTarget", "ops", "unseen", spec("{profileRef: deployments}"));
  run_.put("KollectInventory", "ops", "all", spec("{}"));
  const RunResult run = run_.collect({"--summary", "none"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("there is no")));
  git({"clone", "-q", bare, run_.program.path("out")});
  EXPECT_THAT(run_.rows("inventory/cluster/rollup.json"),
              Optional(ElementsAre("atlas/scan: atlas/api", "boreas/scan: boreas/api")));
  EXPECT_FALSE(run_.program.exists("out/inventory/ops/all.json"));
}

}  // namespace
}  // namespace kollect::pipeline
