// `extract --live` and `validate --sample live` on a real kube-apiserver (spec: pipeline 13 and
// 15).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/testing.h"
#include "support/kube_server.h"

namespace kollect::pipeline {
namespace {

using kollect::testing::KubeServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::RunResult;

constexpr const char* kDefinition = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.live.example.org}
spec:
  group: live.example.org
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string}
              size: {type: integer}
              parts: {type: array, items: {type: object, properties: {name: {type: string}}}}
  - {name: v2alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
)";

constexpr const char* kObjects = R"(apiVersion: v1
kind: Namespace
metadata: {name: live-a, labels: {tier: front}}
---
apiVersion: v1
kind: Namespace
metadata: {name: live-b, labels: {tier: back}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: live-a, labels: {live: "yes"}}
data: {k: first}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: live-a, labels: {live: "yes", odd: "yes"}}
data: {other: second}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: three, namespace: live-b, labels: {live: "yes"}}
data: {k: third}
---
apiVersion: live.example.org/v1
kind: Gadget
metadata: {name: g1, namespace: live-a}
spec: {color: red, size: 3, parts: [{name: lid}]}
---
apiVersion: live.example.org/v1
kind: Gadget
metadata: {name: g2, namespace: live-b}
spec: {color: blue}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: gadget-reader, namespace: live-a}
rules: [{apiGroups: [live.example.org], resources: [gadgets], verbs: [list]}]
)";

constexpr const char* kConfigMaps = R"(targetGVK: {version: v1, kind: ConfigMap}
attributes:
- {name: type, path: $.kind}
- {name: name, path: $.metadata.name}
- {name: k, path: $.data.k, optional: true}
)";

class Live : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const KubeServer& server = KubeServer::shared();
    apply(kDefinition);
    const auto waited = server.kubectl(
        {"wait", "--for=condition=Established", "--timeout=60s", "crd/gadgets.live.example.org"});
    ASSERT_TRUE(waited.has_value()) << waited.error().message;
    apply(kObjects);
  }
  static void apply(const std::string& objects) {
    const auto applied =
        KubeServer::shared().kubectl({"apply", "--server-side", "-f", "-"}, objects);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }
  void SetUp() override { program_.real_time = true; }

  RunResult run(std::vector<std::string> args, const std::string& user = "admin") {
    args.insert(args.end(), {"--kubeconfig", KubeServer::shared().kubeconfig_of(user).string()});
    return program_.run(args);
  }
  RunResult extract(const std::string& spec, const std::vector<std::string>& more,
                    const std::string& user = "admin") {
    program_.write("spec.yaml", spec);
    std::vector<std::string> args = {"extract", "--live", "--profile-spec",
                                     program_.path("spec.yaml")};
    args.insert(args.end(), more.begin(), more.end());
    return run(args, user);
  }
  RunResult validate(const std::string& manifests, const std::string& user = "admin") {
    program_.write("profiles.yaml", manifests);
    return run({"validate", "--sample", "live", program_.path("profiles.yaml")}, user);
  }
  static std::string gadget_profile(const std::string& version, const std::string& attributes) {
    return fmt::format(
        "apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\nmetadata: {{name: gadgets}}\n"
        "spec:\n  targetGVK: {{group: live.example.org, version: {}, kind: Gadget}}\n"
        "  attributes:\n{}",
        version, attributes);
  }

  Program program_;
};

