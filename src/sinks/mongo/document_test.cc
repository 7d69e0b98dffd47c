// Rows as documents (spec: sinks 12; K-3), and options of the type (spec: sinks 6, 12).
#include "sinks/mongo/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/write.h"
#include "sinks/factory.h"
#include "sinks/mongo/mongo_sink.h"
#include "sinks/testing.h"

namespace kollect::sinks::mongo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string json_of(const bson_t* document) {
  char* text = bson_as_relaxed_extended_json(document, nullptr);
  std::string out = text;
  bson_free(text);
  return out;
}

Partition ledger() {
  return {"pier-7", "harbor-ops", "dock-ledger", 1'770'091'506'789};
}

inventory::RowView row_with(std::string_view attributes) {
  return {"harbor", "cranes", "quay", "a", "apps", "v1", "Deployment", "u", attributes};
}

class Documents : public ::testing::Test {
 protected:
  const bson_t* write(std::string_view attributes) {
    const auto done = document_.write(row_with(attributes), ledger());
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return document_.get();
  }
  Digest digest(std::string_view attributes) {
    write(attributes);
    return document_.digest();
  }
  bson_iter_t attribute(std::string_view attributes, const std::string& name) {
    bson_iter_t at;
    bson_iter_t found;
    EXPECT_TRUE(bson_iter_init(&at, write(attributes)));
    EXPECT_TRUE(bson_iter_find_descendant(&at, ("payload.attributes." + name).c_str(), &found));
    return found;
  }
  RowDocument document_;
};

TEST_F(Documents, AsRecorded) {
  const auto recorded = sinks::testing::read_case("database/mongodb.json");
  const auto rows = sinks::testing::named_rows("rows");
  const auto& upserts = recorded.find("upserts")->as_array();
  ASSERT_EQ(upserts.size(), rows.size());
  std::size_t index = 0;
  const auto done = rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    KL_TRY(document_.write(row, ledger()));
    EXPECT_EQ(base::json::canonical(sinks::testing::parse_json(json_of(document_.get()))),
              base::json::canonical(*upserts[index++].find("document")));
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(index, 5U);
}

TEST_F(Documents, IntegersStayExact) {
  const std::string text =
      R"({"max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993,)"
      R"("tenth":0.1,"huge":1e21,"umax":18446744073709551615})";
  auto at = attribute(text, "odd");
  ASSERT_EQ(bson_iter_type(&at), BSON_TYPE_INT64);
  EXPECT_EQ(bson_iter_int64(&at), 9007199254740993);
  at = attribute(text, "max");
  EXPECT_EQ(bson_iter_int64(&at), INT64_MAX);
  at = attribute(text, "min");
  EXPECT_EQ(bson_iter_int64(&at), INT64_MIN);
  at = attribute(text, "tenth");
  EXPECT_EQ(bson_iter_type(&at), BSON_TYPE_DOUBLE);
  at = attribute(text, "huge");
  EXPECT_EQ(bson_iter_double(&at), 1e21);
  at = attribute(text, "umax");
  bson_decimal128_t decimal{};
  ASSERT_TRUE(bson_iter_decimal128(&at, &decimal));
  char digits[BSON_DECIMAL128_STRING];
  bson_decimal128_to_string(&decimal, digits);
  EXPECT_STREQ(digits, "18446744073709551615");
  at = attribute(R"({"far":1e400})", "far");
  EXPECT_EQ(text_of(at), "1e400");
}

TEST_F(Documents, OddKeysAndTexts) {
  EXPECT_THAT(json_of(write(R"({"":1,"$ref":{"a.b":[null,{}]},"a.b":2})")),
              HasSubstr(R"({ "" : 1, "$ref" : { "a.b" : [ null, {  } ] }, "a.b" : 2 })"));
  EXPECT_FALSE(document_.replaced());
  const auto at = attribute(R"({"t":"a\u0000b"})", "t");
  EXPECT_EQ(text_of(at), std::string_view("a\0b", 3));
  EXPECT_FALSE(document_.replaced());
}

