// Cases of spec pipeline 17 that need no cluster, by their numbers, with objects from manifests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::rows_of;
using testing::RunResult;

class CollectCases : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_folder_f(program_);
    program_.write("dump.yaml", testing::kConfigMapDump);
  }

  RunResult collect(std::vector<std::string> more) {
    std::vector<std::string> args = {"collect", "--config", program_.path("f"), "--manifests",
                                     program_.path("dump.yaml")};
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }
  void add_sink(const std::string& name, const std::string& endpoint) {
    program_.write("f/sink-" + name + ".yaml",
                   fmt::format("apiVersion: kollect.dev/v1alpha1\nkind: KollectSnapshotSink\n"
                               "metadata: {{name: {}, namespace: x}}\n"
                               "spec: {{type: git, endpoint: \"{}\", git: {{branch: main}}}}\n",
                               name, endpoint));
  }

  Program program_;
};

TEST_F(CollectCases, Case01) {
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  const auto record = Document::parse(run.out);
  ASSERT_TRUE(record.has_value()) << run.out;
  std::vector<std::string> keys;
  for (const auto& [key, value] : record->root().members()) keys.emplace_back(key);
  EXPECT_THAT(keys, ElementsAre("context", "targetNamespace", "targetName", "path", "envelope"));
  EXPECT_EQ(record->root().text("path"), "inventory/x/t.yaml");
  const auto envelope = *record->root().find("envelope");
  EXPECT_EQ(envelope.find("itemCount")->number().i, 3);
  EXPECT_EQ(rows_of(envelope), "lab/a shop/a shop/b");
  EXPECT_FALSE(envelope.find("generation").has_value());
}

TEST_F(CollectCases, Case02) {
  program_.write("dump.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
  const RunResult run = collect({"--output", "-", "--format", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(run.out.starts_with("[\n  {\n    \"context\": \"local\",\n")) << run.out;
  EXPECT_TRUE(run.out.ends_with("]\n"));
  const auto array = Document::parse(run.out);
  ASSERT_EQ(array->root().size(), 1U);
  EXPECT_EQ(array->root().at(0).at_path({"envelope", "items"})->size(), 0U);
  EXPECT_THAT(run.out, HasSubstr("\"items\": []"));
}

TEST_F(CollectCases, Case03) {
  const std::vector<std::string> out = {"--output", program_.path("out")};
  ASSERT_EQ(collect(out).code, 0);
  const std::string file = "out/inventory/x/t.yaml";
  const std::string first = program_.read(file);
  EXPECT_TRUE(first.starts_with("- attributes:\n    k: three\n")) << first;
  const auto time = program_.mtime(file);
  program_.clock->advance(std::chrono::hours(1));
  ASSERT_EQ(collect(out).code, 0);
  EXPECT_EQ(program_.read(file), first);
  EXPECT_EQ(program_.mtime(file), time);
}

TEST_F(CollectCases, Case04) {
  const RunResult run = collect({"--output", program_.path("out"), "--format", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  const auto envelope = Document::parse(program_.read("out/inventory/x/t.json"));
  ASSERT_TRUE(envelope.has_value());
  EXPECT_EQ(envelope->root().text("schemaVersion"), "kollect.dev/v1alpha1");
  EXPECT_EQ(envelope->root().text("cluster"), "local");
  const std::string before = program_.read("out/inventory/x/t.json");
  program_.clock->advance(std::chrono::hours(1));
  ASSERT_EQ(collect({"--output", program_.path("out"), "--format", "json"}).code, 0);
  EXPECT_EQ(program_.read("out/inventory/x/t.json"), before);
}

TEST_F(CollectCases, Case05) {
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 0);
  const std::string before = program_.read("out/inventory/x/t.yaml");
  // Nothing listens on port 1 of the loopback address.
  program_.write("kubeconfig", R"(apiVersion: v1
kind: Config
current-context: gone
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: gone, context: {cluster: c, user: u}}]
)");
  program_.real_time = true;
  const RunResult run = program_.run({"collect", "--config", program_.path("f"), "--kubeconfig",
                                      program_.path("kubeconfig"), "--output", program_.path("out"),
                                      "--timeout", "3s"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr(R"("reason":"unreachable")"));
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), before);
}

constexpr const char* kTwoContexts = R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: prod-eu, context: {cluster: c, user: u}}
- {name: prod-us, context: {cluster: c, user: u}}
)";

TEST_F(CollectCases, Case12) {
  program_.write("kubeconfig", kTwoContexts);
  const RunResult run =
      program_.run({"collect", "--config", program_.path("f"), "--kubeconfig",
                    program_.path("kubeconfig"), "--context", "prod-su", "--output", "-"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("prod-us"));
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err_lines(), 1U);
}

