// Guards, compile problems and pruning, seen through the program.
#include <gtest/gtest.h>

#include "extract/program_test_support.h"

namespace kollect::extract {
namespace {

using test::Fixture;
using test::parse;

using Guards = Fixture;

// E-15, E-16 and the recorded admission results on Secret profiles (spec: crds 4.12).
TEST_F(Guards, SecretPathsAreForbidden) {
  for (const auto* group : {"", "core"}) {
    for (const auto* kind : {"Secret", "secret"}) {
      spec_.target_gvk = {group, "v1", kind};
      for (const auto* path : {"$.data.x",
                               "$.DATA",
                               "$.stringData.x",
                               "{.data.x}",
                               "$['data']",
                               "$",
                               "{$}",
                               "$.*",
                               "$[*]",
                               "$..x",
                               "$.metadata['a','data']",
                               "cel:object.data",
                               "cel:object",
                               "cel:[object.data]",
                               "cel:object.?data",
                               "cel:object[\"data\"]",
                               "cel:object.stringData.x",
                               "cel:!has(object.data)",
                               "cel:true&&has(object.data)",
                               "cel:object.metadata.data",
                               "cel:self.data",
                               "cel:size(self)",
                               "helm:release.config",
                               "helm:release.config.db"}) {
        attributes({{"a", path}});
        EXPECT_EQ(problems(), std::vector<std::string>{"spec.attributes[0].path Forbidden"})
            << path;
      }
      for (const auto* path :
           {"$.metadata.name", "$.type", "cel:object.metadata.name", "cel:object['type']",
            "helm:release.chartName", "cel:object.type == 'data'"}) {
        attributes({{"a", path}});
        EXPECT_EQ(problems(), std::vector<std::string>{}) << path;
      }
    }
  }
  attributes({{"a", "$.data.x"}});
  annotations_[api::kAllowSecretExtraction] = "True";
  EXPECT_EQ(problems().size(), 1U);
  annotations_[api::kAllowSecretExtraction] = "true";
  EXPECT_EQ(problems().size(), 0U);
}

// extraction 5: config needs the annotation wherever Helm keeps releases.
TEST_F(Guards, HelmValuesInConfigMaps) {
  attributes({{"a", "helm:release.config.x"}});
  EXPECT_EQ(problems(), std::vector<std::string>{});
  spec_.target_gvk = {"", "v1", "ConfigMap"};
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.attributes[0].path Forbidden"});
  annotations_[api::kAllowSecretExtraction] = "true";
  EXPECT_EQ(problems(), std::vector<std::string>{});
}

TEST_F(Guards, RuleKindsCountToo) {
  attributes({{"a", "$.data.x"}});
  Program::CompileInput input;
  input.spec = &spec_;
  EXPECT_TRUE(Program::compile(input));
  input.rule_kinds = {{"", "v1", "Secret"}};
  EXPECT_FALSE(Program::compile(input));
}

TEST_F(Guards, UnjudgedExpressionsSeeNoData) {
  spec_.target_gvk = {"", "v1", "Secret"};
  const auto secret = parse(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"QQ=="},"stringData":{"b":"x"}})");
  attributes({{"a", "cel:('da' + 'ta') in object ? 1 : 0"},
              {"b", "cel:object['d' + 'ata']", true},
              {"c", "cel:object['ki' + 'nd']"}});
  // "in object" uses the object as a value, which is refused; with a computed key alone it is not.
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.attributes[0].path Forbidden"});
  attributes({{"b", "cel:object['d' + 'ata']", true}, {"c", "cel:object['ki' + 'nd']"}});
  EXPECT_EQ(run(secret), R"({"c":"Secret"})");
}

TEST_F(Guards, SecretsUnderAnotherProfileShowNoData) {
  const auto secret =
      parse(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"QQ=="}})");
  attributes({{"a", "$.data.a"}, {"k", "$.kind"}, {"c", "cel:has(object.data)"}});
  EXPECT_EQ(run(secret), R"({"a":null,"c":false,"k":"Secret"})");
  export_block(R"({"mode":"Resource"})");
  attributes({});
  EXPECT_EQ(
      run(secret),
      R"({"resource":{"apiVersion":"v1","data":{"a":{"reason":"sensitive-key","redacted":true}},"kind":"Secret"}})");
}

TEST_F(Guards, FullExport) {
  spec_.target_gvk = {"", "v1", "Secret"};
  export_block(R"({"mode":"Resource","include":"All"})");
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.mode Forbidden"});
  annotations_[api::kAllowFullResourceExport] = "true";
  EXPECT_EQ(problems(), std::vector<std::string>{});
  const auto secret = parse(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{"x":"y"}},"data":{"user":"QQ==","password":"QQ=="},"type":"Opaque"})");
  const std::string redacted = R"({"reason":"sensitive-key","redacted":true})";
  EXPECT_EQ(run(secret),
            R"({"resource":{"apiVersion":"v1","data":{"password":)" + redacted + R"(,"user":)" +
                redacted +
                R"(},"kind":"Secret","metadata":{"annotations":{"x":"y"}},"type":"Opaque"}})");
  annotations_[api::kAllowSecretExtraction] = "true";
  EXPECT_EQ(
      run(secret),
      R"({"resource":{"apiVersion":"v1","data":{"password":)" + redacted +
          R"(,"user":"QQ=="},"kind":"Secret","metadata":{"annotations":{"x":"y"}},"type":"Opaque"}})");
}

