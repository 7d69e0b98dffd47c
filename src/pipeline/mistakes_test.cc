// What people get wrong in a first configuration: nothing is lost, and the message says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::RunResult;

class Mistakes : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_folder_f(program_);
    program_.write("dump.yaml", testing::kConfigMapDump);
  }

  RunResult collect(const std::string& manifests, const std::string& stdin_text = "") {
    return program_.run({"collect", "--config", program_.path("f"), "--manifests", manifests,
                         "--output", program_.path("out")},
                        stdin_text);
  }
  RunResult collect_to_sinks() {
    return program_.run({"collect", "--config", program_.path("f"), "--manifests",
                         program_.path("dump.yaml"), "--dry-run"});
  }
  void replace(const std::string& file, std::string_view from, std::string_view to) {
    program_.write(file, base::replace_all(program_.read(file), from, to));
  }
  void add_sink(const std::string& name) {
    program_.write("f/" + name + ".yaml",
                   fmt::format("apiVersion: kollect.dev/v1alpha1\nkind: KollectDatabaseSink\n"
                               "metadata: {{name: {0}, namespace: x}}\n"
                               "spec: {{type: sqlite, sqlite: {{path: {0}.db}}}}\n",
                               name));
  }
  void add_inventory(const std::string& sinks) {
    program_.write("f/inventory.yaml",
                   "apiVersion: kollect.dev/v1alpha1\nkind: KollectInventory\n"
                   "metadata: {name: i, namespace: x}\nspec: {databaseSinkRefs: [" +
                       sinks + "]}\n");
  }

  Program program_;
};

// What made the input has failed, or its name is wrong: no reason to take every row away.
TEST_F(Mistakes, InputWithoutManifestsTakesNothingAway) {
  ASSERT_EQ(collect(program_.path("dump.yaml")).code, 0);
  const std::string before = program_.read("out/inventory/x/t.yaml");
  program_.write("empty.yaml", "# nothing\n---\n");
  program_.write("folder/README.md", "no manifest");
  const std::string message = "no manifest in it, so nothing is known of any object";
  for (const std::string& input :
       {program_.path("empty.yaml"), program_.path("folder"), std::string("-")}) {
    const RunResult run = collect(input);
    EXPECT_EQ(run.code, 2) << input;
    EXPECT_THAT(run.err, HasSubstr((input == "-" ? "standard input" : input) + ": " + message));
    EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), before) << input;
  }
  // One of several inputs is enough: its rows would go.
  EXPECT_EQ(program_
                .run({"collect", "--config", program_.path("f"), "--manifests",
                      program_.path("dump.yaml"), "--manifests", program_.path("folder"),
                      "--output", program_.path("out")})
                .code,
            2);
  // This is how a cluster says that it has none.
  EXPECT_EQ(collect("-", R"({"apiVersion": "v1", "kind": "List", "items": []})").code, 0);
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "[]\n");
}

// Nobody knows which objects an unreadable document is about: none of them counts as gone.
TEST_F(Mistakes, UnreadableDocumentRemovesNothing) {
  const auto run = [&](const std::string& dump) {
    program_.write("dump.yaml", dump);
    return program_.run({"collect", "--config", program_.path("f"), "--manifests",
                         program_.path("dump.yaml"), "--output", program_.path("out"), "--layout",
                         "perResource", "--sqlite", program_.path("rows.db")});
  };
  const auto names = [&] {
    return program_
        .run({"query", program_.path("rows.db"), "--format", "csv",
              "SELECT namespace || '/' || name AS n FROM inventory_rows ORDER BY 1"})
        .out;
  };
  const std::string one =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {k: v}\n---\n";
  const std::string two =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\ndata: {k: v}\n";
  ASSERT_EQ(run(one + two).code, 0);
  EXPECT_EQ(names(), "n\nshop/a\nshop/b\n");
  const RunResult broken = run(one + "kind: [\n" + two);
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("dump.yaml: document 2, line"));
  EXPECT_THAT(broken.err, HasSubstr("no row and no file of an object is removed"));
  EXPECT_EQ(names(), "n\nshop/a\nshop/b\n");
  EXPECT_TRUE(program_.exists("out/local/shop/configmap/b.yaml"));
  ASSERT_EQ(run(one).code, 0);
  EXPECT_EQ(names(), "n\nshop/a\n");
  EXPECT_FALSE(program_.exists("out/local/shop/configmap/b.yaml"));
}

TEST_F(Mistakes, KindThatNoManifestHasIsToldWhenAnotherIsNear) {
  replace("f/profile.yaml", "kind: ConfigMap", "kind: ConfigMpa");
  RunResult run = collect(program_.path("dump.yaml"));
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("f/target.yaml:1: target x/t reads ConfigMpa (core), and no "
                                 "manifest is one; there is ConfigMap (core)"));
  run = program_.run({"collect", "--config", program_.path("f"), "--manifests",
                      program_.path("dump.yaml"), "--output", program_.path("o2"), "--strict"});
  EXPECT_EQ(run.code, 2);
  EXPECT_FALSE(program_.exists("o2"));
  replace("f/profile.yaml", "{version: v1, kind: ConfigMpa}",
          "{group: apps, version: v1, kind: ConfigMap}");
  run = collect(program_.path("dump.yaml"));
  EXPECT_THAT(run.err, HasSubstr("reads ConfigMap (apps), and no manifest is one"));
  // What another target reads stands for itself.
  program_.write(
      "f/more.yaml",
      base::replace_all(base::replace_all(testing::kConfigMapProfile, "name: cm", "name: m"),
                        "ConfigMap", "ConfigMaq") +
          "---\n" +
          base::replace_all(base::replace_all(testing::kConfigMapTarget, "name: t", "name: u"),
                            "profileRef: cm", "profileRef: m"));
  replace("f/profile.yaml", "{group: apps, version: v1", "{version: v1");
  EXPECT_THAT(collect(program_.path("dump.yaml")).err, Not(HasSubstr("no manifest is one")));
  std::filesystem::remove(program_.path("f/more.yaml"));
  replace("f/profile.yaml", "kind: ConfigMap", "kind: Certificate");
  EXPECT_THAT(collect(program_.path("dump.yaml")).err, Not(HasSubstr("no manifest is one")));
}

