// `kollect validate` (spec: pipeline 13, and the cases of section 17 that concern it).
#include "pipeline/validate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/value.h"

namespace kollect::pipeline {
namespace {

using base::json::Value;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

constexpr const char* kProfile = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata:
  name: cm
  namespace: x
spec:
  targetGVK:
    version: v1
    kind: ConfigMap
  attributes:
    - name: k
      path: $.data.k
)";
constexpr const char* kTarget = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata:
  name: t
  namespace: x
spec:
  profileRef: cm
  includedNamespaces: [shop, lab]
)";

class Validate : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(base::write_file_atomic(dir_.path() / name, text).has_value());
  }
  ValidateReport folder() {
    options_.config = {dir_.path().string()};
    return run_validate(options_);
  }
  ValidateReport stdin_only(const std::string& text) {
    options_.files = {"-"};
    options_.stdin_text = text;
    return run_validate(options_);
  }
  static std::vector<Value> rows(const ValidateReport& report) {
    std::vector<Value> out;
    std::istringstream in(report.out);
    std::string line;
    while (std::getline(in, line)) {
      auto document = base::json::Document::parse(line);
      EXPECT_TRUE(document.has_value()) << line;
      out.push_back(base::json::to_value(document->root()));
    }
    return out;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_.path() / name).string();
  }

  base::TempDir dir_ = std::move(*base::TempDir::create());
  ValidateOptions options_;
};

TEST_F(Validate, GoodFolderSaysWhatItHolds) {
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.err, "");
  EXPECT_EQ(report.out, dir_.path().string() + ": valid (1 profile(s), 1 target(s), 0 sink(s))\n");
}

// Case 18.
TEST_F(Validate, UnknownFieldNamesFileLineAndField) {
  write("a.yaml", kProfile);
  write("b.yaml", std::string(kTarget) + "  bogus: 1\n");
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err,
              HasSubstr(path("b.yaml") +
                        ":9: KollectTarget x/t: spec.bogus: unknown field (line 9, column 3)\n"));
}

// P-3: a misspelt member would collect everything.
TEST_F(Validate, UnknownFieldOffersNearNames) {
  EXPECT_THAT(stdin_only(std::string(kTarget) + "  includedNamespace: [a]\n").err,
              HasSubstr("spec.includedNamespace: unknown field; near names: includedNamespaces"));
}

// Case 19.
TEST_F(Validate, DuplicateNamesBothPlaces) {
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  write("c.yaml", kTarget);
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err, HasSubstr(path("c.yaml") + ":4: KollectTarget x/t: metadata.name: "));
  EXPECT_THAT(report.err, HasSubstr(path("b.yaml") + ":1"));
}

// Case 20, and L-46.
TEST_F(Validate, EmptyFolder) {
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err, HasSubstr("there is no KollectProfile"));
  EXPECT_THAT(report.err, HasSubstr("there is no KollectTarget"));
}

// Case 27.
TEST_F(Validate, SecretGuard) {
  write("a.yaml",
        R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectProfile","metadata":{"name":"cm",
    "namespace":"x"},"spec":{"targetGVK":{"version":"v1","kind":"Secret"},
    "attributes":[{"name":"a","path":"$.data.x"}]}})");
  write("b.yaml", kTarget);
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err,
              HasSubstr(path("a.yaml") + ":3: KollectProfile x/cm: spec.attributes[0].path: "));
}