TEST_F(CollectCases, Case14) {
  const auto one_line = [&](const RunResult& run, const std::string& names) {
    EXPECT_EQ(run.code, 2) << names;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err_lines(), 1U) << run.err;
    EXPECT_THAT(run.err, HasSubstr(names));
  };
  one_line(collect({"--output", "-", "--dry-run"}), "--dry-run");
  one_line(collect({}), "--output");
  one_line(collect({"--output", "-", "--log-level", "loud"}), "loud");
  one_line(program_.run({"collect", "--output", "-"}), "--config");
  one_line(collect({"--format", "json"}), "--format");
  one_line(collect({"--output", "-", "--format", "YAML"}), "YAML");
  one_line(collect({"--output", "-", "extra"}), "extra");
  one_line(collect({"--output", "-", "--colour"}), "--colour");
  one_line(collect({"--output"}), "--output");
  add_sink("s", "https://git.example.org/a/b.git");
  const RunResult ambiguous = collect({"--output", program_.path("out"), "--log-level", "error"});
  one_line(ambiguous, "--no-sinks");
  EXPECT_EQ(collect({"--output", program_.path("out"), "--no-sinks"}).code, 0);
}

TEST_F(CollectCases, Case15) {
  add_sink("s", "https://git.example.org/a/b.git");
  program_.write("f/sink-s.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {name: s, namespace: x}
spec: {type: git, endpoint: "https://git.example.org/a/b.git", secretRef: {name: cred}, git: {branch: main}}
---
apiVersion: v1
kind: Secret
metadata: {name: cred, namespace: x}
stringData: {token: "${env:TOK}"}
)");
  const RunResult unset = collect({"--dry-run"});
  EXPECT_EQ(unset.code, 2);
  EXPECT_THAT(unset.err, HasSubstr("Secret x/cred"));
  EXPECT_THAT(unset.err, HasSubstr("token"));
  EXPECT_THAT(unset.err, HasSubstr("TOK is not set"));
  program_.env["TOK"] = "";
  const RunResult empty = collect({"--dry-run"});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("TOK is empty"));
}

TEST_F(CollectCases, Case17) {
  program_.write("f/second.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: t2, namespace: x}
spec: {profileRef: cm, includedNamespaces: [shop]}
)");
  const RunResult run = collect({"--output", program_.path("out"), "--dry-run"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(program_.exists("out"));
  EXPECT_THAT(run.err, HasSubstr("create inventory/x/t.yaml"));
  EXPECT_THAT(run.err, HasSubstr("create inventory/x/t2.yaml"));
  EXPECT_THAT(run.err, HasSubstr(R"("rows":"3")"));
  const RunResult quiet =
      collect({"--output", program_.path("out"), "--dry-run", "--log-level", "error"});
  EXPECT_THAT(quiet.err, HasSubstr("create inventory/x/t.yaml"));
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 0);
  const RunResult again = collect({"--output", program_.path("out"), "--dry-run"});
  EXPECT_THAT(again.err, HasSubstr("unchanged inventory/x/t.yaml"));
}

TEST_F(CollectCases, Case18) {
  program_.write("f/target.yaml", std::string(testing::kConfigMapTarget) + "  bogus: 1\n");
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("target.yaml:7"));
  EXPECT_THAT(run.err, HasSubstr("spec.bogus"));
  EXPECT_EQ(run.err_lines(), 1U);
}

TEST_F(CollectCases, Case19) {
  program_.write("f/target2.yaml", testing::kConfigMapTarget);
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("target.yaml:1"));
  EXPECT_THAT(run.err, HasSubstr("target2.yaml:1"));
}

TEST_F(CollectCases, Case20) {
  std::filesystem::create_directory(program_.path("empty"));
  const RunResult collected =
      program_.run({"collect", "--config", program_.path("empty"), "--manifests",
                    program_.path("dump.yaml"), "--output", "-"});
  EXPECT_EQ(collected.code, 2);
  EXPECT_EQ(collected.out, "");
  EXPECT_EQ(program_.run({"validate", "--config", program_.path("empty")}).code, 2);
}

TEST_F(CollectCases, Case21) {
  program_.write("f/profile.yaml", R"Y(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes:
  - {name: k, path: "cel:1 / (object.metadata.name == 'b' ? 0 : 1)"}
)Y");
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 1) << run.err;
  const auto record = Document::parse(run.out);
  EXPECT_EQ(rows_of(*record->root().find("envelope")), "lab/a shop/a");
  EXPECT_THAT(run.err, HasSubstr(R"Y("namespace":"shop","name":"b")Y"));
  EXPECT_THAT(run.err,
              HasSubstr(R"Y("reason":"k: cel: attribute k of ConfigMap shop/b: division)Y"));
  EXPECT_EQ(run.err_lines(), 1U);
}

