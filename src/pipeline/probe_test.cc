// `kollect probe`: outcomes, texts and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "pipeline/testing.h"

namespace kollect::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::RunResult;
using ::testing::StartsWith;

constexpr const char* kRepository =
    "apiVersion: kollect.dev/v1alpha1\nkind: KollectSnapshotSink\n"
    "metadata: {name: file, namespace: x}\nspec: {type: git, endpoint: \"file://PATH\"}\n";
/// Nothing listens there, and the address would not be dialled in any case.
constexpr const char* kPostgres =
    "apiVersion: kollect.dev/v1alpha1\nkind: KollectDatabaseSink\n"
    "metadata: {name: db, namespace: x}\n"
    "spec: {type: postgres, postgres: {table: t, databaseRef: {name: dsn}}}\n";
constexpr const char* kDsn =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: dsn, namespace: x}\n"
    "stringData: {dsn: \"postgres://me:hidden-word@127.0.0.1:1/db\"}\n";

class Probe : public ::testing::Test {
 protected:
  Probe() {
    program_.real_time = true;
    base::Command init;
    init.program = "git";
    init.args = {"init", "-q", "--bare", "-b", "main", program_.path("repo")};
    const auto made = base::run(base::Context::background(), init);
    EXPECT_TRUE(made.has_value() && made->exit_code == 0);
    std::string sink = kRepository;
    program_.write("good.yaml", sink.replace(sink.find("PATH"), 4, program_.path("repo")));
    program_.write("bad.yaml", kPostgres);
    program_.write("secret.yaml", kDsn);
  }
  RunResult probe(const std::vector<std::string>& files,
                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"probe"};
    for (const auto& file : files) args.insert(args.end(), {"-f", program_.path(file)});
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }

  Program program_;
};

TEST_F(Probe, ASinkThatAnswers) {
  const RunResult run = probe({"good.yaml"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("ok      KollectSnapshotSink x/file (git): answered in "));
  EXPECT_THAT(run.err, StartsWith("warning: "));  // what an operator would say of file://
  EXPECT_FALSE(program_.exists("repo/refs/heads/main"));
}

TEST_F(Probe, OneOfTwoFails) {
  const RunResult run = probe({"good.yaml", "bad.yaml", "secret.yaml"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("ok      KollectSnapshotSink x/file"));
  EXPECT_THAT(
      run.out,
      HasSubstr(
          "KollectDatabaseSink x/db: postgres: a host of the connection string is not allowed"));
  EXPECT_THAT(run.out, Not(HasSubstr("hidden-word")));
}

TEST_F(Probe, LoopbackAddressesAreDialledWhenAllowed) {
  const RunResult refused = probe({"bad.yaml", "secret.yaml"}, {"--allow-private-sinks"});
  EXPECT_THAT(refused.out, HasSubstr("loopback address: it needs --allow-loopback-sinks"));
  const RunResult dialled = probe({"bad.yaml", "secret.yaml"}, {"--allow-loopback-sinks"});
  EXPECT_EQ(dialled.code, 2) << dialled.err;
  EXPECT_THAT(dialled.out, HasSubstr("KollectDatabaseSink x/db"));
  EXPECT_THAT(dialled.out, Not(HasSubstr("not allowed")));
  EXPECT_THAT(dialled.out, Not(HasSubstr("hidden-word")));
}

TEST_F(Probe, AllFail) {
  const RunResult run = probe({"bad.yaml", "secret.yaml"}, {"--json"});
  EXPECT_EQ(run.code, 2);
  const auto line = base::json::Document::parse(run.out);
  ASSERT_TRUE(line.has_value()) << run.out;
  const auto value = base::json::to_value(line->root());
  EXPECT_EQ(value.find("ok")->as_bool(), false);
  EXPECT_EQ(value.find("name")->as_string(), "db");
  EXPECT_EQ(value.find("type")->as_string(), "postgres");
  EXPECT_THAT(run.out, Not(HasSubstr("hidden-word")));
}

TEST_F(Probe, AMissingSecretFailsItsSinkAlone) {
  const RunResult run = probe({"good.yaml", "bad.yaml"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("there is no Secret x/dsn in the configuration"));
  EXPECT_THAT(run.out, HasSubstr("ok      KollectSnapshotSink x/file"));
}

TEST_F(Probe, FromStandardInput) {
  const RunResult run = program_.run({"probe", "-f", "-"}, program_.read("good.yaml"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("ok "));
}

TEST_F(Probe, WhatCannotWorkSaysWhatToDo) {
  EXPECT_THAT(program_.run({"probe"}).err, HasSubstr("with -f"));
  EXPECT_EQ(program_.run({"probe"}).code, 2);
  EXPECT_THAT(probe({"secret.yaml"}).err, HasSubstr("there is no KollectSnapshotSink"));
  EXPECT_THAT(probe({"nowhere.yaml"}).err, HasSubstr("nowhere.yaml"));
  EXPECT_THAT(probe({"good.yaml"}, {"--timeout", "0s"}).err, HasSubstr("longer than zero"));
}

}  // namespace
}  // namespace kollect::pipeline