TEST_F(Validate, ProblemsAreSortedByFileAndLine) {
  write("b.yaml",
        "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata:\n  name: t\n"
        "spec:\n  watchMode: optin\n  names: x\n");
  write("a.yaml", "kind: [\n");
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  const std::size_t first = report.err.find(path("a.yaml"));
  const std::size_t second =
      report.err.find(path("b.yaml") + ":6: KollectTarget default/t: spec.watchMode: ");
  const std::size_t third =
      report.err.find(path("b.yaml") + ":7: KollectTarget default/t: spec.names: ");
  ASSERT_NE(second, std::string::npos) << report.err;
  ASSERT_NE(third, std::string::npos) << report.err;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

// The form "file:line: kind namespace/name: path: message" ends with the place of the field.
TEST_F(Validate, FieldsAreNamedByLineAndColumn) {
  EXPECT_THAT(stdin_only(std::string(kTarget) + "  names: [\xC3\xA9, 1]\n").err,
              MatchesRegex("<stdin>:9: KollectTarget x/t: spec\\.names\\[1\\]: "
                           "[^\n]* \\(line 9, column 14\\)\nerror: 1 problem\n"));
}

// A member that is missing stands where its parent does; a whole document has a line alone.
TEST_F(Validate, MissingFieldsAreNamedByTheirParent) {
  EXPECT_THAT(stdin_only("apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\n"
                         "metadata: {name: p}\nspec:\n  targetGVK: {version: v1}\n")
                  .err,
              MatchesRegex("<stdin>:5: KollectProfile default/p: spec\\.targetGVK\\.kind: "
                           "[^\n]* \\(line 5, column 3\\)\nerror: 1 problem\n"));
  EXPECT_EQ(stdin_only("apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\nspec: {}\n").err,
            "<stdin>:1: KollectProfile: metadata.name: a name is required\nerror: 1 problem\n");
}

TEST_F(Validate, ItemsOfListsHavePlacesOfTheirOwn) {
  EXPECT_THAT(stdin_only("kind: List\napiVersion: v1\nitems:\n- apiVersion: kollect.dev/v1alpha1\n"
                         "  kind: KollectTarget\n  metadata: {name: t}\n"
                         "  spec: {profileRef: cm, names: [1]}\n- 7\n")
                  .err,
              MatchesRegex("<stdin>:7: KollectTarget default/t: spec\\.names\\[0\\]: "
                           "[^\n]* \\(line 7, column 34\\)\n"
                           "<stdin>:8:3: document 1: not a manifest: [^\n]*\n"
                           "error: 2 problems\n"));
}

TEST_F(Validate, BrokenYamlIsNamedByLineAndColumn) {
  EXPECT_EQ(stdin_only("a: 1\n---\nspec:\n  é: \"\\q\"\n").err.substr(0, 40),
            "<stdin>:1:1: document 1: not a manifest:");
  EXPECT_THAT(stdin_only("kind: A\n---\nspec:\n  é: \"\\q\"\n").err,
              HasSubstr("\n<stdin>:4:7: document 2: "));
  EXPECT_THAT(stdin_only("spec:\n\tprofileRef: a\n").err,
              HasSubstr("<stdin>:2:1: document 1: a tab cannot be used for indentation\n"));
  options_.json = true;
  const auto all = rows(stdin_only("kind: {\n  a: b: c}\n"));
  ASSERT_THAT(all, SizeIs(1));
  const Value& error = all[0].find("errors")->as_array()[0];
  EXPECT_EQ(error.find("line")->as_int(), 2);
  EXPECT_EQ(error.find("column")->as_int(), 7);
  EXPECT_THAT(std::string(error.text("message")), Not(HasSubstr("column")));
}

// Expressions: where in the expression, and where the field stands.
TEST_F(Validate, ExpressionsPointAtTheMistake) {
  std::string profile = kProfile;
  profile.replace(profile.find("$.data.k"), 8, "$.data[?(@.k = 1)]");
  EXPECT_THAT(stdin_only(profile).err,
              MatchesRegex("<stdin>:12: KollectProfile x/cm: spec\\.attributes\\[0\\]\\.path: "
                           "[^\n]* \\(position 14; the field: line 12, column 7\\)\n"
                           "error: 1 problem\n"));
  profile = kProfile;
  profile.replace(profile.find("$.data.k"), 8,
                  "|\n        cel:\n          object.kind +\n            kin");
  EXPECT_THAT(stdin_only(profile).err,
              MatchesRegex("<stdin>:12: KollectProfile x/cm: spec\\.attributes\\[0\\]\\.path: "
                           "[^\n]*'kin' \\(line 2, column 5; the field: line 12, column 7\\)\n"
                           " \\|     kin\n \\|     \\^\nerror: 1 problem\n"));
}

TEST_F(Validate, UnreadableDurationsAreNamedOnce) {
  EXPECT_THAT(
      stdin_only(
          R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectInventory","metadata":{"name":"a"},
    "spec":{"snapshotSinkRefs":["a"],"exportMinInterval":"3 parsecs"}})")
          .err,
      MatchesRegex("<stdin>:2: KollectInventory default/a: spec.exportMinInterval: "
                   "\"3 parsecs\" is [^\n]* \\(line 2, column 38\\)\nerror: 1 problem\n"));
}

