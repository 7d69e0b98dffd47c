// jqPathExpressions: what they mean, and what is not known (spec: extraction 7).
#include "extract/jq_path.h"

#include <gtest/gtest.h>

#include "extract/jsonpath.h"
#include "extract/program_test_support.h"

namespace kollect::extract {
namespace {

using test::parse;

TEST(JqPath, SaysTheSameAsAPath) {
  const std::pair<const char*, const char*> kCases[] = {
      {".a", "$['a']"},
      {" .a.b_1 ", "$['a']['b_1']"},
      {R"(."x.y")", "$['x.y']"},
      {R"(.["x.y"])", "$['x.y']"},
      {R"(.a."x.y"["z"].["w"])", "$['a']['x.y']['z']['w']"},
      {R"(.a["it's \\ \u00e9"])", R"($['a']['it\'s \\ é'])"},
      {".a[0].b", "$['a'][0]['b']"},
      {".a[ -1 ]", "$['a'][-1]"},
      {".a[]", "$['a'][*]"},
      {".a[][].b", "$['a'][*][*]['b']"},
      {".[]?", "$[*]"},
      {".a?.b?[]?.c?", "$['a']['b'][*]['c']"},
      {".a | .b", "$['a']['b']"},
      {R"(.a[] | select(.k == "v"))", "$['a'][?((@['k'] == 'v'))]"},
      {R"(.a[]|select(.k=="v").b)", "$['a'][?((@['k'] == 'v'))]['b']"},
      {R"(.a[]? | select(.k.l[0] != null) | .b)", "$['a'][?((@['k']['l'][0] != null))]['b']"},
      {".a[] | select(.n >= -1.5e+3)", "$['a'][?((@['n'] >= -1.5e+3))]"},
      {".a[] | select(.x == true and .y < 2 or .z > 3)",
       "$['a'][?((((@['x'] == true) && (@['y'] < 2)) || (@['z'] > 3)))]"},
      {".a[] | select(.x == 1 and (.y == 2 or .z == 3))",
       "$['a'][?(((@['x'] == 1) && ((@['y'] == 2) || (@['z'] == 3))))]"},
      {R"(.a[] | select(.k == "v" | not))", "$['a'][?((!(@['k'] == 'v')))]"},
      {R"(.a[] | select((.k == "v" | not) and .x <= 1))",
       "$['a'][?(((!(@['k'] == 'v')) && (@['x'] <= 1)))]"},
      {R"(.a[] | select(.k == "v") | select(.l == "w"))",
       "$['a'][?((@['k'] == 'v') && (@['l'] == 'w'))]"},
  };
  for (const auto& [jq, path] : kCases) {
    const auto made = jsonpath_of_jq(jq);
    ASSERT_TRUE(made) << jq << ": " << made.error();
    EXPECT_EQ(*made, path) << jq;
    EXPECT_TRUE(JsonPath::compile(*made)) << *made;
  }
}

TEST(JqPath, TellsThePartThatIsNotKnown) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "the expression is empty"},
      {".", "\".\" is the whole object; name what goes"},
      {"a", "\"a\" is not known here"},
      {"$.a", "\"$.a\" is not known here"},
      {"..", "\"..\" is not known here"},
      {".a..b", "\"..b\" is not known here"},
      {".a-b", "\"-b\" is not known here"},
      {".a[1:2]", "\"[1:2]\" is not known here"},
      {".a[b]", "\"b]\" is not known here"},
      {".a[", "the expression is not complete (position 4)"},
      {".é", "\"é\" is not known here"},
      {".a, .b", "\", .b\" is not known here"},
      {".a |= 1", "\"= 1\" is not known here"},
      {".a | keys", "\"keys\" is not known here"},
      {".a | selected(.x == 1)", "\"selected(.x == 1)\" is not known here"},
      {R"j(.["a\(1)"])j", "\"\\(1)\"]\" is not known here"},
      {R"(."a)", "the quoted text is not closed (position 2)"},
      {R"(."\q")", "the quoted text is none of JSON (position 2)"},
      {R"(.a | select(.k == "v"))", "select stands behind [] (position 6)"},
      {R"(.a[].b | select(.k == "v"))", "select stands behind [] (position 10)"},
      {".a[] | select(.k)", "a comparison is expected, such as == \"v\" or != null (position 17)"},
      {".a[] | select(.k = 1)", "\"= 1)\" is not known here"},
      {".a[] | select(.k[] == 1)", "[] cannot stand in a condition (position 17)"},
      {".a[] | select(.k == 1 | length)", "\"length)\" is not known here"},
      {".a[] | select(.k == 01)", "\"01)\" is not known here"},
      {".a[] | select(.k == 1", "the expression is not complete (position 22)"},
      {".a[] | select", "\"select\" is not known here"},
      {".a[] | select(has(\"x\"))", "\"has(\"x\"))\" is not known here"},
      {".a[] | select((((((((((((((((((.k == 1))))))))))))))))))",
       "the condition is nested too deeply (position 31)"},
  };
  for (const auto& [jq, message] : kCases) {
    const auto made = jsonpath_of_jq(jq);
    ASSERT_FALSE(made) << jq << ": " << *made;
    EXPECT_TRUE(made.error().starts_with(message)) << jq << ": " << made.error();
  }
}

