#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/bigquery/payload.h"
#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using ::testing::HasSubstr;

api::DatabaseSink sink_of_spec(std::string spec) {
  std::replace(spec.begin(), spec.end(), '\'', '"');
  auto sink = api::decode<api::DatabaseSink>(testing::parse_json(
      R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectDatabaseSink","metadata":{"name":"bq"},"spec":)" +
      spec + "}"));
  EXPECT_TRUE(sink.has_value()) << (sink.has_value() ? "" : sink.error().message);
  return sink.value_or(api::DatabaseSink{});
}

base::Result<BigqueryOptions> read(const std::string& spec, const SecretData& secret = {},
                                   std::map<std::string, std::string> environment = {}) {
  return bigquery_options(sink_of_spec(spec), secret, std::nullopt,
                          [&](const std::string& name) -> std::optional<std::string> {
                            const auto found = environment.find(name);
                            if (found == environment.end()) return std::nullopt;
                            return found->second;
                          },
                          {});
}

std::string refusal(const std::string& spec, const SecretData& secret = {}) {
  const auto made = read(spec, secret);
  EXPECT_FALSE(made.has_value()) << spec;
  return made.has_value() ? "" : made.error().message;
}

constexpr const char* kPlain =
    "{'type':'bigquery','bigquery':{'project':' p-1 ','dataset':'d','table':'t','location':'EU'}}";

TEST(BigqueryOptionsTest, NamesAndOptionsAreRead) {
  const auto made = read(
      "{'type':'bigquery','bigquery':{'project':' p-1 ','dataset':'d','table':'t'},"
      "'options':{'partitionExpirationDays':'30','maximumBytesBilled':'1000'},"
      "'provisioning':{'mode':'existing'}}");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->table.quoted(), "`p-1.d.t`");
  EXPECT_EQ(made->partition_expiration_days, 30);
  EXPECT_EQ(made->jobs.maximum_bytes_billed, 1000);
  EXPECT_FALSE(made->ensure);
  EXPECT_EQ(made->api.base_url, "https://bigquery.googleapis.com");
  EXPECT_TRUE(made->api.credentials);  // those of the process
}

TEST(BigqueryOptionsTest, AnEmulatorIsSentNoTokens) {
  const auto made = read(kPlain, {}, {{"BIGQUERY_EMULATOR_HOST", "127.0.0.1:9050"}});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->api.base_url, "http://127.0.0.1:9050");
  EXPECT_FALSE(made->api.credentials);
  EXPECT_EQ(made->location, "EU");
}

TEST(BigqueryOptionsTest, WhatCannotWorkIsNamed) {
  const auto with = [](const std::string& members) {
    return "{'type':'bigquery','bigquery':{" + members + "}}";
  };
  EXPECT_THAT(refusal(with("'project':'a`b','dataset':'d','table':'t'")),
              HasSubstr("spec.bigquery.project"));
  EXPECT_THAT(refusal(with("'project':'p','dataset':'d-e','table':'t'")),
              HasSubstr("spec.bigquery.dataset"));
  EXPECT_THAT(refusal(with("'project':'p','dataset':'d','table':'t`; DROP'")),
              HasSubstr("spec.bigquery.table"));
  EXPECT_THAT(refusal("{'type':'bigquery','bigquery':{'project':'p','dataset':'d','table':'t'},"
                      "'options':{'maximumBytesBilled':'much'}}"),
              HasSubstr("maximumBytesBilled"));
  const std::string named =
      "{'type':'bigquery','bigquery':{'project':'p','dataset':'d','table':'t','secretRef':{'name':"
      "'s'}}}";
  EXPECT_EQ(refusal(named), "sink bq: the Secret has no key credentials.json");
  EXPECT_EQ(refusal(named, {{"credentials.json", base::Secret("s3cret")}}),
            "sink bq: Secret: credentials.json is not a JSON object");
}

TEST(BigqueryOptionsTest, NamesOfATemplateHaveNoOddCharacters) {
  EXPECT_EQ(bigquery::named_table("inv_{cluster}_{namespace}", "pier.7`", "ns", "n"),
            "inv_pier_7__ns");
}

TEST(BigqueryPayloadTest, KeysAreSortedAndNumbersExact) {
  bigquery::Payload payload;
  const auto text = payload.write(
      {"harbor", "t", "quay", "n\n\"", "apps", "v1", "Deployment", "u",
       R"({"b":9007199254740993,"a":{"z":[],"y":18446744073709551615},"é":"\u003c\u0001"})"});
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, R"({"attributes":{"a":{"y":18446744073709551615,"z":[]},"b":9007199254740993,)"
                   "\"é\":\"<\\u0001\"},"
                   R"("group":"apps","kind":"Deployment","name":"n\n\"","namespace":"quay",)"
                   R"("targetName":"t","targetNamespace":"harbor","uid":"u","version":"v1"})");
}

TEST(BigqueryPayloadTest, DigestsAreThoseOfTheService) {
  // printf 'quay\n{}' | sha256sum
  EXPECT_EQ(bigquery::digest_of("quay", "{}"), bigquery::read_digest(base::sha256_hex("quay\n{}")));
  EXPECT_NE(bigquery::digest_of("quay", "{}"), bigquery::read_digest(""));
}

}  // namespace
}  // namespace kollect::sinks