TEST_F(Mistakes, MisspeltKindIsNamed) {
  replace("f/target.yaml", "kind: KollectTarget", "kind: KollectTargets");
  RunResult run = collect(program_.path("dump.yaml"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no KollectTarget; "));
  EXPECT_THAT(run.err, HasSubstr("f/target.yaml:1: KollectTargets (kollect.dev/v1alpha1) is not "
                                 "used and was skipped; did you mean KollectTarget?"));
  program_.write("f/target.yaml", base::replace_all(testing::kConfigMapTarget, "v1alpha1", "v1"));
  run = collect(program_.path("dump.yaml"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("did you mean apiVersion kollect.dev/v1alpha1?"));
}

TEST_F(Mistakes, SubfoldersAreNotRead) {
  std::filesystem::remove(program_.path("f/target.yaml"));
  EXPECT_THAT(collect(program_.path("dump.yaml")).err, Not(HasSubstr("subfolders")));
  program_.write("f/more/target.yaml", testing::kConfigMapTarget);
  const RunResult run = collect(program_.path("dump.yaml"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no KollectTarget; files of subfolders are not read"));
}

TEST_F(Mistakes, SinkThatNoInventoryNamesIsTold) {
  add_sink("used");
  add_sink("forgotten");
  EXPECT_THAT(collect_to_sinks().err, Not(HasSubstr("no inventory here")));
  add_inventory("used");
  const std::string message =
      "f/forgotten.yaml:1: KollectDatabaseSink x/forgotten: no inventory here names this sink, so "
      "nothing is written to it";
  RunResult run = collect_to_sinks();
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr(message));
  EXPECT_THAT(run.err, Not(HasSubstr("x/used: no inventory")));
  add_inventory("");
  run = collect_to_sinks();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is nowhere to write to: no inventory of the configuration "
                                 "names one of its sinks"));
}

TEST_F(Mistakes, ValidateTellsOfSinksThatNoInventoryNames) {
  add_sink("used");
  add_sink("forgotten");
  add_inventory("used");
  const RunResult run = program_.run({"validate", "--config", program_.path("f")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("x/forgotten: warning: no inventory here names this sink"));
  EXPECT_THAT(run.err, Not(HasSubstr("x/used: warning")));
}

TEST_F(Mistakes, DurationsNameTheirFlag) {
  const RunResult run =
      program_.run({"collect", "--config", program_.path("f"), "--manifests",
                    program_.path("dump.yaml"), "--output", "-", "--timeout", "10"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--timeout: \\\"10\\\" is not a duration; write it like 90s"));
}

TEST_F(Mistakes, MisspeltFlagIsNamed) {
  RunResult run = program_.run({"collect", "--config", program_.path("f"), "--manifest", "x"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err,
            "kollect collect: there is no flag --manifest; did you mean --manifests?; see kollect "
            "collect --help\n");
  run = program_.run({"collect", "--colour=red"});
  EXPECT_THAT(run.err, HasSubstr("kollect collect: there is no flag --colour; see"));
  EXPECT_THAT(program_.run({"collect", "f"}).err, HasSubstr("not expected: f"));
}

// `--sqlite "$FILE"` with a variable that is not set: the file would be missed much later.
TEST_F(Mistakes, EmptyValuesOfFlagsAreNoValues) {
  for (const char* flag : {"--config", "--manifests", "--output", "--sqlite", "--summary-file"}) {
    const RunResult run =
        program_.run({"collect", "--config", program_.path("f"), "--manifests",
                      program_.path("dump.yaml"), "--output", program_.path("out"), flag, ""});
    EXPECT_EQ(run.code, 2) << flag;
    EXPECT_THAT(run.err, HasSubstr(fmt::format("kollect collect: {}: is empty; see", flag)));
  }
  EXPECT_FALSE(program_.exists("out"));
}

TEST_F(Mistakes, PlaceholdersOfPathsAreKnown) {
  const auto run = [&](const std::string& layout, const std::string& path) {
    return program_.run({"collect", "--config", program_.path("f"), "--manifests",
                         program_.path("dump.yaml"), "--output", program_.path("out"), "--layout",
                         layout, "--path-template", path});
  };
  EXPECT_THAT(run("document", "{namespace}/{nme}.yaml").err,
              HasSubstr("--path-template: {nme} is not known here; placeholders are {cluster}"));
  EXPECT_EQ(run("perResource", "{sourceNme}.yaml").code, 2);
  EXPECT_FALSE(program_.exists("out/{nme}.yaml"));
  EXPECT_EQ(run("perResource", "{sourceNamespace}/{sourceName}{extension}").code, 0);
}

TEST_F(Mistakes, SampleMayBeAFolderWithABrokenDocument) {
  program_.write("dump/good.yaml", testing::kConfigMapDump);
  program_.write("dump/bad.yaml", "a: [\n");
  const auto validate = [&](const std::string& sample) {
    return program_.run(
        {"validate", "--config", program_.path("f"), "--sample", program_.path(sample)});
  };
  RunResult run = validate("dump");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("dump/bad.yaml: document 1, line 2"));
  EXPECT_THAT(run.err, Not(HasSubstr("no object of kind")));
  run = validate("dump/bad.yaml");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("error: "));
}

}  // namespace
}  // namespace kollect::pipeline
