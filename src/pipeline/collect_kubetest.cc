// Cases of spec pipeline 17 on a real kube-apiserver, by their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/testing.h"
#include "support/kube_server.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using kollect::testing::KubeServer;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::rows_of;
using testing::RunResult;

constexpr const char* kObjects = R"(
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop}
data: {k: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: shop}
data: {k: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: lab}
data: {k: three}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
)";

constexpr const char* kUnknownKind = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: gone, namespace: x}
spec:
  targetGVK: {group: image.toolkit.fluxcd.io, version: v1, kind: ImagePolicy}
  attributes: [{name: k, path: $.spec}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: policies, namespace: x}
spec: {profileRef: gone}
)";

class CollectKube : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto applied =
        KubeServer::shared().kubectl({"apply", "--server-side", "-f", "-"}, kObjects);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }

  void SetUp() override {
    testing::write_folder_f(program_);
    program_.real_time = true;
    write_kubeconfig("kubeconfig", {"prod-a", "prod-b", "pipe", "arn:aws:eks:eu:1/c1"});
  }

  /// A kubeconfig whose contexts are all the test server, for `user`; a dead one as well when
  /// asked.
  void write_kubeconfig(const std::string& name, const std::vector<std::string>& contexts,
                        const std::string& user = "admin", bool dead = false) {
    const KubeServer& server = KubeServer::shared();
    std::string text = fmt::format(
        "apiVersion: v1\nkind: Config\ncurrent-context: \"{}\"\nclusters:\n"
        "- {{name: c, cluster: {{server: \"{}\", certificate-authority: {}}}}}\n"
        "- {{name: gone, cluster: {{server: \"http://127.0.0.1:1\"}}}}\n"
        "users: [{{name: u, user: {{token: {}}}}}]\ncontexts:\n",
        contexts.front(), server.url(), server.ca_file().string(), KubeServer::token_of(user));
    for (const std::string& context : contexts) {
      text += fmt::format("- {{name: \"{}\", context: {{cluster: c, user: u}}}}\n", context);
    }
    if (dead) text += "- {name: contexts-dead, context: {cluster: gone, user: u}}\n";
    program_.write(name, text);
  }

  RunResult collect(std::vector<std::string> more, const std::string& kubeconfig = "kubeconfig") {
    std::vector<std::string> args = {"collect", "--config", program_.path("f"), "--kubeconfig",
                                     program_.path(kubeconfig)};
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }

  Program program_;
};

TEST_F(CollectKube, Case01) {
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const auto record = Document::parse(run.out);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->root().text("context"), "prod-a");
  EXPECT_EQ(record->root().text("path"), "inventory/x/t.yaml");
  EXPECT_EQ(rows_of(*record->root().find("envelope")), "lab/a shop/a shop/b");
}

TEST_F(CollectKube, Case02) {
  program_.write("f/target.yaml", std::string(testing::kConfigMapTarget) + "  names: [zzz]\n");
  const RunResult run = collect({"--output", "-", "--format", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  const auto array = Document::parse(run.out);
  ASSERT_EQ(array->root().size(), 1U);
  EXPECT_EQ(array->root().at(0).at_path({"envelope", "items"})->size(), 0U);
}

TEST_F(CollectKube, Case03) {
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 0);
  const std::string first = program_.read("out/inventory/x/t.yaml");
  const auto time = program_.mtime("out/inventory/x/t.yaml");
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 0);
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), first);
  EXPECT_EQ(program_.mtime("out/inventory/x/t.yaml"), time);
}

TEST_F(CollectKube, Case06) {
  write_kubeconfig("alice", {"alice"}, "alice");
  const RunResult run = collect({"--output", "-"}, "alice");
  EXPECT_EQ(run.code, 1) << run.err;
  const auto record = Document::parse(run.out);
  ASSERT_TRUE(record.has_value()) << run.out;
  EXPECT_EQ(rows_of(*record->root().find("envelope")), "shop/a shop/b");
  EXPECT_TRUE(run.out.ends_with(",\"incomplete\":{\"deniedNamespaces\":[\"lab\"]}}\n")) << run.out;
  EXPECT_THAT(run.err, HasSubstr("forbidden"));
  EXPECT_THAT(run.err, HasSubstr(R"("namespace":"lab")"));
}

TEST_F(CollectKube, Case07) {
  program_.write("f/profile.yaml", kUnknownKind);
  std::filesystem::remove(program_.path("f/target.yaml"));
  program_.write("out/inventory/x/policies.yaml", "- old: true\n");
  const RunResult run = collect({"--output", program_.path("out")});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("gvk-not-found"));
  EXPECT_EQ(program_.read("out/inventory/x/policies.yaml"), "- old: true\n");
  EXPECT_EQ(collect({"--output", "-"}).out, "");
}

// field-missing-kind-does-not-stop-others, with a misspelt kind as well.
TEST_F(CollectKube, Case08) {
  program_.write("f/gone.yaml", kUnknownKind);
  program_.write("f/typo.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: typo, namespace: x}
spec:
  targetGVK: {group: apps, version: v1, kind: deployment}
  attributes: [{name: k, path: $.spec}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: typo, namespace: x}
spec: {profileRef: typo}
)");
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_LT(run.err_lines(), 10U);
  EXPECT_THAT(run.err, HasSubstr("x/policies"));
  EXPECT_THAT(run.err, HasSubstr("Deployment"));
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 1);
  EXPECT_TRUE(program_.exists("out/inventory/x/t.yaml"));
  EXPECT_FALSE(program_.exists("out/inventory/x/policies.yaml"));
}

