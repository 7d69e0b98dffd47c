// Configuration folders and Secrets (spec: pipeline 2 to 4).
#include "pipeline/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/secrets.h"
#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Program;

class ConfigFolder : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_folder_f(program_); }
  [[nodiscard]] base::Result<Config> load() const { return load_config({program_.path("f")}, {}); }
  [[nodiscard]] std::string error() const {
    const auto config = load();
    return config ? "" : config.error().message;
  }

  Program program_;
};

TEST_F(ConfigFolder, LoadsYamlYmlJsonHiddenOnesAndLists) {
  program_.write("f/.hidden.yml", R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}})");
  program_.write("f/list.json",
                 R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectTargetList","items":[
    {"apiVersion":"kollect.dev/v1alpha1","kind":"KollectTarget","metadata":{"name":"t2"},
     "spec":{"profileRef":"cm"}}]})");
  program_.write("f/notes.txt", "not a manifest");
  program_.write("f/UPPER.YAML", "not: looked at");
  program_.write("f/sub/deep.yaml", "not: looked at");
  const auto config = load();
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->profiles.size(), 1U);
  ASSERT_EQ(config->targets.size(), 2U);
  EXPECT_EQ(config->targets[0].manifest->name, "t2");  // byte order of file names
  EXPECT_EQ(config->targets[0].manifest->ns, "default");
  ASSERT_EQ(config->manifests->secrets.size(), 1U);
  EXPECT_EQ(config->manifests->secrets[0].ns, "default");
}

// A map of places per item would make long Lists quadratic in time and memory.
TEST_F(ConfigFolder, ItemsOfAListShareTheirPlaces) {
  program_.write("f/list.yaml",
                 "apiVersion: v1\nkind: List\nitems:\n"
                 "- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n"
                 "- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n");
  const auto config = load();
  ASSERT_TRUE(config.has_value()) << config.error().message;
  const auto& secrets = config->manifests->secrets;
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(secrets[0].places, secrets[1].places);
  EXPECT_EQ(secrets[1].place_of("metadata.name")->line, 5U);
}

TEST_F(ConfigFolder, OtherKindsAreSkippedWithAWarning) {
  program_.write("f/more.yaml",
                 "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n---\n"
                 "apiVersion: kollect.dev/v2\nkind: KollectTarget\nmetadata: {name: x}\n");
  const auto config = load();
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_THAT(config->warnings, ElementsAre(HasSubstr("more.yaml:1: Deployment (apps/v1)"),
                                            HasSubstr("KollectTarget (kollect.dev/v2)")));
}

TEST_F(ConfigFolder, ProblemsNameFileLineAndField) {
  program_.write("f/target.yaml", "kind: KollectTarget\nmetadata: {name: t}\n");
  EXPECT_THAT(error(), HasSubstr("target.yaml:1:1: document 1: not a manifest"));
  program_.write("f/target.yaml", "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\n");
  EXPECT_THAT(error(), HasSubstr("metadata.name"));
  program_.write("f/target.yaml", "a: b: c\n");
  EXPECT_THAT(error(), HasSubstr("target.yaml:1:5: document 1: mapping values are"));
  program_.write("f/target.yaml", std::string(testing::kConfigMapTarget) + "  names: wrong\n");
  EXPECT_THAT(error(), HasSubstr("target.yaml:7: KollectTarget x/t: spec.names"));
  program_.write("f/target.yaml", std::string(testing::kConfigMapTarget) + "  one: 1\n  two: 2\n");
  EXPECT_THAT(error(), HasSubstr("(line 7, column 3) (and 1 more"));
}

// One line, also when `validate` shows a caret below.
TEST_F(ConfigFolder, ProblemsOfExpressionsAreOneLine) {
  program_.write("f/profile.yaml",
                 base::replace_all(testing::kConfigMapProfile, "$.data.k", "'cel: object.data. '"));
  EXPECT_THAT(error(), ::testing::MatchesRegex(
                           ".*profile.yaml:7: KollectProfile x/cm: spec.attributes.0..path: .*"
                           "\\(line 1, column 13; the field: line 7, column 15\\)"));
  EXPECT_THAT(error(), ::testing::Not(HasSubstr("\n")));
}

TEST_F(ConfigFolder, MissingFolder) {
  const auto config = load_config({program_.path("nowhere")}, {});
  ASSERT_FALSE(config.has_value());
  EXPECT_THAT(config.error().message, HasSubstr("nowhere: no such file or folder"));
}

