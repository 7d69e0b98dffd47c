// The tables N, O, R, W and C of spec selection through `collect` on a real kube-apiserver. The
// cases are those of tests/cases/select; cases with operator limits stand in the unit tests of
// select.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json/write.h"
#include "base/yaml/read.h"
#include "pipeline/testing.h"
#include "support/kube_server.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using base::json::Value;
using kollect::testing::KubeServer;
using testing::Program;
using testing::RunResult;

const std::set<std::string> kFixture = {"atlas", "boreas", "corvus", "draco", "kube-system"};

std::string read_case(const std::string& name) {
  auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/select/" + name);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

class SelectionKube : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const KubeServer& server = KubeServer::shared();
    auto applied = server.kubectl({"apply", "--server-side", "--force-conflicts", "-f", "-"},
                                  read_case("fixture.yaml"));
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    // An object of its own in every namespace shows which namespaces are effective.
    std::string markers;
    for (const std::string& ns : kFixture) {
      markers += fmt::format(
          "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: marker, namespace: {}, labels: "
          "{{kollect.dev/watch: enabled}}}}\n",
          ns);
    }
    applied = server.kubectl({"apply", "--server-side", "-f", "-"}, markers);
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }

  void SetUp() override {
    program_.real_time = true;
    cases_ = *base::yaml::read_one(read_case("cases.json"));
  }

  /// Runs collect with one target; "ns/name ns/name" of its rows in the fixture's namespaces.
  std::string rows(const std::string& kind, const std::string& group, const Value& spec) {
    program_.write("f/profile.yaml",
                   fmt::format("apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\n"
                               "metadata: {{name: p, namespace: x}}\nspec:\n  targetGVK: {{group: "
                               "\"{}\", version: v1, kind: {}}}\n"
                               "  attributes: [{{name: n, path: $.metadata.name}}]\n",
                               group, kind));
    Value target = spec;
    target.as_object().set("profileRef", Value("p"));
    program_.write("f/target.json",
                   fmt::format(R"({{"apiVersion":"kollect.dev/v1alpha1","kind":"KollectTarget",)"
                               R"("metadata":{{"name":"t","namespace":"x"}},"spec":{}}})",
                               base::json::compact(target)));
    last_ = program_.run({"collect", "--config", program_.path("f"), "--kubeconfig",
                          KubeServer::shared().kubeconfig().string(), "--output", "-"});
    if (last_.code != 0) return fmt::format("exit {}: {}", last_.code, last_.err);
    const auto record = Document::parse(last_.out);
    std::vector<std::string> found;
    for (const auto item : record->root().at_path({"envelope", "items"})->items()) {
      const std::string ns(item.text("namespace"));
      if (!ns.empty() && !kFixture.contains(ns)) continue;
      found.push_back(ns.empty() ? std::string(item.text("name"))
                                 : ns + "/" + std::string(item.text("name")));
    }
    return base::join(found, " ");
  }

  [[nodiscard]] const base::json::Array& table(std::string_view name) const {
    return cases_.find(name)->as_array();
  }

  Program program_;
  Value cases_;
  RunResult last_;
};

TEST_F(SelectionKube, TableN) {
  for (const Value& c : table("namespaces")) {
    SCOPED_TRACE(c.text("case"));
    Value spec = *c.find("spec");
    if (c.find("refused") != nullptr) {
      EXPECT_TRUE(rows("ConfigMap", "", spec).starts_with("exit 2"));
      continue;
    }
    if (!c.find("limits")->as_object().empty())
      continue;  // operator settings; unit tests of select
    spec.as_object().set("names", Value(base::json::Array{Value("marker")}));
    std::vector<std::string> want;
    for (const auto ns : base::split(c.text("effective"), ' ')) {
      if (!ns.empty()) want.push_back(std::string(ns) + "/marker");
    }
    EXPECT_EQ(rows("ConfigMap", "", spec), base::join(want, " "));
  }
}

TEST_F(SelectionKube, TableO) {
  for (const Value& c : table("objects")) {
    SCOPED_TRACE(c.text("case"));
    EXPECT_EQ(rows("Deployment", "apps", *c.find("spec")), c.text("rows"));
  }
}

TEST_F(SelectionKube, TableR) {
  for (const Value& c : table("rules")) {
    SCOPED_TRACE(c.text("case"));
    EXPECT_EQ(rows("Deployment", "apps", *c.find("spec")), c.text("rows"));
    if (const std::int64_t errors = c.find("policyErrors")->as_int(); errors > 0) {
      EXPECT_THAT(last_.err,
                  ::testing::HasSubstr(fmt::format("matchPolicy failed on {} objects", errors)));
    }
  }
}

TEST_F(SelectionKube, TableC) {
  for (const Value& c : table("cluster")) {
    SCOPED_TRACE(c.text("case"));
    EXPECT_EQ(rows("Node", "", *c.find("spec")), c.text("rows"));
  }
}

TEST_F(SelectionKube, TableW) {
  const KubeServer& server = KubeServer::shared();
  for (const Value& c : table("watchLabels")) {
    SCOPED_TRACE(c.text("case"));
    const std::string ns = "watch-" + base::to_lower(c.text("case"));
    const auto map = [](const char* key, const Value* value) {
      return value->is_string() ? fmt::format("{{\"{}\": \"{}\"}}", key, value->as_string())
                                : std::string("{}");
    };
    const auto applied = server.kubectl(
        {"apply", "--server-side", "-f", "-"},
        fmt::format("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {0}, labels: {1}, "
                    "annotations: {2}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: "
                    "w, namespace: {0}, labels: {3}}}\n",
                    ns, map("kollect.dev/watch", c.find("label")),
                    map("kollect.dev/namespace-watch", c.find("annotation")),
                    map("kollect.dev/watch", c.find("object"))));
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    Value spec(base::json::Object{});
    spec.as_object().set("includedNamespaces", Value(base::json::Array{Value(ns)}));
    spec.as_object().set("watchMode", Value(c.find("optIn")->as_bool() ? "OptIn" : "All"));
    (void)rows("ConfigMap", "", spec);
    ASSERT_EQ(last_.code, 0) << last_.err;
    EXPECT_EQ(last_.out.find("\"itemCount\":1,") != std::string::npos, c.find("taken")->as_bool());
  }
}

}  // namespace
}  // namespace kollect::pipeline