// Section 12: in the order of namespaces and names; from the twentieth of a target on only counted.
TEST_F(CollectCases, FailuresOfATargetAreNamedUpToTheTwentieth) {
  program_.write("f/profile.yaml", R"Y(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes: [{name: k, path: "cel:object.data.none"}]
)Y");
  std::string dump;
  for (int i = 25; i > 0; --i) {
    dump += fmt::format(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{:02}, namespace: lab}}\ndata: "
        "{{}}\n",
        i);
  }
  program_.write("dump.yaml", dump);
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err_lines(), 20U) << run.err;
  EXPECT_LT(run.err.find(R"("name":"c01")"), run.err.find(R"("name":"c19")"));
  EXPECT_THAT(run.err, Not(HasSubstr(R"("name":"c20")")));
  EXPECT_THAT(run.err, HasSubstr("6 more objects not extracted"));
}

TEST_F(CollectCases, Case23) {
  program_.write("f/target.yaml", std::string(testing::kConfigMapTarget) + "  suspend: true\n");
  const RunResult run = collect({"--output", "-", "--summary", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("suspended"));
  EXPECT_THAT(run.err, HasSubstr(R"("name":"t","status":"suspended")"));
}

TEST_F(CollectCases, Case24) {
  program_.env.clear();
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  const auto record = Document::parse(run.out);
  EXPECT_EQ(rows_of(*record->root().find("envelope")), "lab/a shop/a shop/b");
  EXPECT_EQ(record->root().find("envelope")->text("cluster"), "local");
}

TEST_F(CollectCases, Case25) {
  const RunResult run = program_.run({"init", "--output-dir", program_.path("new")});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_FALSE(program_.exists("new"));
}

TEST_F(CollectCases, Case27) {
  program_.write("f/profile.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: Secret}
  attributes:
  - {name: k, path: $.data.x}
)");
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("kollect.dev/allow-secret-extraction"));
}

// field-document-mark-inside-a-block-string
class DocumentMarks : public ::testing::Test {
 protected:
  static constexpr const char* kInput = R"Y(# comment before anything
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: n}
data:
  nested.yaml: |
    a: 1
    ---
    b: 2
  cert.pem: |-
    -----BEGIN CERTIFICATE-----
    bm90IGEgY2VydA==
    -----END CERTIFICATE-----
--- # trailing comment
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: n}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: three, namespace: n}}
...
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "four", "namespace": "n"}}
)Y";

  RunResult collect(const std::string& dump) {
    program_.write("f/profile.yaml", R"Y(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes:
  - {name: nested, path: "$.data['nested.yaml']", optional: true}
)Y");
    program_.write("f/target.yaml", R"Y(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: t, namespace: x}
spec: {profileRef: cm}
)Y");
    program_.write("dump.yaml", dump);
    return program_.run({"collect", "--config", program_.path("f"), "--manifests",
                         program_.path("dump.yaml"), "--output", "-"});
  }

  static void expect_four(const RunResult& run) {
    const auto record = Document::parse(run.out);
    ASSERT_TRUE(record.has_value()) << run.err;
    const auto envelope = *record->root().find("envelope");
    EXPECT_EQ(rows_of(envelope), "n/four n/one n/three n/two");
    EXPECT_EQ(envelope.find("items")->at(1).find("attributes")->text("nested"),
              "a: 1\n---\nb: 2\n");
  }

  Program program_;
};

TEST_F(DocumentMarks, FourInAllVariants) {
  RunResult run = collect(kInput);
  EXPECT_EQ(run.code, 0) << run.err;
  expect_four(run);
  run = collect(base::replace_all(kInput, "\n", "\r\n"));
  EXPECT_EQ(run.code, 0) << run.err;
  expect_four(run);
  run = collect(std::string("\xEF\xBB\xBF") + kInput);
  EXPECT_EQ(run.code, 0) << run.err;
  expect_four(run);
}

TEST_F(DocumentMarks, AnUnreadableDocumentIsNamedAndTheRestCounts) {
  const RunResult run =
      collect(std::string(kInput) + "---\nkind: ConfigMap\nmetadata:\n\tname: x\n");
  EXPECT_EQ(run.code, 1);
  expect_four(run);
  EXPECT_THAT(run.err, HasSubstr("dump.yaml: document"));
  EXPECT_THAT(run.err, HasSubstr("column"));
}

}  // namespace
}  // namespace kollect::pipeline