TEST_F(CollectKube, Case09) {
  const RunResult run =
      collect({"--context", "prod-*,pipe", "--output", program_.path("out"), "--parallel", "2"});
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* context : {"pipe", "prod-a", "prod-b"}) {
    EXPECT_TRUE(program_.exists(fmt::format("out/inventory/{}/x/t.yaml", context))) << context;
  }
  // The three contexts are one server and user, which is said (L-55).
  EXPECT_THAT(run.err, HasSubstr("same server and user"));
  EXPECT_EQ(collect({"--context", "prod-*", "--output", program_.path("out"), "--path-template",
                     "{name}{extension}"})
                .code,
            2);
}

TEST_F(CollectKube, Case10) {
  const RunResult run = collect({"--context", "zz*", "--context", "prod-a", "--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(R"("context":"prod-a")"));
  EXPECT_THAT(run.err, HasSubstr("zz*"));
  EXPECT_EQ(collect({"--context", "zz*", "--context", "prod-a", "--output", "-", "--strict"}).code,
            2);
}

TEST_F(CollectKube, Case11) {
  const RunResult run = collect({"--context", "arn*", "--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(R"("context":"arn:aws:eks:eu:1/c1")"));
  EXPECT_THAT(run.out, HasSubstr(R"("cluster":"arn:aws:eks:eu:1/c1")"));
}

TEST_F(CollectKube, Case13) {
  write_kubeconfig("mixed", {"prod-a"}, "admin", true);
  const RunResult run =
      collect({"--context", "contexts-dead,prod-a", "--output", "-", "--timeout", "5s"}, "mixed");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_THAT(run.out, HasSubstr(R"("context":"prod-a")"));
  EXPECT_THAT(run.err, HasSubstr("unreachable"));
}

TEST_F(CollectKube, Case17) {
  program_.write("f/gone.yaml", kUnknownKind);
  const RunResult run = collect({"--output", program_.path("out"), "--dry-run"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("create inventory/x/t.yaml"));
  EXPECT_FALSE(program_.exists("out"));
}

TEST_F(CollectKube, Case22) {
  write_kubeconfig("b", {"only-in-b"});
  program_.write("a", "apiVersion: v1\nkind: Config\ncurrent-context: only-in-b\n");
  program_.env["KUBECONFIG"] = program_.path("a") + ":" + program_.path("b");
  const RunResult run = program_.run({"collect", "--config", program_.path("f"), "--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(R"("context":"only-in-b")"));
}

TEST_F(CollectKube, Case26) {
  program_.in_is_terminal = true;
  const std::vector<std::string> init = {"init", "--kubeconfig", program_.path("kubeconfig"),
                                         "--output-dir", program_.path("new")};
  // context, kind, scope, namespaces, filter, sample, attributes, name, write
  const std::string answers = "yes\nConfigMap\n2\nshop\n1\nno\n\n\nyes\n";
  const RunResult run = program_.run(init, answers);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(program_.read("new/profile.yaml"), HasSubstr("kind: ConfigMap"));
  EXPECT_THAT(program_.read("new/target.yaml"), HasSubstr("includedNamespaces:\n  - shop"));
  const RunResult trial = program_.run({"collect", "--config", program_.path("new"), "--kubeconfig",
                                        program_.path("kubeconfig"), "--output", "-"});
  EXPECT_EQ(trial.code, 0) << trial.err;
  EXPECT_EQ(program_.run(init, answers + "no\n").code, 2);
  const std::string before = program_.read("new/profile.yaml");
  program_.write("new/profile.yaml", before + "# changed by hand\n");
  const RunResult again = program_.run(init, answers + "no\n");
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(program_.read("new/profile.yaml"), before + "# changed by hand\n");
}

TEST_F(CollectKube, Unauthorized) {
  program_.write("bad", program_.read("kubeconfig"));
  write_kubeconfig("bad", {"prod-a"}, "unknown-user");
  const RunResult run = collect({"--output", "-"}, "bad");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("unauthorized"));
}

TEST_F(CollectKube, DeniedEverywhere) {
  write_kubeconfig("nobody", {"nobody"}, "nobody");
  program_.write("out/inventory/x/t.yaml", "- old: true\n");
  const RunResult run = collect({"--output", program_.path("out")}, "nobody");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("forbidden"));
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "- old: true\n");
}

// selection L-12: a target that selects by labels needs the right to list namespaces.
TEST_F(CollectKube, NamespacesUnreadable) {
  write_kubeconfig("alice", {"alice"}, "alice");
  program_.write("f/target.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: t, namespace: x}
spec:
  profileRef: cm
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
)");
  const RunResult run = collect({"--output", "-"}, "alice");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("namespaces-unreadable"));
}

TEST_F(CollectKube, NamespaceFlag) {
  const RunResult run = collect({"--output", "-", "--namespace", "lab"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(rows_of(*Document::parse(run.out)->root().find("envelope")), "lab/a");
  const RunResult none = collect({"--output", "-", "--namespace", "nowhere"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(rows_of(*Document::parse(none.out)->root().find("envelope")), "");
  EXPECT_THAT(none.err, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace kollect::pipeline