TEST_F(ConfigFolder, WordsThatLookLikeBooleansAreText) {
  program_.write("f/target.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\n"
                 "metadata: {name: on, namespace: y}\nspec: {profileRef: cm}\n");
  const auto config = load();
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->targets[0].manifest->ns, "y");
  EXPECT_EQ(config->targets[0].manifest->name, "on");
}

TEST_F(ConfigFolder, ProfileOfAnotherNamespace) {
  program_.write("f/target.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\n"
                 "metadata: {name: t, namespace: y}\nspec: {profileRef: cm}\n");
  auto config = load();
  ASSERT_TRUE(config.has_value());
  const auto found = find_profile(*config, *config->targets[0].manifest, "cm");
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->warning, HasSubstr("namespace x"));
  const auto missing = find_profile(*config, *config->targets[0].manifest, "cn");
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("near names: cm"));
  program_.write("f/second.yaml",
                 base::replace_all(testing::kConfigMapProfile, "namespace: x", "namespace: z"));
  config = load();
  EXPECT_FALSE(find_profile(*config, *config->targets[0].manifest, "cm").has_value());
}

class Secrets : public ConfigFolder {
 protected:
  base::Result<SecretValues> resolve(const std::string& secret) {
    program_.write("f/secret.yaml", secret);
    program_.write("f/sink.yaml",
                   "apiVersion: kollect.dev/v1alpha1\nkind: KollectSnapshotSink\n"
                   "metadata: {name: s, namespace: x}\nspec: {type: git, endpoint: "
                   "\"https://git.example.org/a/b.git\", git: {branch: main}}\n");
    auto loaded = load();
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    config_ = std::make_unique<Config>(std::move(*loaded));
    store_ = std::make_unique<SecretStore>(*config_, env_, redactor_);
    return store_->resolve(*config_->snapshot_sinks[0].manifest, "spec.secretRef",
                           {.name = "cred", .ns = ""});
  }
  static std::string secret(const std::string& data, const std::string& ns = "x") {
    return "apiVersion: v1\nkind: Secret\nmetadata: {name: cred, namespace: " + ns + "}\n" + data;
  }

  std::map<std::string, std::string> env_ = {{"TOK", "token-of-the-environment"}};
  base::Redactor redactor_;
  std::unique_ptr<Config> config_;
  std::unique_ptr<SecretStore> store_;
};

TEST_F(Secrets, PlaceholdersAreWholeValues) {
  const auto values =
      resolve(secret("data: {e: JHtlbnY6VE9LfQ==}\nstringData:\n  a: \"${env:TOK}\"\n"
                     "  b: \"a${env:TOK}\"\n  c: |\n    ${env:TOK}\n  d: plain\n"));
  ASSERT_TRUE(values.has_value()) << values.error().message;
  EXPECT_EQ(values->at("a").reveal(), "token-of-the-environment");
  EXPECT_EQ(values->at("b").reveal(), "a${env:TOK}");
  EXPECT_EQ(values->at("c").reveal(), "token-of-the-environment");
  EXPECT_EQ(values->at("d").reveal(), "plain");
  EXPECT_EQ(values->at("e").reveal(), "token-of-the-environment");
  EXPECT_EQ(redactor_.redact("x token-of-the-environment y").find("token-of"), std::string::npos);
}

TEST_F(Secrets, FilesAndOverlay) {
  program_.write("mounted", "from-a-file\n");
  const auto values =
      resolve(secret(fmt::format("data: {{a: b2xk}}\nstringData: {{a: new, f: \"${{file:{}}}\"}}\n",
                                 program_.path("mounted"))));
  ASSERT_TRUE(values.has_value()) << values.error().message;
  EXPECT_EQ(values->at("a").reveal(), "new");
  EXPECT_EQ(values->at("f").reveal(), "from-a-file");
}

TEST_F(Secrets, NamespaceOfTheSinkElseTheOnlyOne) {
  auto values = resolve(secret("stringData: {a: b}\n", "elsewhere"));
  ASSERT_TRUE(values.has_value());
  EXPECT_THAT(store_->warnings(), ElementsAre(HasSubstr("elsewhere")));
  values =
      resolve(secret("stringData: {a: b}\n", "y") + "---\n" + secret("stringData: {a: b}\n", "z"));
  EXPECT_FALSE(values.has_value());
  values = resolve("apiVersion: v1\nkind: Secret\nmetadata: {name: other}\n");
  ASSERT_FALSE(values.has_value());
  EXPECT_THAT(values.error().message, HasSubstr("Secret x/cred"));
}

}  // namespace
}  // namespace kollect::pipeline
