// Cluster targets and inventories through `collect` on a real kube-apiserver (spec: selection 11
// and 12, pipeline 3).
#include "pipeline/aggregation_testing.h"
#include "support/kube_server.h"

namespace kollect::pipeline {
namespace {

using base::json::Value;
using kollect::testing::KubeServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using testing::RunResult;

constexpr const char* kRights = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: deployment-reader, namespace: atlas}
rules: [{apiGroups: [apps], resources: [deployments], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployment-reader, namespace: atlas}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployment-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
)";

class AggregationKube : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const std::string& objects :
         {testing::select_case("fixture.yaml"), std::string(kRights)}) {
      const auto applied = KubeServer::shared().kubectl(
          {"apply", "--server-side", "--force-conflicts", "-f", "-"}, objects);
      ASSERT_TRUE(applied.has_value()) << applied.error().message;
    }
  }
  static Value spec(std::string_view yaml) { return *base::yaml::read_one(yaml); }

  testing::Aggregation run_{{"--kubeconfig", KubeServer::shared().kubeconfig().string()}};
};

TEST_F(AggregationKube, TableT) {
  run_.check_cluster_targets();
}

TEST_F(AggregationKube, TableA) {
  run_.check_cluster_inventories();
}

TEST_F(AggregationKube, TableI) {
  run_.check_inventories();
}

/// The folder with a target `scan` whose kind no server has.
std::string with_unserved_scan() {
  constexpr std::string_view kScan =
      "  profileRef: {namespace: ops, name: deployments}\n"
      "  namespaceSelector: {matchLabels: {zone: east}}\n";
  return base::replace_all(testing::select_case("aggregation.yaml"), kScan,
                           base::replace_all(std::string(kScan), "deployments", "gone")) +
         R"(---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: gone, namespace: ops}
spec:
  targetGVK: {group: image.toolkit.fluxcd.io, version: v1, kind: ImagePolicy}
  attributes: [{name: k, path: $.spec}]
)";
}

TEST_F(AggregationKube, A10ATargetThatCannotBeReadHoldsTheRollupBack) {
  run_.program.write("f/targets.yaml", with_unserved_scan());
  run_.put_cluster_inventory(spec("{targetRefs: [images, scan], namespaces: [atlas, boreas]}"));
  RunResult run = run_.collect();
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(run_.rows("inventory/cluster/rollup.json"), std::nullopt);
  EXPECT_THAT(run.err, HasSubstr(R"("target":"scan","reason":"gvk-not-found")"));
  EXPECT_THAT(run.err, HasSubstr("cluster/rollup keeps its last state"));
  // L-20: a rollup in which it takes no part is exported.
  run_.put_cluster_inventory(
      spec("{targetRefs: [images, scan], namespaceSelector: {matchLabels: {zone: west}}}"));
  run = run_.collect();
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run_.rows("inventory/cluster/rollup.json"),
              Optional(ElementsAre("corvus/images: corvus/pin")));
}

// L-12: without the right to list namespaces names count as they are, and nothing that a selector
// means is taken for empty.
TEST_F(AggregationKube, NamespacesThatCannotBeListed) {
  testing::Aggregation run(
      {"--kubeconfig", KubeServer::shared().kubeconfig_of("bob").string(), "--namespace", "atlas"});
  // The profile and the target of one kind: this user may list no other.
  const std::string all =
      base::replace_all(testing::select_case("aggregation.yaml"), "---", "\x01");
  const auto documents = base::split(all, '\x01');
  run.program.write("f/targets.yaml", fmt::format("{}---{}", documents[0], documents[2]));
  run.put_cluster_inventory(*base::yaml::read_one("{namespaces: [atlas, boreas]}"));
  const RunResult by_name = run.collect();
  EXPECT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_THAT(run.rows("inventory/cluster/rollup.json"),
              Optional(ElementsAre("atlas/images: atlas/api")));
  run.put_cluster_inventory(
      *base::yaml::read_one("{namespaceSelector: {matchLabels: {tier: prod}}}"));
  const RunResult by_label = run.collect();
  EXPECT_EQ(run.rows("inventory/cluster/rollup.json"), std::nullopt);
  EXPECT_THAT(by_label.err, HasSubstr("cluster/rollup keeps its last state"));
}

}  // namespace
}  // namespace kollect::pipeline