// Lists of built-in kinds leave out the type of their items; attributes see it all the same.
TEST_F(Live, ExtractReadsANamespace) {
  const RunResult run = extract(kConfigMaps, {"--namespace", "live-a", "--selector", "live"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "{\"row\":{\"k\":\"first\",\"name\":\"one\",\"type\":\"ConfigMap\"}}\n"
            "{\"row\":{\"name\":\"two\",\"type\":\"ConfigMap\"}}\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(Live, ExtractNarrowsBySelectorAndLimit) {
  EXPECT_EQ(std::ranges::count(extract(kConfigMaps, {"--selector", "live=yes"}).out, '\n'), 3);
  EXPECT_EQ(extract(kConfigMaps, {"--selector", "live=yes,odd"}).out,
            "{\"row\":{\"name\":\"two\",\"type\":\"ConfigMap\"}}\n");
  const RunResult limited = extract(kConfigMaps, {"--selector", "live=yes", "--limit", "2"});
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_EQ(std::ranges::count(limited.out, '\n'), 2);
  EXPECT_EQ(extract(kConfigMaps, {"--limit", "0"}).out, "");
  EXPECT_EQ(extract(kConfigMaps, {"--selector", "live in (", "--limit", "1"}).code, 2);
}

TEST_F(Live, ExtractKnowsTheLabelsOfNamespaces) {
  const RunResult run = extract(
      "targetGVK: {group: live.example.org, version: v1, kind: Gadget}\n"
      "attributes:\n- {name: tier, path: \"cel: namespaceLabels.tier\"}\n"
      "- {name: type, path: $.apiVersion}\n",
      {});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "{\"row\":{\"tier\":\"front\",\"type\":\"live.example.org/v1\"}}\n"
            "{\"row\":{\"tier\":\"back\",\"type\":\"live.example.org/v1\"}}\n");
}

// Who may not list namespaces reads objects all the same; nothing is known of their namespaces
// then.
TEST_F(Live, ExtractGoesOnWithoutTheRightToListNamespaces) {
  apply(R"(apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: gadgets, namespace: live-a}
rules: [{apiGroups: [live.example.org], resources: [gadgets], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: gadgets, namespace: live-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: gadgets}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
)");
  const RunResult run = extract(
      "targetGVK: {group: live.example.org, version: v1, kind: Gadget}\n"
      "attributes: [{name: tier, path: \"cel: namespaceLabels.?tier.orValue('none')\"}]\n",
      {"--namespace", "live-a"}, "bob");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "{\"row\":{\"tier\":\"none\"}}\n");
  EXPECT_THAT(run.err, HasSubstr("kollect: namespaceLabels is empty: "));
}

TEST_F(Live, ExtractFailsPerObject) {
  const RunResult run = extract(
      "targetGVK: {version: v1, kind: ConfigMap}\n"
      "attributes: [{name: k, path: \"cel: object.data.k\"}]\n",
      {"--namespace", "live-a", "--selector", "live", "--table"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("live-a/one  first\n"), HasSubstr("live-a/two  error (cel): ")));
}

TEST_F(Live, ExtractSaysWhatIsWrongWithTheCluster) {
  const std::string kind = "targetGVK: {version: v1, kind: configmap}\nattributes: []\n";
  RunResult run = extract(kind, {});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("in other spelling there is ConfigMap"));
  EXPECT_EQ(run.out, "");
  run = extract(kConfigMaps, {}, "nobody");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("403"));
  run = extract(kConfigMaps, {"--context", "nope"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("nope"));
  program_.write("gone",
                 "apiVersion: v1\nkind: Config\ncurrent-context: gone\n"
                 "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n"
                 "users: [{name: u, user: {token: t}}]\n"
                 "contexts: [{name: gone, context: {cluster: c, user: u}}]\n");
  run = program_.run({"extract", "--live", "--profile-spec", program_.path("spec.yaml"),
                      "--kubeconfig", program_.path("gone")});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err_lines(), 1U) << run.err;
}

// No target is needed beside a profile that is given as a file.
TEST_F(Live, ValidateTriesProfilesOnWhatIsThere) {
  const RunResult run =
      validate(gadget_profile("v1",
                              "  - {name: color, path: $.spec.color}\n"
                              "  - {name: colour, path: $.spec.colour}\n"
                              "  - {name: size, path: $.spec.size, type: string}\n"
                              "  - {name: part, path: \"$.spec.parts[*].nam\"}\n"
                              "  - {name: tier, path: \"cel: namespaceLabels.tier\"}\n"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("valid (1 profile(s), 0 target(s), 0 sink(s))"));
  EXPECT_THAT(run.err, HasSubstr("spec.attributes[1].path: Gadget has no field spec.colour; near "
                                 "names: color (line 8, column 20)\n"));
  EXPECT_THAT(run.err, HasSubstr("attribute \"colour\": absent on 2 of 2 objects"));
  EXPECT_THAT(run.err, HasSubstr("attribute \"size\": absent on 1 of 2 objects; of another type "
                                 "than declared on 1 of 2 objects"));
  EXPECT_THAT(run.err, HasSubstr("Gadget has no field spec.parts[].nam; near names: name"));
  EXPECT_THAT(run.err, Not(HasSubstr("\"color\"")));
  EXPECT_THAT(run.err, Not(HasSubstr("\"tier\"")));
}

TEST_F(Live, ValidateNamesKindsAndVersionsThatAreNotServed) {
  RunResult run = validate(gadget_profile("v2alpha1", "  - {name: color, path: $.spec.color}\n"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("spec.targetGVK.version: Gadget is not served in this version; "
                                 "served: v1"));
  const std::string unserved = base::replace_all(
      gadget_profile("v1", "  - {name: c, path: $.spec}\n"), "kind: Gadget", "kind: Gizmo");
  run = validate(base::replace_all(unserved, "name: gadgets", "name: gizmos") + "---\n" +
                 gadget_profile("v1", "  - {name: c, path: $.spec.colour}\n"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("KollectProfile default/gizmos: warning: spec.targetGVK: "));
  EXPECT_THAT(run.err, HasSubstr("Gizmo"));
  EXPECT_THAT(run.err, HasSubstr("Gadget has no field spec.colour"));
}

// What is wrong with the manifests is told whatever the cluster says.
TEST_F(Live, ValidateReportsTheManifestsOfAnyCluster) {
  const std::string broken =
      gadget_profile("v1", "  - {name: c, path: $.spec.color}\n") +
      "---\napiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata: {name: t}\n"
      "spec: {profileRef: gadgets, bogus: 1}\n";
  RunResult run = validate(broken);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("spec.bogus: unknown field"));
  EXPECT_THAT(run.err, HasSubstr("error: 1 problem\n"));
  run = validate(broken, "nobody");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("spec.bogus: unknown field"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning: spec.targetGVK: "), HasSubstr("403")));
  run = program_.run({"validate", "--sample", "live", program_.path("profiles.yaml"),
                      "--kubeconfig", program_.path("no-such-file")});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("spec.bogus: unknown field"));
  EXPECT_THAT(run.err, HasSubstr("no-such-file"));
}

}  // namespace
}  // namespace kollect::pipeline
