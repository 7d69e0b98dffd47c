// collect into a KollectDatabaseSink on a real PostgreSQL (spec: pipeline 9, sinks 11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/testing.h"
#include "support/postgres_server.h"

namespace kollect::pipeline {
namespace {

using kollect::testing::PostgresServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Program;
using testing::RunResult;

class CollectPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    database_ = "collect-" + std::to_string(number++);
    server_.make_database(database_);
    testing::write_folder_f(program_);
    program_.write("dump.yaml", testing::kConfigMapDump);
    program_.real_time = true;
    // A local socket is the user's own place; loopback addresses are refused as in the operator.
    program_.env["DSN"] = fmt::format("host={} port={} user=test password=secret dbname={}",
                                      server_.socket_folder().string(), server_.port(), database_);
    program_.write("f/secret.yaml",
                   "apiVersion: v1\nkind: Secret\nmetadata: {name: dsn, namespace: x}\n"
                   "stringData: {dsn: \"${env:DSN}\"}\n");
    program_.write(
        "f/sink.yaml",
        "apiVersion: kollect.dev/v1alpha1\nkind: KollectDatabaseSink\n"
        "metadata: {name: db, namespace: x}\nspec:\n  type: postgres\n  cluster: pier-7\n"
        "  options: {history: \"true\"}\n"
        "  postgres: {table: resources, databaseRef: {name: dsn}}\n");
  }
  RunResult collect(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {
        "collect",   "--config", program_.path("f"), "--manifests", program_.path("dump.yaml"),
        "--summary", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }
  std::vector<std::string> ask(const std::string& sql) const { return server_.ask(database_, sql); }

  PostgresServer& server_ = PostgresServer::shared();
  std::string database_;
  Program program_;
};

TEST_F(CollectPostgres, RowsOfTheTargets) {
  const RunResult first = collect();
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr(R"("sink":"database/db","status":"ok","written":3)"));
  const std::string rows =
      "SELECT cluster, target_name, resource_namespace, payload ->> 'name', payload #>> "
      "'{attributes,k}' FROM resources ORDER BY 3, 4";
  EXPECT_THAT(ask(rows),
              ElementsAre("pier-7|t|lab|a|three", "pier-7|t|shop|a|one", "pier-7|t|shop|b|two"));
  const RunResult second = collect();
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr(R"("written":0,"unchanged":3)"));
  std::string dump = testing::kConfigMapDump;
  dump.replace(dump.find("{k: two}"), 8, "{k: new}");
  program_.write("dump.yaml", dump);
  ASSERT_EQ(collect().code, 0);
  EXPECT_THAT(ask("SELECT change, name, before ->> 'k', after ->> 'k' FROM resources_changes WHERE "
                  "change <> 'appeared'"),
              ElementsAre("changed|b|two|new"));
}

TEST_F(CollectPostgres, ADryRunTouchesNothing) {
  const RunResult run = collect({"--dry-run"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(ask("SELECT relname FROM pg_class WHERE relname = 'resources'"), IsEmpty());
}

TEST_F(CollectPostgres, AFailureIsToldWithoutTheConnectionString) {
  program_.env["DSN"] += "-nowhere";
  const RunResult run = collect();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr(R"("sink":"database/db","status":"failed")"));
  EXPECT_THAT(run.err, HasSubstr("the database of the connection string does not exist"));
  EXPECT_THAT(run.err, Not(HasSubstr(database_)));
  EXPECT_THAT(run.err, Not(HasSubstr("password")));
}

TEST_F(CollectPostgres, ValidateContactsNobody) {
  program_.env["DSN"] = "postgresql://test:secret@192.0.2.1:1/x";
  const RunResult run = program_.run({"validate", "--config", program_.path("f")});
  EXPECT_EQ(run.code, 0) << run.err;
}

}  // namespace
}  // namespace kollect::pipeline