TEST_F(Guards, SecretsSecondCopyIsRedacted) {
  spec_.target_gvk = {"", "v1", "Secret"};
  const auto secret = parse(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":1}"}}})");
  EXPECT_EQ(
      value("$.metadata.annotations", secret),
      R"({"kubectl.kubernetes.io/last-applied-configuration":{"reason":"sensitive-key","redacted":true}})");
}

TEST_F(Guards, SensitiveKinds) {
  export_block(R"({"mode":"Resource"})");
  options_.sensitive_kinds = {"apps/Deployment"};
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.mode Forbidden"});
  options_.sensitive_kinds = {"core/Deployment", "batch/Deployment", "apps/StatefulSet"};
  EXPECT_EQ(problems(), std::vector<std::string>{});
  spec_.target_gvk = {"", "v1", "ConfigMap"};
  options_.sensitive_kinds = {"/ConfigMap"};
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.mode Forbidden"});
}

using Problems = Fixture;

TEST_F(Problems, AllAreReportedInOrder) {
  attributes({{"a", "metadata.name"},
              {"b", "$.ok"},
              {"c", "helm:release.chart"},
              {"d", ""},
              {"b", "$.x"}});
  export_block(
      R"({"mode":"Attributes","prune":{"jsonPointers":["/a","noslash","/a~2"],"jsonPaths":["$.a","$.a["]}})");
  EXPECT_EQ(problems(), (std::vector<std::string>{
                            "spec.attributes[0].path Invalid", "spec.attributes[2].path Invalid",
                            "spec.attributes[3].path Invalid", "spec.attributes[4].name Invalid",
                            "spec.export.prune.jsonPointers[1] Invalid",
                            "spec.export.prune.jsonPointers[2] Invalid",
                            "spec.export.prune.jsonPaths[1] Invalid"}));
}

TEST_F(Problems, PruneCel) {
  export_block(
      R"({"mode":"Resource","prune":{"cel":["1 + 1","object.x == 1","value == 1","","cel: path[0] == 'x'","value +"]}})");
  EXPECT_EQ(problems(),
            (std::vector<std::string>{
                "spec.export.prune.cel[0] Invalid", "spec.export.prune.cel[1] Invalid",
                "spec.export.prune.cel[3] Invalid", "spec.export.prune.cel[5] Invalid"}));
}

using Pruning = Fixture;

TEST_F(Pruning, StepsBuildOnEachOther) {
  const auto object = parse(
      R"({"kind":"X","metadata":{"labels":{},"annotations":{"a":"1"}},"spec":{"l":[{"k":1},{"k":2},{"k":3}],
      "t":{"metadata":{"labels":{"x":"y"},"annotations":{"p":"q"}}},"labels":{"z":1}}})");
  // Elements by their place before pruning; a filter does not see what went before.
  export_block(
      R"({"mode":"Resource","include":"All","prune":{"jsonPointers":["/spec/l/0","/metadata/annotations/a",
      "/spec/t/metadata/labels/x","/spec/labels/z"],"jsonPaths":["spec.l[1].k","$.spec.l[?(@.k>0)]","$..[9]","$..nope",
      "$.spec.t.metadata.annotations.*","$"]}})");
  EXPECT_EQ(
      run(object),
      R"({"resource":{"kind":"X","metadata":{"labels":{}},"spec":{"l":[{}],"labels":{},"t":{"metadata":{}}}}})");
}

// An error counts as false and is counted.
TEST_F(Pruning, PruneCelErrorsAreCounted) {
  const auto object = parse(R"({"kind":"X","spec":{"a":1,"b":"x"}})");
  export_block(R"({"mode":"Resource","include":"SpecOnly","prune":{"cel":["value > 0"]}})");
  auto extracted = compile()->extract(object.root(), {});
  ASSERT_TRUE(extracted);
  EXPECT_EQ(extracted->attributes_json, R"({"resource":{"kind":"X","spec":{"b":"x"}}})");
  EXPECT_EQ(extracted->prune_errors, 3U);  // kind, spec, spec.b
}

TEST_F(Pruning, PruneCelSeesTheStateBefore) {
  const auto object = parse(R"({"kind":"X","spec":{"a":1,"b":{"a":2,"c":[3,4,"x"]},"gone":5}})");
  export_block(R"J({"mode":"Resource","include":"SpecOnly","prune":{"jsonPointers":["/spec/gone"],
      "cel":["cel:path == ['spec', 'b', 'c', '0']","value == 4","has(value.gone)","path[1] == 'a'"]}})J");
  EXPECT_EQ(run(object), R"({"resource":{"kind":"X","spec":{"b":{"a":2,"c":["x"]}}}})");
}

}  // namespace
}  // namespace kollect::extract
