// What is sent to Google Cloud Storage, against a stand-in that checks tokens (the emulator does
// not), and settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/strings.h"
#include "sinks/objects/gcs/gcs_bucket.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::objects::gcs {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

class TestCredentials final : public google::Credentials {
 private:
  base::Result<google::Granted> ask(const base::Context& /*context*/,
                                    const std::string& /*scope*/) override {
    return google::Granted{base::Secret("t0ken"), std::chrono::hours(1)};
  }
};

class GcsProtocol : public ::testing::Test {
 protected:
  std::unique_ptr<Bucket> open(const HttpServer& server, std::size_t chunk = 8) {
    google::ApiOptions api;
    api.name = "gcs";
    api.base_url = server.url();
    api.credentials = std::make_shared<TestCredentials>();
    BucketOptions options;
    options.name = "ledger";
    options.storage_class = "NEARLINE";
    options.kms_key = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
    options.chunk_bytes = chunk;
    return make_bucket(std::make_shared<google::Api>(api), options);
  }
  base::ManualClock clock_;
  base::Context context_{clock_, {}};
};

TEST_F(GcsProtocol, AnObjectGoesWithItsDescription) {
  HttpServer server([](const Received&) { return Reply::json("{}"); });
  const auto bucket = open(server);
  ASSERT_TRUE(bucket->put(context_, "a/b.json", "body", {"application/json", "gzip", {{"k", "v"}}})
                  .has_value());
  const auto request = server.received().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path(), "/upload/storage/v1/b/ledger/o");
  EXPECT_EQ(request.query("uploadType"), "multipart");
  EXPECT_EQ(request.query("kmsKeyName"), "projects/p/locations/eu/keyRings/r/cryptoKeys/k");
  EXPECT_EQ(request.header("authorization"), "Bearer t0ken");
  EXPECT_THAT(request.header("content-type"), HasSubstr("multipart/related; boundary="));
  EXPECT_THAT(request.body,
              HasSubstr(R"({"name":"a/b.json","contentType":"application/json","contentEncoding":)"
                        R"("gzip","storageClass":"NEARLINE","metadata":{"k":"v"}})"));
  EXPECT_THAT(request.body, HasSubstr("\r\n\r\nbody\r\n--"));
}

TEST_F(GcsProtocol, AnUploadGoesOnWhereItWasCut) {
  std::string held;
  std::atomic<int> puts = 0;
  HttpServer server([&](const Received& request) -> Reply {
    if (request.method == "POST") {
      Reply reply = Reply::json("{}");
      reply.headers.emplace_back("Location", "/upload/session");
      return reply;
    }
    const std::string range = request.header("content-range");
    if (++puts == 2) {  // takes three bytes and fails
      held += request.body.substr(0, 3);
      return Reply::json("{}", 503);
    }
    if (!range.starts_with("bytes */")) held += request.body;
    Reply reply = Reply::json("{}", range.ends_with("/*") ? 308 : 200);
    if (!held.empty()) {
      reply.headers.emplace_back("Range", fmt::format("bytes=0-{}", held.size() - 1));
    }
    return reply;
  });
  const auto bucket = open(server);
  auto upload = bucket->start_upload(context_, "a", {"text/plain", "", {}});
  ASSERT_TRUE(upload.has_value()) << upload.error().message;
  const std::string text = "0123456789abcdefghij";
  for (const char c : text) {
    ASSERT_TRUE((*upload)->write(context_, std::string_view(&c, 1)).has_value());
  }
  ASSERT_TRUE((*upload)->finish(context_).has_value());
  EXPECT_EQ(held, text);
}

TEST_F(GcsProtocol, AnUploadThatIsNotFinishedIsGivenUp) {
  HttpServer server([](const Received&) {
    Reply reply = Reply::json("{}");
    reply.headers.emplace_back("Location", "/upload/session");
    return reply;
  });
  const auto bucket = open(server);
  (void)bucket->start_upload(context_, "a", {"text/plain", "", {}});
  EXPECT_EQ(server.received().back().method, "DELETE");
  EXPECT_EQ(server.received().back().path(), "/upload/session");
}

TEST_F(GcsProtocol, ATokenGoesToNoOtherService) {
  HttpServer server([](const Received&) {
    Reply reply = Reply::json("{}");
    reply.headers.emplace_back("Location", "https://elsewhere.example/upload");
    return reply;
  });
  const auto upload = open(server)->start_upload(context_, "a", {"text/plain", "", {}});
  ASSERT_FALSE(upload.has_value());
  EXPECT_THAT(upload.error().message, HasSubstr("names no upload of this service"));
}

TEST_F(GcsProtocol, RefusalsAreDenied) {
  for (const int status : {401, 403}) {
    HttpServer server([status](const Received&) { return Reply::json("{}", status); });
    const auto checked = open(server)->check(context_);
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().kind, base::ErrorKind::kDenied);
    EXPECT_EQ(checked.error().reason, "access-denied");
    EXPECT_THAT(checked.error().message, Not(HasSubstr("t0ken")));
  }
}

base::Result<GcsSinkOptions> read(const std::string& endpoint, const std::string& more = "",
                                  std::map<std::string, std::string> environment = {}) {
  const auto sink = testing::sink_of(
      testing::parse_json(fmt::format(R"({{"type":"gcs","endpoint":"{}"{}}})", endpoint, more)));
  return gcs_options(sink, {}, std::nullopt,
                     [&](const std::string& name) -> std::optional<std::string> {
                       const auto found = environment.find(name);
                       if (found == environment.end()) return std::nullopt;
                       return found->second;
                     },
                     {});
}

TEST(GcsOptionsTest, BucketsAreGooglesByDefault) {  // K-38
  for (const char* endpoint : {"gs://ledger/base", "ledger/base"}) {
    const auto made = read(endpoint);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(made->api.base_url, "https://storage.googleapis.com");
    EXPECT_EQ(made->bucket.name, "ledger");
    EXPECT_EQ(made->objects.prefix, "base");
    EXPECT_TRUE(made->api.credentials);
    EXPECT_EQ(made->api.scope, "https://www.googleapis.com/auth/devstorage.read_write");
  }
}

TEST(GcsOptionsTest, AnEmulatorIsSentNoTokens) {
  const auto made = read("gs://ledger", "", {{"STORAGE_EMULATOR_HOST", "127.0.0.1:4443/"}});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->api.base_url, "http://127.0.0.1:4443");
  EXPECT_FALSE(made->api.credentials);
}

TEST(GcsOptionsTest, WhatCannotWorkIsNamed) {
  EXPECT_THAT(read("https://store.example/ledger").error().message, HasSubstr("spec.endpoint"));
  EXPECT_THAT(read("gs://ledger", R"(,"secretRef":{"name":"s"})").error().message,
              HasSubstr("credentials.json"));
  EXPECT_THAT(read("gs://ledger", R"(,"options":{"createBucket":"true"})").error().message,
              HasSubstr("spec.options[project]"));
}

}  // namespace
}  // namespace kollect::sinks::objects::gcs