TEST_F(Validate, MissingProfileIsAnError) {
  write("a.yaml", kProfile);
  write("b.yaml",
        R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectTarget","metadata":{"name":"t",
    "namespace":"x"},"spec":{"profileRef":"cn"}})");
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err, HasSubstr("spec.profileRef: there is no profile \"cn\"; near names: cm"));
}

// L-48, as `collect` has it.
TEST_F(Validate, ProfilesOfOtherNamespacesAreTakenWhenThereIsOne) {
  std::string profile = kProfile;
  profile.replace(profile.find("namespace: x"), 12, "namespace: y");
  write("a.yaml", profile);
  write("t.yaml", kTarget);
  const ValidateReport one = folder();
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.err,
              HasSubstr("warning: spec.profileRef: profile \"cm\" is in another namespace"));
  profile.replace(profile.find("namespace: y"), 12, "namespace: z");
  write("b.yaml", profile);
  const ValidateReport two = folder();
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err,
              HasSubstr("spec.profileRef: none of the 2 profiles named \"cm\" is in namespace x"));
}

constexpr const char* kSink = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata:
  name: NAME
  namespace: x
spec:
  type: git
  endpoint: https://git.example.com/a.git
  serialization:
    format: yaml
  secretRef:
    name: git-writer
)";

std::string sink_named(const std::string& name) {
  std::string text = kSink;
  text.replace(text.find("NAME"), 4, name);
  return text;
}

TEST_F(Validate, ReferencesOfSinksWarn) {
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  write("c.yaml", sink_named("one"));
  write("d.yaml", sink_named("two") + "  pathTemplate: \"\"\n");
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(
      report.err,
      HasSubstr(path("c.yaml") + ":11: KollectSnapshotSink x/one: warning: spec.secretRef: there "
                                 "is no Secret x/git-writer here (line 11, column 3)\n"));
  EXPECT_THAT(
      report.err,
      HasSubstr("x/two: warning: spec.endpoint: writes the same paths as KollectSnapshotSink "
                "x/one (line 8, column 3)\n"));
}

TEST_F(Validate, OtherSinksShouldKeepClustersApartToo) {
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  write("c.yaml", sink_named("one") + "  pathTemplate: \"{cluster}/{namespace}/{name}\"\n");
  write("d.yaml", sink_named("two") + "  pathTemplate: \"{namespace}/{name}\"\n");
  const ValidateReport report = folder();
  EXPECT_THAT(report.err, HasSubstr("x/two: warning: spec.pathTemplate: has no {cluster}"));
  EXPECT_THAT(report.err, Not(HasSubstr("x/one: warning: spec.pathTemplate")));
}

// Spec pipeline 4 and 13: form always, presence on request.
TEST_F(Validate, Placeholders) {
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  write("c.yaml", sink_named("one"));
  write("d.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: git-writer\n  namespace: x\nstringData:\n"
        "  token: ${env:TOK}\n");
  EXPECT_EQ(folder().exit_code, 0);
  options_.check_env = true;
  const ValidateReport unset = folder();
  EXPECT_EQ(unset.exit_code, 2);
  EXPECT_THAT(unset.err, HasSubstr(path("d.yaml") + ":7: Secret x/git-writer: stringData.token: "));
  EXPECT_THAT(unset.err, HasSubstr("TOK"));
  options_.env["TOK"] = "abc";
  EXPECT_EQ(folder().exit_code, 0);
  options_.check_env = false;
  write("d.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: git-writer\n  namespace: x\nstringData:\n"
        "  token: ${env:9}\n");
  EXPECT_EQ(folder().exit_code, 2);
}

