// Connections, TLS and what errors may say (spec: sinks 12, 16; K-15).
#include "sinks/factory.h"
#include "sinks/mongo/mongo_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::mongo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MongoAccess : public MongoFixture {
 protected:
  base::Result<> probe() { return make_mongo_sink(options_)->probe(context_); }
  base::Result<> probe(const std::string& uri) {
    options_.access.uri = base::Secret(uri);
    return probe();
  }
  base::Error refused(const base::Result<>& result) {
    EXPECT_FALSE(result.has_value());
    if (result.has_value()) return {};
    for (const std::string& word :
         {std::string("127.0.0.1"), std::string("db.test"), std::to_string(server_.port()),
          std::string("secret"), std::string("nobody"), std::string("wrong")}) {
      EXPECT_THAT(result.error().message, Not(HasSubstr(word)));
    }
    return result.error();
  }
  void resolve_to(std::vector<std::string> addresses) {
    options_.access.resolver =
        [addresses](const std::string&) -> base::Result<std::vector<std::string>> {
      return addresses;
    };
  }
};

TEST_F(MongoAccess, Passwords) {
  EXPECT_TRUE(probe().has_value());
  for (const auto& [user, password] : {std::pair("test", "wrong"), std::pair("nobody", "secret")}) {
    const auto error = refused(probe(server_.uri(user, password)));
    EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
    EXPECT_EQ(error.reason, "auth");
  }
}

TEST_F(MongoAccess, TheNameStaysForTls) {
  resolve_to({"127.0.0.1"});
  EXPECT_TRUE(probe(server_.uri("test", "secret", "db.test")).has_value());
  auto error = refused(probe(server_.uri("test", "secret", "wrong.test")));
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "tls");
  EXPECT_THAT(error.message, HasSubstr("another host name"));
  options_.access.insecure_skip_verify = true;
  EXPECT_TRUE(probe().has_value());
}

TEST_F(MongoAccess, ServersThatAreNotTrusted) {
  const std::string pem = *options_.access.ca_pem;
  options_.access.ca_pem.reset();
  EXPECT_EQ(refused(probe()).reason, "tls");  // nobody the system trusts
  const kollect::testing::TestAuthority other("other");
  options_.access.ca_pem = other.pem();
  const auto error = refused(probe());
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "tls");
  // The CA of the URI itself, where the spec has none.
  options_.access.ca_pem.reset();
  EXPECT_TRUE(probe(server_.uri() + "&tlsCAFile=" + server_.ca_file().string()).has_value());
  options_.access.ca_pem = pem;
  EXPECT_TRUE(probe(fmt::format("mongodb://test:secret@127.0.0.1:{}/", server_.port()))
                  .has_value());  // turns TLS on
}

TEST_F(MongoAccess, NobodyThere) {
  auto error = refused(probe("mongodb://test:secret@127.0.0.1:1/"));
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "unreachable");
  resolve_to({});
  error = refused(probe("mongodb://test:secret@db.test/"));
  EXPECT_EQ(error.reason, "unreachable");
  EXPECT_THAT(error.message, HasSubstr("has no address"));
}

TEST_F(MongoAccess, TheCompleteAnswerIsCheckedBeforeAnythingIsDialled) {
  options_.access.guard = std::make_shared<const base::AddressGuard>(false);
  resolve_to({"8.8.8.8", "127.0.0.1"});
  const auto error = refused(probe(server_.uri("test", "secret", "db.test")));
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(error.reason, "address-refused");
  options_.access.guard = std::make_shared<const base::AddressGuard>(false, true);
  resolve_to({"127.0.0.1"});
  EXPECT_TRUE(probe().has_value());
}

TEST_F(MongoAccess, ExistingCollectionsOnly) {
  options_.ensure = false;
  auto error = refused(probe());
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(error.reason, "table-missing");
  EXPECT_THAT(error.message, HasSubstr(options_.database + ".inventory"));
  EXPECT_EQ(must_fail(set_of({{"a"}})).reason, "table-missing");
  stranger().run(R"({"create":"inventory"})");
  EXPECT_TRUE(probe().has_value());
  write(set_of({{"a"}}));
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(stranger().indexes(), Lines{});
}

TEST_F(MongoAccess, TheIndexBeginsWithTheCluster) {  // K-43
  write(set_of({{"a"}}));
  EXPECT_EQ(stranger().indexes(),
            Lines{"!cluster,inventory_namespace,inventory_name,target_name,source_uid,"});
}

TEST_F(MongoAccess, AnIndexOfFourFieldsIsAccepted) {
  stranger().run(
      R"({"createIndexes":"inventory","indexes":[{"name":"old","unique":true,"key":{)"
      R"("inventory_namespace":1,"inventory_name":1,"target_name":1,"source_uid":1}}]})");
  write(set_of({{"a"}}));
  EXPECT_EQ(stranger().indexes(),
            Lines{"!inventory_namespace,inventory_name,target_name,source_uid,"});
  // With it, clusters cannot share an object's uid.
  const auto report = try_write(set_of({{"a"}}), 0, "pier-8");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(report.error().reason, "duplicate-key");
  EXPECT_THAT(report.error().message, HasSubstr("must begin with cluster"));
}

TEST_F(MongoAccess, ReadersMayNotWrite) {
  write(set_of({{"a"}}));
  options_.access.uri = base::Secret(server_.uri("reader"));
  EXPECT_TRUE(probe().has_value());
  EXPECT_EQ(write(set_of({{"a"}})).unchanged, 1U);  // nothing to write, nothing to create
  const auto error = must_fail(set_of({{"b"}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "forbidden");
  EXPECT_THAT(error.message, HasSubstr("writing rows to " + options_.database + ".inventory"));
}

TEST_F(MongoAccess, FactoryBuildsFromTheSpec) {
  api::DatabaseSink sink;
  sink.metadata.name = "db";
  sink.spec.type = "mongodb";
  sink.spec.mongodb.emplace();
  sink.spec.mongodb->database = options_.database;
  sink.spec.mongodb->collection = "unused";
  sink.spec.mongodb->database_ref.name = "uri";
  sink.spec.provisioning.emplace();
  sink.spec.provisioning->naming.emplace();
  sink.spec.provisioning->naming->name_template = "{cluster}-{namespace}-{name}";
  sink.spec.options = {{"writeConcern", "1"}, {"appName", "reporter"}};
  SinkOptions options;
  options.allow_loopback = true;
  const SecretData secret = {{"MONGODB_URI", base::Secret(" " + server_.uri() + "\n")}};
  auto made = make_database_sink(sink, secret, *options_.access.ca_pem, options);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto report = try_write(**made, set_of({{"a"}}));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(stranger().documents("pier-7-harbor-ledger").size(), 1U);
}

}  // namespace
}  // namespace kollect::sinks::mongo
