// Connection strings, TLS and what errors may say (spec: sinks 11.1, 16; K-15).
#include "base/files.h"
#include "base/strings.h"
#include "sinks/credentials.h"
#include "sinks/factory.h"
#include "sinks/postgres/pg_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PostgresAccess : public PostgresFixture {
 protected:
  void SetUp() override {
    pem_ = base::read_file(server_.ca_file()).value_or("");
    ASSERT_NE(pem_, "");
  }
  std::string url(const std::string& host, const std::string& more = "") const {
    return fmt::format("postgresql://test:secret@{}:{}/{}{}", host, server_.port(), database_,
                       more);
  }
  base::Result<> probe(const std::string& dsn) {
    options_.dsn.dsn = base::Secret(dsn);
    return make_postgres_sink(options_)->probe(context_);
  }
  base::Error refused(const std::string& dsn) {
    const auto result = probe(dsn);
    EXPECT_FALSE(result.has_value());
    if (result.has_value()) return {};
    // Nothing of the connection string is ever shown.
    for (const std::string& word :
         {std::string("127.0.0.1"), std::string("db.test"), std::to_string(server_.port()),
          std::string("secret"), std::string("nobody"), database_, std::string("wrong")}) {
      EXPECT_THAT(result.error().message, Not(HasSubstr(word)));
    }
    return result.error();
  }
  /// TLS of the session: "t" or "f".
  Lines session_tls() const {
    auto connection = pgsql::connect(context_, options_.dsn);
    if (!connection.has_value()) return {connection.error().message};
    const auto answer = connection->run(context_, "asking",
                                        "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    return {std::string(answer->field(0, 0))};
  }
  std::string pem_;
};

TEST_F(PostgresAccess, UrlsAndKeyValuePairs) {
  EXPECT_TRUE(probe(url("127.0.0.1")).has_value());
  EXPECT_TRUE(probe(fmt::format("host=127.0.0.1 port={} user=test password='secret' dbname='{}' "
                                "target_session_attrs=read-write",
                                server_.port(), database_))
                  .has_value());
  EXPECT_TRUE(probe(fmt::format("host={} port={} user=test password=secret dbname={}",
                                server_.socket_folder().string(), server_.port(), database_))
                  .has_value());
}

TEST_F(PostgresAccess, TheNextHostIsTried) {
  EXPECT_TRUE(probe(fmt::format("postgresql://test:secret@127.0.0.1:1,127.0.0.1:{}/{}",
                                server_.port(), database_))
                  .has_value());
}

TEST_F(PostgresAccess, WhatGoesWrongIsToldWithoutTheConnectionString) {
  auto error =
      refused(fmt::format("postgresql://nobody:secret@127.0.0.1:{}/{}", server_.port(), database_));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "auth");
  EXPECT_THAT(error.message, HasSubstr("28P01"));
  error =
      refused(fmt::format("postgresql://test:wrong@127.0.0.1:{}/{}", server_.port(), database_));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  error = refused(fmt::format("postgresql://test@127.0.0.1:{}/{}", server_.port(), database_));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  error =
      refused(fmt::format("postgresql://test:secret@127.0.0.1:{}/nowhere-wrong", server_.port()));
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "database-missing");
  error = refused("postgresql://test:secret@127.0.0.1:1/wrong");
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "unreachable");
  EXPECT_EQ(refused("postgresql://test:secret@db.test.invalid/wrong").kind,
            base::ErrorKind::kRetryable);
  error = refused("secret wrong=1");
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "bad-dsn");
  EXPECT_EQ(refused("host=127.0.0.1,db.test port=1,2,3").reason, "bad-dsn");
}

TEST_F(PostgresAccess, TrustOfTheSpec) {
  options_.dsn.dsn = base::Secret(url("127.0.0.1", "?sslmode=disable"));
  EXPECT_EQ(session_tls(), Lines{"f"});
  options_.dsn.ca_pem = pem_;
  EXPECT_EQ(session_tls(), Lines{"t"});
  options_.dsn.ca_pem.reset();
  options_.dsn.insecure_skip_verify = true;
  EXPECT_EQ(session_tls(), Lines{"t"});
  options_.dsn.insecure_skip_verify = false;
  options_.dsn.sslmode = "verify-full";  // nobody the system trusts
  EXPECT_EQ(refused(options_.dsn.dsn.reveal()).reason, "tls");
}

TEST_F(PostgresAccess, ServersThatAreNotWhoTheySay) {
  const kollect::testing::TestAuthority other("other");
  options_.dsn.ca_pem = other.pem();
  auto error = refused(url("127.0.0.1"));
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "tls");
  options_.dsn.ca_pem = pem_;
  options_.dsn.resolver = [](const std::string&) -> base::Result<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  EXPECT_TRUE(probe(url("db.test")).has_value());  // the name stays for TLS
  EXPECT_EQ(session_tls(), Lines{"t"});
  error = refused(url("wrong.test"));
  EXPECT_EQ(error.reason, "tls");
  EXPECT_THAT(error.message, HasSubstr("another host name"));
}

TEST_F(PostgresAccess, AWrongPasswordNamesTheSecretAndItsKey) {
  api::DatabaseSink sink;
  sink.metadata.name = "db";
  sink.metadata.ns = "shop";
  sink.spec.type = "postgres";
  sink.spec.postgres.emplace();
  sink.spec.postgres->database_ref.name = "pg";
  sink.spec.postgres->table = "resources";
  SinkOptions options;
  options.guard_addresses = false;
  const SecretData secret = {
      {"note", base::Secret("hidden-note")},
      {"url", base::Secret(fmt::format("postgresql://test:hidden-word@127.0.0.1:{}/{}",
                                       server_.port(), database_))}};
  auto made = make_database_sink(sink, secret, {}, options);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto named = naming_credentials(std::move(*made), credentials_title(sink, secret));
  const auto probed = named->probe(context_);
  ASSERT_FALSE(probed.has_value());
  EXPECT_EQ(probed.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(probed.error().message,
            "postgres: cannot connect: the server refuses the user or the password [SQLSTATE "
            "28P01]; check Secret shop/pg (key url)");
  const auto written = try_write(*named, set_of({{"a"}}));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().message, probed.error().message);
}

TEST_F(PostgresAccess, FactoryBuildsFromTheSpec) {
  api::DatabaseSink sink;
  sink.metadata.name = "db";
  sink.spec.type = "postgres";
  sink.spec.postgres.emplace();
  sink.spec.postgres->database_ref.name = "dsn";
  sink.spec.postgres->table = "resources";
  sink.spec.options = {{"history", "true"}, {"application_name", "reporter"}};
  SinkOptions options;
  options.guard_addresses = false;
  const SecretData secret = {{"dsn", base::Secret(" \n")},
                             {"url", base::Secret(" " + url("127.0.0.1") + "\n")}};
  auto made = make_database_sink(sink, secret, {}, options);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_TRUE(try_write(**made, set_of({{"a"}})).has_value());
  EXPECT_EQ(ask("SELECT count(*) FROM resources_versions"), Lines{"1"});
  EXPECT_EQ(ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reporter'"),
            Lines{"1"});
  options.guard_addresses = true;
  made = make_database_sink(sink, secret, {}, options);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().reason, "address-refused");
}

}  // namespace
}  // namespace kollect::sinks::postgres