// L-62: a configuration is what `collect` runs; a single manifest is judged as an operator would.
TEST_F(Validate, LocalRepositoriesWarn) {
  const std::string sink = R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectSnapshotSink",
    "metadata":{"name":"a"},"spec":{"type":"git","endpoint":"file:///srv/a.git","serialization":{"format":"json"}}})";
  write("a.yaml", kProfile);
  write("b.yaml", kTarget);
  write("c.yaml", sink);
  const ValidateReport report = folder();
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.err, HasSubstr("KollectSnapshotSink default/a: warning: spec.endpoint: "));
  options_.config.clear();
  options_.json = true;
  EXPECT_THAT(
      stdin_only(sink).out,
      HasSubstr(R"("verdict":"webhook","errors":[{"path":"spec.endpoint","kind":"Forbidden")"));
}

TEST_F(Validate, PrivateSinks) {
  const std::string sink = R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectSnapshotSink",
    "metadata":{"name":"a"},"spec":{"type":"git","endpoint":"https://10.0.0.1/a.git"}})";
  EXPECT_EQ(stdin_only(sink).exit_code, 2);
  options_.allow_private_sinks = true;
  EXPECT_EQ(stdin_only(sink).exit_code, 0);
}

TEST_F(Validate, LoopbackSinks) {
  const std::string sink = R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectEventSink",
    "metadata":{"name":"a"},"spec":{"type":"kafka","kafka":{"brokers":["127.0.0.1:9092"],"topic":"t"}}})";
  options_.allow_private_sinks = true;
  EXPECT_EQ(stdin_only(sink).exit_code, 2);
  options_.allow_private_sinks = false;
  options_.allow_loopback_sinks = true;
  EXPECT_EQ(stdin_only(sink).exit_code, 0);
}

TEST_F(Validate, JsonGivesALinePerDocument) {
  options_.json = true;
  const ValidateReport report =
      stdin_only(std::string(kProfile) + "---\n" + kTarget + "  watchMode: x\n---\n{]\n" +
                 "---\napiVersion: kollect.dev/v1alpha1\nkind: KollectScope\nspec: {}\n");
  EXPECT_EQ(report.exit_code, 2);
  const auto all = rows(report);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].text("verdict"), "accept");
  EXPECT_EQ(all[1].text("verdict"), "schema");
  EXPECT_EQ(all[1].text("file"), "<stdin>");
  EXPECT_EQ(all[1].find("document")->as_int(), 2);
  EXPECT_EQ(all[1].text("namespace"), "x");
  EXPECT_EQ(all[1].find("errors")->as_array()[0].text("path"), "spec.watchMode");
  EXPECT_EQ(all[1].find("errors")->as_array()[0].text("kind"), "NotSupported");
  EXPECT_EQ(all[2].text("verdict"), "decode");
  EXPECT_EQ(all[3].text("verdict"), "schema");
  EXPECT_EQ(all[3].find("errors")->as_array()[0].text("path"), "metadata.name");
}

TEST_F(Validate, ExistingObjectsAndTenantMode) {
  write(
      "scope.yaml",
      "apiVersion: kollect.dev/v1alpha1\nkind: KollectScope\nmetadata:\n  name: s\n  namespace: x\n"
      "spec:\n  allowedNamespaces: [lab]\n");
  EXPECT_EQ(stdin_only(kTarget).exit_code, 0);
  options_.existing = {path("scope.yaml")};
  const ValidateReport denied = stdin_only(kTarget);
  EXPECT_EQ(denied.exit_code, 2);
  EXPECT_THAT(denied.err, HasSubstr("scope s does not allow namespace shop"));
  options_.tenant_mode = true;
  EXPECT_THAT(stdin_only(R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectClusterInventory",
    "metadata":{"name":"a"},"spec":{"namespaces":["a"]}})")
                  .err,
              HasSubstr("tenant mode"));
}

TEST_F(Validate, SamplesShowWhatAttributesYield) {
  write("sample.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: "
        "a}, "
        "data: {k: v}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n");
  options_.samples = {path("sample.yaml")};
  const ValidateReport report = stdin_only(kProfile);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.err, HasSubstr("warning: spec.attributes[0]: attribute \"k\": "));
  EXPECT_THAT(report.err, HasSubstr("on 1 of 2 objects"));
}