using Pruning = test::Fixture;

TEST_F(Pruning, JqExpressionsSeeWhatPathsLeft) {
  const auto object = parse(
      R"({"kind":"X","spec":{"c":[{"name":"a","env":[{"name":"P","value":"1"},{"name":"Q"}]},{"name":"b","env":1},
      {"name":"c","x":2}],"m":{"x.y":1,"z":{"q":1}},"gone":{"q":1}}})");
  export_block(R"J({"mode":"Resource","include":"SpecOnly","prune":{"jsonPaths":["$.spec.c[1]"],
      "jqPathExpressions":[".spec.c[].env[] | select(.name == \"P\") | .value",".spec.c[1]",".spec.c[] | select(.x > 1)",
      ".spec.m.\"x.y\"",".spec.m[]?.q",".spec.gone","."]}})J");
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.prune.jqPathExpressions[6] Invalid"});
  spec_.export_spec->prune->jq_path_expressions.pop_back();
  EXPECT_EQ(
      run(object),
      R"({"resource":{"kind":"X","spec":{"c":[{"env":[{"name":"P"},{"name":"Q"}],"name":"a"}],"m":{"z":{}}}}})");
}

TEST_F(Pruning, PresetsCutMoreAndMore) {
  const auto object = parse(
      R"({"kind":"X","metadata":{"generation":3,"managedFields":[],"labels":{"helm.sh/chart":"c-1","pod-template-hash":"h",
      "argocd.argoproj.io/instance":"i","xargocd.argoproj.io/k":"k"},"annotations":{"meta.helm.sh/release-name":"r",
      "kubectl.kubernetes.io/last-applied-configuration":"{}","deployment.kubernetes.io/revision":"7"}},
      "spec":{"template":{"metadata":{"labels":{"helm.sh/chart":"c-1"}}}},
      "status":{"observedGeneration":3,"conditions":[{"type":"A","lastUpdateTime":"t","observedGeneration":3},"odd"]}})");
  const auto with = [&](const char* rule) {
    export_block(R"({"mode":"Resource","include":"All","prune":{)" + std::string(rule) + "}}");
    return run(object);
  };
  const std::string spec = R"("spec":{"template":{"metadata":{"labels":{"helm.sh/chart":"c-1"}}}})";
  const std::string status =
      R"("status":{"conditions":[{"lastUpdateTime":"t","observedGeneration":3,"type":"A"},"odd"],"observedGeneration":3})";
  const std::string everything =
      R"({"resource":{"kind":"X","metadata":{"annotations":{"deployment.kubernetes.io/revision":"7",)"
      R"("kubectl.kubernetes.io/last-applied-configuration":"{}","meta.helm.sh/release-name":"r"},"generation":3,"labels":{)"
      R"("argocd.argoproj.io/instance":"i","helm.sh/chart":"c-1","pod-template-hash":"h","xargocd.argoproj.io/k":"k"},)"
      R"("managedFields":[]},)" +
      spec + "," + status + "}}";
  EXPECT_EQ(with(R"("preset":"none")"), everything);
  EXPECT_EQ(with(R"("defaults":false)"), everything);
  const std::string kubernetes = with(R"("preset":"kubernetes")");
  EXPECT_EQ(
      kubernetes,
      R"({"resource":{"kind":"X","metadata":{"annotations":{"deployment.kubernetes.io/revision":"7",)"
      R"("meta.helm.sh/release-name":"r"},"labels":{"argocd.argoproj.io/instance":"i","helm.sh/chart":"c-1",)"
      R"("pod-template-hash":"h","xargocd.argoproj.io/k":"k"}},)" +
          spec + "," + status + "}}");
  EXPECT_EQ(with(""), kubernetes);
  EXPECT_EQ(
      with(R"("preset":"gitops")"),
      R"({"resource":{"kind":"X","metadata":{"annotations":{"deployment.kubernetes.io/revision":"7"},)"
      R"("labels":{"pod-template-hash":"h","xargocd.argoproj.io/k":"k"}},)" +
          spec + "," + status + "}}");
  // A map that pruning made empty goes with what was in it.
  EXPECT_EQ(with(R"("preset":"quiet")"),
            R"({"resource":{"kind":"X","metadata":{"labels":{"xargocd.argoproj.io/k":"k"}},)" +
                spec + R"(,"status":{"conditions":[{"type":"A"},"odd"]}}})");
  with(R"("preset":"quiet","defaults":true)");
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.prune.preset Invalid"});
  // Past the schema, in an object that was stored by other hands.
  with(R"("preset":"loud")");
  EXPECT_EQ(problems(), std::vector<std::string>{"spec.export.prune.preset Invalid"});
}

}  // namespace
}  // namespace kollect::extract
