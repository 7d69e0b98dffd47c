// Settings and payload text: what needs no server (spec: sinks 6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/factory.h"
#include "sinks/postgres/payload.h"
#include "sinks/postgres/postgres_sink.h"

namespace kollect::sinks::postgres {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;
using ::testing::Not;

api::DatabaseSink sink_of(std::map<std::string, std::string> options = {}) {
  api::DatabaseSink sink;
  sink.metadata.name = "db";
  sink.spec.type = "postgres";
  sink.spec.postgres.emplace();
  sink.spec.postgres->database_ref.name = "dsn-secret";
  sink.spec.postgres->table = "resources";
  sink.spec.options = std::move(options);
  return sink;
}

SecretData secret(const std::string& dsn = "postgresql://u:p@db.example/x") {
  return {{"dsn", base::Secret(dsn)}};
}

TEST(PostgresOptions, Defaults) {
  const auto made = postgres_options(sink_of(), secret(), {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->table.schema, "public");
  EXPECT_EQ(made->table.table, "resources");
  EXPECT_TRUE(made->table.ensure);
  EXPECT_FALSE(made->table.create_schema);
  EXPECT_FALSE(made->table.history);
  EXPECT_EQ(made->statement_timeout, std::chrono::seconds(30));
  EXPECT_FALSE(made->lock_timeout.has_value());
  EXPECT_EQ(made->dsn.application_name, "kollect");
  EXPECT_EQ(made->dsn.connect_timeout, std::chrono::seconds(30));
}

TEST(PostgresOptions, EverySetting) {
  auto sink = sink_of({{"statement_timeout", "15000"},
                       {"lock_timeout", "2s"},
                       {"application_name", " x "},
                       {"sslmode", "require"},
                       {"createSchema", "True"},
                       {"history", "true"},
                       {"pool_max", "4"}});
  sink.spec.postgres->schema = "cmdb";
  sink.spec.provisioning.emplace().mode = "existing";
  sink.spec.tls.emplace().insecure_skip_verify = true;
  const auto made = postgres_options(sink, secret(), "pem");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->statement_timeout, std::chrono::seconds(15));
  EXPECT_EQ(made->lock_timeout, std::chrono::seconds(2));
  EXPECT_EQ(made->dsn.application_name, "x");
  EXPECT_EQ(made->dsn.sslmode, "require");
  EXPECT_EQ(made->dsn.ca_pem, "pem");
  EXPECT_TRUE(made->dsn.insecure_skip_verify);
  EXPECT_EQ(made->table.schema, "cmdb");
  EXPECT_TRUE(made->table.create_schema);
  EXPECT_TRUE(made->table.history);
  EXPECT_FALSE(made->table.ensure);
}

TEST(PostgresOptions, FirstKeyOfTheSecretThatIsNotBlank) {
  const SecretData data = {{"DATABASE_URL", base::Secret("postgresql://c")},
                           {"connectionString", base::Secret(" postgresql://b\n")},
                           {"url", base::Secret("  ")},
                           {"other", base::Secret("postgresql://d")}};
  EXPECT_EQ(postgres_options(sink_of(), data, {})->dsn.dsn.reveal(), "postgresql://b");
  const auto none = postgres_options(sink_of(), {{"other", base::Secret("x")}}, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(none.error().message, HasSubstr("Secret dsn-secret has none of the keys dsn, url"));
}

TEST(PostgresOptions, WrongValuesAreNamed) {
  const auto problem = [](const api::DatabaseSink& sink) {
    const auto made = postgres_options(sink, secret(), {});
    EXPECT_FALSE(made.has_value());
    return made.has_value() ? "" : made.error().message;
  };
  EXPECT_THAT(problem(sink_of({{"statement_timeout", "soon"}})),
              HasSubstr("spec.options[statement_timeout]: must be milliseconds"));
  EXPECT_THAT(problem(sink_of({{"lock_timeout", "-1"}})), HasSubstr("spec.options[lock_timeout]"));
  EXPECT_THAT(problem(sink_of({{"history", "yes"}})), HasSubstr("must be \"true\" or \"false\""));
  auto sink = sink_of();
  sink.spec.postgres->table = " ";
  EXPECT_THAT(problem(sink), HasSubstr("spec.postgres.table must be the name of a table"));
  sink.spec.postgres->table = std::string(64, 'x');
  EXPECT_THAT(problem(sink), HasSubstr("63 bytes"));
  sink.spec.postgres->table = "x";
  sink.spec.provisioning.emplace().naming.emplace().name_template = "t_{generation}";
  EXPECT_THAT(problem(sink), HasSubstr("{generation}"));
}

TEST(PostgresPayload, Text) {
  Payload payload;
  const auto text = payload.write(
      {"tn", "t", "", "a", "", "v1", "Pod", "u", R"({"bb":1,"a":{"c":[1,"x"]},"ccc":1.5e-7})"});
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, R"({"uid": "u", "kind": "Pod", "name": "a", "version": "v1", "namespace": "", )"
                   R"("attributes": {"a": {"c": [1, "x"]}, "bb": 1, "ccc": 0.00000015}, )"
                   R"("targetName": "t", "targetNamespace": "tn"})");
  EXPECT_FALSE(payload.replaced());
  EXPECT_FALSE(payload.write({"tn", "t", "", "a", "", "v1", "Pod", "u", "{"}).has_value());
}

TEST(PostgresPayload, WhatCannotBeHeldIsReplacedAndNamed) {
  Payload payload;
  const std::string name("a\0b\xFF", 4);
  ASSERT_TRUE(payload.write({"tn", "t", "", name, "", "v1", "Pod", "u", "{}"}).has_value());
  EXPECT_TRUE(payload.replaced());
  EXPECT_EQ(payload.replaced_in(), "");
  EXPECT_EQ(column_text(name),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  ASSERT_TRUE(payload.write({"tn", "t", "", "a", "", "v1", "Pod", "u", R"({"x":1,"y":["\u0000"]})"})
                  .has_value());
  EXPECT_TRUE(payload.replaced());
  EXPECT_EQ(payload.replaced_in(), "y");
  // A number that no numeric can hold costs its exactness, not the export.
  const auto text = payload.write(
      {"tn", "t", "", "a", "", "v1", "Pod", "u", R"({"x":1e400,"y":1e999999,"z":-0.0})"});
  EXPECT_THAT(std::string(*text), HasSubstr(R"("y": "1e999999", "z": 0)"));
  EXPECT_FALSE(payload.replaced());
}

}  // namespace
}  // namespace kollect::sinks::postgres
