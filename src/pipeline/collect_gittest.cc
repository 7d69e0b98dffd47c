// Cases of spec pipeline 17 with Git sinks; needs the git program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using ::testing::HasSubstr;
using testing::Program;
using testing::RunResult;

class CollectGit : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_folder_f(program_);
    program_.write("dump.yaml", testing::kConfigMapDump);
    program_.real_time = true;
    program_.env["KOLLECT_GIT_MIRROR_DIR"] = program_.path("mirrors");
    git({"init", "-q", "--bare", "-b", "main", program_.path("repo.git")});
  }

  std::string git(const std::vector<std::string>& args) {
    base::Command command;
    command.program = "git";
    command.args = args;
    command.env = {{"HOME", program_.path("home")}, {"PATH", "/usr/bin:/bin"}};
    const auto result = base::run(base::Context::background(), command);
    EXPECT_TRUE(result.has_value() && result->exit_code == 0)
        << (result ? result->err : result.error().message);
    return result ? result->out : "";
  }

  void add_sink(const std::string& name, const std::string& repository,
                const std::string& more = "") {
    program_.write("f/sink-" + name + ".yaml",
                   fmt::format("apiVersion: kollect.dev/v1alpha1\nkind: KollectSnapshotSink\n"
                               "metadata: {{name: {}, namespace: x}}\nspec:\n  type: git\n"
                               "  endpoint: file://{}\n  serialization: {{format: yaml}}\n"
                               "  git: {{branch: main}}\n{}",
                               name, program_.path(repository), more));
  }

  RunResult collect(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"collect", "--config", program_.path("f"), "--manifests",
                                     program_.path("dump.yaml")};
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }

  Program program_;
};

TEST_F(CollectGit, Case15Literal) {
  // A placeholder inside longer text stands as it is, so no variable is needed.
  add_sink("s", "repo.git", "  secretRef: {name: cred}\n");
  program_.write("f/secret.yaml",
                 "apiVersion: v1\nkind: Secret\nmetadata: {name: cred, namespace: x}\n"
                 "stringData: {token: \"a${env:TOK}\"}\n");
  EXPECT_EQ(collect().code, 0);
}

TEST_F(CollectGit, Case16) {
  add_sink("good", "repo.git");
  add_sink("lost", "no-such-repository.git");
  const RunResult run = collect({"--summary", "json"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr(R"("sink":"snapshot/good","status":"ok")"));
  EXPECT_THAT(run.err, HasSubstr(R"("sink":"snapshot/lost","status":"failed")"));
  EXPECT_THAT(git({"-C", program_.path("repo.git"), "show", "main:inventory/x/t.yaml"}),
              HasSubstr("name: a"));
  std::filesystem::remove(program_.path("f/sink-good.yaml"));
  EXPECT_EQ(collect().code, 2);
}

TEST_F(CollectGit, OneCommitPerRunAndNoneWithoutAChange) {
  add_sink("s", "repo.git");
  program_.write("f/second.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata: {name: t2, "
                 "namespace: x}\nspec: {profileRef: cm}\n");
  ASSERT_EQ(collect().code, 0);
  ASSERT_EQ(collect().code, 0);
  const std::string repository = program_.path("repo.git");
  EXPECT_EQ(git({"-C", repository, "rev-list", "--count", "main"}), "1\n");
  EXPECT_THAT(git({"-C", repository, "ls-tree", "-r", "--name-only", "main"}),
              HasSubstr("inventory/x/t2.yaml"));
}

TEST_F(CollectGit, InventoryOfTheFolderIsOneDocument) {
  add_sink("s", "repo.git");
  program_.write("f/second.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata: {name: t2, "
                 "namespace: x}\nspec: {profileRef: cm, includedNamespaces: [other]}\n"
                 "---\napiVersion: kollect.dev/v1alpha1\nkind: KollectInventory\nmetadata: {name: "
                 "all, namespace: x}\nspec: {snapshotSinkRefs: [{name: s}]}\n");
  const RunResult run = collect();
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string repository = program_.path("repo.git");
  const std::string document = git({"-C", repository, "show", "main:inventory/x/all.yaml"});
  EXPECT_THAT(document, HasSubstr("targetName: t\n"));
  EXPECT_THAT(document, HasSubstr("targetName: t2\n"));
}

}  // namespace
}  // namespace kollect::pipeline