// Expressions know the labels of the sample's namespaces, and the name of a namespace in any case.
TEST_F(Validate, SamplesKnowTheLabelsOfNamespaces) {
  write("sample.yaml",
        "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: a}}}\n"
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}\n");
  options_.samples = {path("sample.yaml")};
  const std::string profile =
      "apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\n"
      "metadata: {name: w}\nspec:\n  targetGVK: {version: v1, kind: ConfigMap}\n"
      "  attributes: [{name: l, path: 'cel: namespaceLabels.";
  EXPECT_EQ(stdin_only(profile + "tier'}]\n").err, "");
  EXPECT_EQ(stdin_only(profile + "?zone.orValue(\"\")'}]\n").err, "");
  EXPECT_THAT(stdin_only(profile + "zone'}]\n").err, HasSubstr("fails"));
}

constexpr const char* kWidgets = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: false, storage: false}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string}, size: {type: string}}}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: a, namespace: shop}
spec: {color: red, size: big}
)";

std::string widget_profile(const std::string& version) {
  return "apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\nmetadata: {name: w}\n"
         "spec:\n  targetGVK: {group: example.org, version: " +
         version +
         ", kind: Widget}\n  attributes:\n"
         "  - {name: colour, path: $.spec.colour}\n"
         "  - {name: size, path: $.spec.size, type: int}\n"
         "  - {name: label, path: $.metadata.labels.tier}\n"
         "  - {name: cel, path: 'cel: object.spec.color + 1'}\n";
}

// Spec pipeline 13: what a CustomResourceDefinition does not have, beside what attributes yield.
TEST_F(Validate, SamplesShowWhatTheDefinitionLacks) {
  write("sample.yaml", kWidgets);
  options_.samples = {path("sample.yaml")};
  const ValidateReport report = stdin_only(widget_profile("v1"));
  EXPECT_EQ(report.exit_code, 0);
  const std::string title = "KollectProfile default/w: warning: ";
  EXPECT_THAT(report.err,
              HasSubstr("<stdin>:7: " + title +
                        "spec.attributes[0].path: Widget has no field spec.colour; near names: "
                        "color (line 7, column 20)\n"));
  EXPECT_THAT(report.err, HasSubstr(title + "spec.attributes[0]: attribute \"colour\": absent on 1 "
                                            "of 1 objects (line 7, column 5)\n"));
  EXPECT_THAT(report.err,
              HasSubstr(title + "spec.attributes[1]: attribute \"size\": of another type than "
                                "declared on 1 of 1 objects"));
  EXPECT_THAT(report.err, HasSubstr("attribute \"label\": absent"));
  EXPECT_THAT(report.err, HasSubstr("attribute \"cel\": fails ("));
  EXPECT_EQ(std::ranges::count(report.err, '\n'), 5);
}

TEST_F(Validate, SamplesShowVersionsThatAreNotServed) {
  write("sample.yaml", kWidgets);
  options_.samples = {path("sample.yaml")};
  EXPECT_THAT(stdin_only(widget_profile("v1alpha1")).err,
              HasSubstr("warning: spec.targetGVK.version: Widget is not served in this version; "
                        "served: v1 (line 5, column 35)\n"));
}

TEST_F(Validate, LiveSamplesThatCannotBeReadFailAndTheRestIsReported) {
  int asked = 0;
  options_.live = [&](const api::ProfileSpec&) -> base::Result<Sample> {
    ++asked;
    return base::retryable("no route", "unreachable");
  };
  const ValidateReport report = stdin_only(std::string(kProfile) + "---\n" + widget_profile("v1") +
                                           "---\n" + kTarget + "  bogus: 1\n");
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(report.err, HasSubstr("spec.bogus: unknown field"));
  EXPECT_THAT(report.err, HasSubstr("\nthe live sample could not be read: no route\n"));
  EXPECT_THAT(report.err, HasSubstr("error: 2 problems\n"));
}

TEST_F(Validate, NothingGiven) {
  EXPECT_EQ(run_validate({}).exit_code, 2);
}

TEST_F(Validate, MissingFile) {
  options_.files = {path("none.yaml")};
  const ValidateReport report = run_validate(options_);
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err, HasSubstr("none.yaml"));
}

}  // namespace
}  // namespace kollect::pipeline