TEST_F(Documents, KeysCannotHoldNul) {
  // Of keys that have become the same the last one stays.
  EXPECT_THAT(json_of(write("{\"a\\u0000b\":1,\"a\xEF\xBF\xBD"
                            "b\":2,\"a0\":3}")),
              HasSubstr("\"attributes\" : { \"a0\" : 3, \"a\xEF\xBF\xBD"
                        "b\" : 2 }"));
  EXPECT_TRUE(document_.replaced());
  write("{}");
  EXPECT_FALSE(document_.replaced());
}

TEST_F(Documents, NumbersAreComparedByValue) {
  // What other programs stored as double or int32.
  const auto stored = [](double number) {
    Bson document;
    bson_t payload;
    bson_t attributes;
    BSON_APPEND_DOCUMENT_BEGIN(document.get(), "payload", &payload);
    BSON_APPEND_DOCUMENT_BEGIN(&payload, "attributes", &attributes);
    BSON_APPEND_DOUBLE(&attributes, "n", number);
    bson_append_document_end(&payload, &attributes);
    for (const auto& [key, value] :
         {std::pair("group", "apps"), std::pair("kind", "Deployment"), std::pair("name", "a"),
          std::pair("namespace", "quay"), std::pair("targetName", "cranes"),
          std::pair("targetNamespace", "harbor"), std::pair("uid", "u"),
          std::pair("version", "v1")}) {
      BSON_APPEND_UTF8(&payload, key, value);
    }
    bson_append_document_end(document.get(), &payload);
    bson_iter_t at;
    EXPECT_TRUE(bson_iter_init_find(&at, document.get(), "payload"));
    return digest_of("quay", at);
  };
  EXPECT_EQ(digest(R"({"n":3})"), stored(3));
  EXPECT_EQ(digest(R"({"n":0.5})"), stored(0.5));
  EXPECT_NE(digest(R"({"n":4})"), stored(3));
  EXPECT_NE(digest(R"({"n":9007199254740993})"), stored(9007199254740992.0));
  EXPECT_NE(digest(R"({"n":"3"})"), stored(3));
  EXPECT_NE(digest(R"({"n":[3]})"), digest(R"({"n":{"0":3}})"));
  EXPECT_NE(digest(R"({"n":null})"), digest("{}"));
}

TEST_F(Documents, ARowAboveTheLimitIsNamed) {
  const std::string attributes = fmt::format(R"({{"t":"{}"}})", std::string(16U << 20U, 'x'));
  const auto done = document_.write(row_with(attributes), ledger());
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(done.error().reason, "row-too-large");
  EXPECT_THAT(done.error().message, HasSubstr("Deployment quay/a (target cranes)"));
}

api::DatabaseSink sink_for(const std::string& database = "crm",
                           const std::string& collection = "rows") {
  api::DatabaseSink sink;
  sink.metadata.name = "db";
  sink.spec.type = "mongodb";
  sink.spec.mongodb.emplace();
  sink.spec.mongodb->database = database;
  sink.spec.mongodb->collection = collection;
  sink.spec.mongodb->database_ref.name = "uri";
  return sink;
}

base::Error refused(const api::DatabaseSink& sink, const std::string& uri,
                    const SinkOptions& options = {}) {
  const auto made = make_database_sink(sink, {{"uri", base::Secret(uri)}}, {}, options);
  EXPECT_FALSE(made.has_value()) << uri;
  if (made.has_value()) return {};
  EXPECT_EQ(made.error().kind, base::ErrorKind::kConfiguration);
  for (const char* word : {"hidden", "10.1.2.3", "db.test", "127.0.0.1", "169.254"}) {
    EXPECT_THAT(made.error().message, Not(HasSubstr(word)));
  }
  return made.error();
}

