// The command table, help, version, completion and `kollect cel` (spec: pipeline 1 and 15).
#include "pipeline/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using ::testing::HasSubstr;
using testing::Program;
using testing::RunResult;
using ::testing::StartsWith;

TEST(Commands, HelpAndVersion) {
  Program program;
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{}, {"help"}, {"-h"}, {"--help"}}) {
    const RunResult run = program.run(args);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("collect"));
    EXPECT_EQ(run.err, "");
  }
  for (const char* flag : {"-v", "--version"}) {
    const RunResult run = program.run({flag});
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, StartsWith("kollect "));
    EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  }
  EXPECT_EQ(program.run({"help", "collect"}).out, program.run({"collect", "--help"}).out);
  EXPECT_EQ(program.run({"help", "nonsense"}).code, 2);
}

TEST(Commands, UnknownOnesPointToTheHelp) {
  Program program;
  const RunResult command = program.run({"colect"});
  EXPECT_EQ(command.code, 2);
  EXPECT_EQ(command.out, "");
  EXPECT_THAT(command.err, HasSubstr("did you mean collect"));
  const RunResult flag = program.run({"--colour"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.err, HasSubstr("--colour"));
}

TEST(Commands, FlagsTakeBothForms) {
  Program program;
  testing::write_folder_f(program);
  program.write("dump.yaml", testing::kConfigMapDump);
  const RunResult run = program.run({"collect", "--config=" + program.path("f"), "--manifests",
                                     program.path("dump.yaml"), "--output=nowhere", "--output", "-",
                                     "--dry-run=false", "--log-level", "loud", "--log-level=info"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"itemCount\":3"));
}

TEST(Commands, Completion) {
  Program program;
  for (const char* shell : {"bash", "zsh", "fish", "powershell"}) {
    const RunResult run = program.run({"completion", shell});
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("__complete"));
  }
  EXPECT_EQ(program.run({"completion", "tcsh"}).code, 2);
  EXPECT_THAT(program.run({"__complete", "1", ""}).out, HasSubstr("collect\n"));
  EXPECT_THAT(program.run({"__complete", "2", "collect", ""}).out, HasSubstr("--config\n"));
  EXPECT_THAT(program.run({"__complete", "3", "collect", "--format", ""}).out, HasSubstr("ndjson"));
  program.write("kubeconfig",
                "apiVersion: v1\nkind: Config\ncontexts: [{name: one}, {name: two}]\n");
  program.env["KUBECONFIG"] = program.path("kubeconfig");
  EXPECT_EQ(program.run({"__complete", "3", "collect", "--context", "one,t"}).out,
            "one,one\none,two\n");
  program.env["KUBECONFIG"] = program.path("missing");
  const RunResult broken = program.run({"__complete", "3", "collect", "--context", ""});
  EXPECT_EQ(broken.err, "");
}

TEST(Commands, Cel) {
  Program program;
  program.write("object.yaml", "metadata: {name: a}\nspec: {replicas: 2}\n");
  EXPECT_EQ(program.run({"cel", "1 + 2"}).out, "3\n");
  EXPECT_EQ(
      program.run({"cel", "object.spec.replicas * 2", "--object", program.path("object.yaml")}).out,
      "4\n");
  EXPECT_EQ(
      program.run({"cel", "x.filter(n, n > limit)", "--var", "x=[1, 5, 9]", "--var", "limit=4"})
          .out,
      "[5,9]\n");
  EXPECT_EQ(
      program.run({"cel", "object.a + b", "--var", "object={\"a\": \"x\"}", "--var", "b=\"y\""})
          .out,
      "\"xy\"\n");
  EXPECT_EQ(program.run({"cel", "x", "--var", "x=[1,5]"}).out, "[1,5]\n");
  EXPECT_EQ(program.run({"cel", "x", "--var", "x=plain"}).code, 2);
  EXPECT_EQ(program.run({"cel", "x", "--var", "x"}).code, 2);
  EXPECT_EQ(program.run({"cel", "1 +"}).code, 2);
  EXPECT_EQ(program.run({"cel", "1 / 0"}).code, 1);
  EXPECT_EQ(program.run({"cel"}).code, 2);
  const RunResult batch = program.run({"cel", "--batch"}, "{\"id\":\"x\",\"expr\":\"1 + 2\"}\n");
  EXPECT_EQ(batch.code, 0);
  EXPECT_THAT(batch.out, HasSubstr("\"id\":\"x\""));
}

TEST(Commands, BatchAnswersEachLine) {
  Program program;
  using std::string_literals::operator""s;
  const std::string in = "{\"id\":1,\"expr\":\"1\"}\n\n"s + "\0\n{\"id\":\0}\nx\n"s +
                         std::string((std::size_t{64} << 20U) + 1, ' ') +
                         "\n{\"id\":1,\"expr\":\"2\"}\r\n{\"id\":3,\"expr\":\"3\"}";
  const RunResult batch = program.run({"cel", "--batch"}, in);
  EXPECT_EQ(batch.code, 0);
  const std::vector<std::string_view> lines = base::split(batch.out, '\n');
  ASSERT_EQ(lines.size(), 9U);  // the last one is what is behind the last end of a line
  EXPECT_EQ(lines[0], R"({"id":1,"value":{"int64Value":"1"}})");
  for (std::size_t n = 1; n <= 5; ++n) {
    EXPECT_THAT(lines[n], StartsWith(R"({"id":null,"error":")")) << n;
  }
  EXPECT_THAT(lines[5], HasSubstr("the line is longer than 64 MiB"));
  EXPECT_EQ(lines[6], R"({"id":1,"value":{"int64Value":"2"}})");
  EXPECT_EQ(lines[7], R"({"id":3,"value":{"int64Value":"3"}})");
}

}  // namespace
}  // namespace kollect::pipeline