TEST(MongoOptions, TheFirstKeyThatIsNotBlank) {
  const SecretData secret = {{"uri", base::Secret(" \n")},
                             {"connectionString", base::Secret("mongodb://b\n")},
                             {"url", base::Secret(" mongodb://a:hidden@h/ \n")}};
  const auto options = mongo_options(sink_for(" crm "), secret, {});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->access.uri.reveal(), "mongodb://a:hidden@h/");
  EXPECT_EQ(options->database, "crm");
  EXPECT_TRUE(options->ensure);
  const auto none = mongo_options(sink_for(), {{"password", base::Secret("hidden")}}, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().reason, "bad-secret");
  EXPECT_THAT(none.error().message, HasSubstr("Secret uri has none of the keys uri, url"));
}

TEST(MongoOptions, UrisThatCannotWork) {
  for (const char* uri : {"hidden", "http://hidden", "mongodb://u:hid@den:x@db.test/",
                          "mongodb://u:hidden@db.test/?w=0", "mongodb://db.test/?tls=maybe"}) {
    EXPECT_EQ(refused(sink_for(), uri).reason, "bad-dsn") << uri;
  }
  // Ways to sign in that would use sockets past the guard.
  EXPECT_EQ(refused(sink_for(),
                    "mongodb://u:hidden@db.test/?authMechanism=MONGODB-AWS&"
                    "authSource=$external")
                .reason,
            "bad-dsn");
}

TEST(MongoOptions, EveryHostIsChecked) {
  for (const char* uri :
       {"mongodb://u:hidden@127.0.0.1/", "mongodb://8.8.8.8,10.1.2.3:27018/?replicaSet=r",
        "mongodb://169.254.169.254/", "mongodb://[::1]/", "mongodb://localhost/",
        "mongodb://%2Ftmp%2Fhidden.sock/"}) {
    EXPECT_EQ(refused(sink_for(), uri).reason, "address-refused") << uri;
  }
  SinkOptions open;
  open.allow_private = true;
  EXPECT_EQ(refused(sink_for(), "mongodb://127.0.0.1/", open).reason, "address-refused");
  EXPECT_TRUE(
      make_database_sink(sink_for(), {{"uri", base::Secret("mongodb://10.1.2.3/")}}, {}, open)
          .has_value());
}

TEST(MongoOptions, Names) {
  const std::string uri = "mongodb://db.test/";
  EXPECT_EQ(refused(sink_for("a b"), uri).reason, "bad-name");
  EXPECT_EQ(refused(sink_for(""), uri).reason, "bad-name");
  EXPECT_EQ(refused(sink_for("crm", "system.users"), uri).reason, "bad-name");
  EXPECT_EQ(refused(sink_for("crm", "a$b"), uri).reason, "bad-name");
  auto sink = sink_for();
  sink.spec.provisioning.emplace();
  sink.spec.provisioning->naming.emplace();
  sink.spec.provisioning->naming->name_template = "rows-{generation}";
  EXPECT_THAT(refused(sink, uri).message, HasSubstr("{generation}"));
}

TEST(MongoOptions, WriteConcernAndTrust) {
  auto sink = sink_for();
  for (const char* good : {"majority", "1", "3", "eu-dcs"}) {
    sink.spec.options = {{"writeConcern", good}, {"appName", "reporter"}};
    const auto made =
        make_database_sink(sink, {{"uri", base::Secret("mongodb://db.test/")}}, {}, {});
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  for (const char* bad : {"0", "-1", "51"}) {
    sink.spec.options = {{"writeConcern", bad}};
    EXPECT_THAT(refused(sink, "mongodb://db.test/").message,
                HasSubstr("spec.options[writeConcern]"));
  }
  sink.spec.options.clear();
  const auto made =
      make_database_sink(sink, {{"uri", base::Secret("mongodb://db.test/")}}, "no certificate", {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().reason, "tls");
}

}  // namespace
}  // namespace kollect::sinks::mongo
