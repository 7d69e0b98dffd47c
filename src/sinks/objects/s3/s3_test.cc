// Signatures, endpoints and the requests of S3 sinks; what real test servers never answer (other
// regions, expired keys, throttling) comes from scripted ones. Cases: spec sinks 9, K-14, K-38.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "sinks/factory.h"
#include "sinks/objects/s3/s3_bucket.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::objects::s3 {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::pods;

const base::Context kContext = base::Context::background();

Reply reply(int status, std::string body = {},
            std::vector<std::pair<std::string, std::string>> headers = {}) {
  Reply out;
  out.status = status;
  out.body = std::move(body);
  out.headers = std::move(headers);
  return out;
}

Reply cut_reply() {
  auto out = reply(200, "half");
  out.close_early = true;
  return out;
}

TEST(SigV4, PublishedVectors) {
  const auto file = testing::read_case("objectstore/sigv4.json");
  for (const auto& one : file.find("cases")->as_array()) {
    const auto* keys = one.find("credentials");
    if (keys == nullptr) keys = file.find("credentials");
    const Credentials credentials{std::string(keys->text("accessKey")),
                                  base::Secret(std::string(keys->text("secretKey"))),
                                  {}};
    Signable request;
    request.method = one.text("method");
    request.path = encode_path(one.text("path"));
    for (const auto& [name, value] : one.find("query")->as_object()) {
      request.query.emplace_back(name, value.as_string());
    }
    for (const auto& [name, value] : one.find("headers")->as_object()) {
      request.headers[std::string(name)] = value.as_string();
    }
    request.payload_sha256 = base::sha256_hex(one.text("payload"));
    const SigningScope scope{testing::time_of(one.text("time")), std::string(one.text("region")),
                             std::string(one.text("service"))};
    if (one.find("requestSha256") != nullptr) {
      EXPECT_EQ(base::sha256_hex(canonical_request(request)), one.text("requestSha256"));
    }
    EXPECT_THAT(authorization(request, credentials, scope),
                AllOf(HasSubstr("Credential=" + credentials.access_key + "/"),
                      HasSubstr(", Signature=" + std::string(one.text("signature")))))
        << one.text("name");
  }
}

TEST(SigV4, PathsAndQueries) {
  EXPECT_EQ(encode_path("/b/a b/ü=+%2F~._-"), "/b/a%20b/%C3%BC%3D%2B%252F~._-");
  EXPECT_EQ(encode_query({{"b", "1 2"}, {"a", ""}, {"a-", "x/y"}}), "a=&a-=x%2Fy&b=1%202");
}

TEST(S3Endpoint, ExampleCases) {
  const auto file = testing::read_case("objectstore/s3.json");
  for (const auto& one : file.find("endpoints")->as_array()) {
    const auto made = parse_endpoint(one.text("endpoint"), false);
    ASSERT_EQ(made.has_value(), one.find("ok")->as_bool()) << one.text("endpoint");
    if (!made.has_value()) continue;
    EXPECT_EQ(made->bucket, one.text("bucket"));
    EXPECT_EQ(made->prefix, one.text("prefix"));
    EXPECT_EQ(made->service, one.text("serviceEndpoint"));
    EXPECT_EQ(made->path_style, one.find("pathStyle")->as_bool());
  }
}

TEST(S3Endpoint, HostsAndPaths) {
  const auto host = [](const char* text, bool google = false) {
    const auto made = parse_endpoint(text, google);
    return made.has_value() ? made->host("eu-central-1") + made->base_path() : made.error().message;
  };
  EXPECT_EQ(host("s3://bucket/p"), "bucket.s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(host("s3://with.dots"), "s3.eu-central-1.amazonaws.com/with.dots");
  EXPECT_EQ(host("s3://evil@x:1"), "s3.eu-central-1.amazonaws.com/evil@x:1");
  EXPECT_EQ(host("https://Store.example:443/b"), "store.example/b");
  EXPECT_EQ(host("http://store.example:443/b"), "store.example:443/b");
  EXPECT_EQ(host("gs://b/p", true), "storage.googleapis.com/b");  // K-38
  EXPECT_EQ(host("b/p", true), "storage.googleapis.com/b");
  EXPECT_EQ(parse_endpoint("s3://b", false)->host("cn-north-1"),
            "b.s3.cn-north-1.amazonaws.com.cn");
  for (const char* bad : {"", "s3://", "https://", "https://h", "ftp://h/b", "gs://b",
                          "https://user:pw@h/b", "s3://b/../c", "s3://b?x=1", "https://h/b#f"}) {
    const auto refused = parse_endpoint(bad, false);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().reason, "bad-endpoint");
    EXPECT_THAT(refused.error().message, Not(HasSubstr("pw")));
  }
}

const SecretData kSecret = {{"accessKeyID", base::Secret("AKIDEXAMPLE\n")},
                            {"secretAccessKey", base::Secret("hush-hush\r\n")}};

/// A sink for store.example that meets a scripted server there.
std::unique_ptr<Sink> sink_at(const HttpServer& server, base::json::Object spec,
                              const SecretData& secret = kSecret) {
  auto endpoint = std::string(spec.find("endpoint")->as_string());
  const std::string place = "store.example:9000";
  if (const auto at = endpoint.find(place); at != std::string::npos) {
    endpoint.replace(at, place.size(), fmt::format("store.example:{}", server.port()));
  }
  spec.set("endpoint", endpoint);
  SinkOptions options;
  options.guard_addresses = false;
  options.resolver = [](const std::string&) {
    return base::Result<std::vector<std::string>>(std::vector<std::string>{"127.0.0.1"});
  };
  auto made =
      make_snapshot_sink(testing::sink_of(base::json::Value(std::move(spec))), secret, {}, options);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.has_value() ? std::move(*made) : nullptr;
}

Reply empty_store(const Received& request) {
  if (request.method == "HEAD") return reply(request.path() == "/vault" ? 200 : 404);
  if (request.method == "GET") return reply(200, "<ListBucketResult/>");
  return reply(200);
}

TEST(S3Sink, ExampleRequests) {
  const auto file = testing::read_case("objectstore/s3.json");
  const auto facts = testing::read_case("envelope/facts.json");
  const auto rows = testing::named_rows("rows");
  for (const auto& one : file.find("exports")->as_array()) {
    const auto& wanted = *one.find("request");
    if (wanted.text("path").ends_with(".parquet")) continue;  // needs the module of Parquet
    HttpServer server(empty_store);
    const auto sink = sink_at(server, one.find("sink")->as_object());
    Export exp;
    exp.inventory = {"harbor-ops", "dock-ledger"};
    exp.generation = 5;
    exp.exported_at = testing::time_of(facts.text("exportedAt"));
    exp.cluster = one.find("sink")->text("cluster");
    exp.rows = &rows;
    const auto report = sink->export_all(kContext, {exp}, false);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    const auto put = server.received().back();
    EXPECT_EQ(put.method, wanted.text("method"));
    EXPECT_EQ(put.path(), wanted.text("path"));
    EXPECT_EQ(put.header("content-type"), wanted.text("contentType"));
    EXPECT_EQ(put.body.size(), static_cast<std::size_t>(wanted.find("bodyBytes")->as_int()));
    EXPECT_EQ(put.body, testing::read_text(testing::case_path("envelope/rows.envelope.json")));
    EXPECT_EQ(put.header("content-length"), fmt::to_string(put.body.size()));
    EXPECT_EQ(put.header("x-amz-content-sha256"), base::sha256_hex(put.body));
    EXPECT_THAT(put.header("authorization"), HasSubstr("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    for (const auto* odd : {"transfer-encoding", "expect", "x-amz-trailer", "content-encoding"}) {
      EXPECT_EQ(put.header(odd), "") << odd;
    }
  }
}

TEST(S3Sink, TheProbeAsksForTheBucket) {
  const auto probes = testing::read_case("objectstore/s3.json").find("probe")->as_array();
  HttpServer server(empty_store);
  const auto spec = testing::parse_json(
      R"({"type":"s3","endpoint":"http://store.example:9000/vault",
          "options":{"region":"eu-west-1"}})");
  ASSERT_TRUE(sink_at(server, spec.as_object())->probe(kContext).has_value());
  const auto received = server.received();
  ASSERT_EQ(received.size(), probes.size());
  EXPECT_EQ(received[0].method, probes[0].text("method"));
  EXPECT_EQ(received[0].path(), probes[0].text("path"));
  EXPECT_EQ(received[0].body, "");
  EXPECT_THAT(received[0].header("authorization"), HasSubstr("/eu-west-1/s3/aws4_request"));
}

TEST(S3Sink, SettingsBecomeHeaders) {
  HttpServer server(empty_store);
  const auto spec = testing::parse_json(
      R"({"type":"s3","endpoint":"http://store.example:9000/vault","options":{"region":"eu-west-1",
          "storageClass":"STANDARD_IA","sse":"aws:kms","sseKmsKeyId":"alias/ledger",
          "pathStyle":"false"}})");
  auto secret = kSecret;
  secret["sessionToken"] = base::Secret("session-token");
  const auto rows = pods({{"a", "b"}});
  const auto sink = sink_at(server, spec.as_object(), secret);
  const auto exp = testing::plain_export(rows);
  ASSERT_TRUE(sink->export_all(kContext, {exp}, false).has_value());
  const auto put = server.received().back();
  EXPECT_EQ(put.header("host"), fmt::format("vault.store.example:{}", server.port()));
  EXPECT_EQ(put.path(), "/inventory/x/t.json");
  EXPECT_EQ(put.header("x-amz-storage-class"), "STANDARD_IA");
  EXPECT_EQ(put.header("x-amz-server-side-encryption"), "aws:kms");
  EXPECT_EQ(put.header("x-amz-server-side-encryption-aws-kms-key-id"), "alias/ledger");
  EXPECT_EQ(put.header("x-amz-security-token"), "session-token");
  EXPECT_THAT(put.header("authorization"),
              HasSubstr("x-amz-security-token;x-amz-server-side-encryption;"));
}

TEST(S3Sink, SettingsThatCannotWork) {
  const auto refused = [](const std::string& members, const SecretData& secret = kSecret,
                          const char* type = "s3") {
    const auto spec = fmt::format(R"({{"type":"{}","endpoint":"vault"{}}})", type, members);
    const auto made =
        make_snapshot_sink(testing::sink_of(testing::parse_json(spec), "ledger"), secret, {}, {});
    EXPECT_FALSE(made.has_value()) << members;
    if (made.has_value()) return std::string();
    EXPECT_EQ(made.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_THAT(made.error().message, HasSubstr("sink ledger"));
    return made.error().message;
  };
  EXPECT_THAT(refused(R"(,"options":{"region":"EU west"})"), HasSubstr("region"));
  EXPECT_THAT(refused(R"(,"options":{"sse":"none"})"), HasSubstr("sse"));
  EXPECT_THAT(refused(R"(,"options":{"sseKmsKeyId":"k"})"), HasSubstr("aws:kms"));
  EXPECT_THAT(refused(R"(,"options":{"pathStyle":"maybe"})"), HasSubstr("pathStyle"));
  const auto odd =
      s3_options(testing::sink_of(testing::parse_json(
                     R"({"type":"s3","endpoint":"odd_bucket","options":{"pathStyle":"false"}})")),
                 kSecret, {});
  ASSERT_FALSE(odd.has_value());
  EXPECT_THAT(odd.error().message, HasSubstr("host name"));
  EXPECT_THAT(refused(R"(,"options":{"partSizeMiB":"4"})"), HasSubstr("from 5 to 1024"));
  EXPECT_THAT(refused(R"(,"options":{"storageClass":"a b"})"), HasSubstr("storageClass"));
  EXPECT_THAT(refused("", {{"accessKeyID", base::Secret("AKID")}}),
              AllOf(HasSubstr("secretAccessKey"), Not(HasSubstr("AKID"))));
  EXPECT_THAT(refused("", {{"AWS_SECRET_ACCESS_KEY", base::Secret("hush")}}),
              AllOf(HasSubstr("accessKeyID"), Not(HasSubstr("hush"))));
  EXPECT_THAT(refused(R"(,"options":{"kmsKeyName":"k"})", kSecret, "gcs"), HasSubstr("kmsKeyName"));
}

/// What a sink of type gcs at this server asks the bucket with, or the error that making it gives.
std::string asked_by_gcs(const SecretData& secret, const std::string& members = "") {
  HttpServer server(empty_store);
  const auto spec = testing::parse_json(fmt::format(
      R"({{"type":"gcs","endpoint":"http://store.example:{}/vault"{}}})", server.port(), members));
  SinkOptions options;
  options.guard_addresses = false;
  options.resolver = [](const std::string&) {
    return base::Result<std::vector<std::string>>(std::vector<std::string>{"127.0.0.1"});
  };
  const auto sink = make_snapshot_sink(testing::sink_of(spec), secret, {}, options);
  if (!sink.has_value()) return sink.error().message;
  const auto probed = (*sink)->probe(kContext);
  EXPECT_TRUE(probed.has_value()) << probed.error().message;
  const auto received = server.received();
  return received.empty() ? std::string() : received.back().header("authorization");
}

TEST(S3Sink, GcsSignsWithHmacKeysAndElseHasAToken) {
  const auto signature = HasSubstr("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/");
  EXPECT_THAT(asked_by_gcs(kSecret), signature);
  // With a token it speaks to Google alone, so here it says so: the other road was taken.
  const auto token = HasSubstr("are sent no Google token");
  EXPECT_THAT(asked_by_gcs({}), token);
  EXPECT_THAT(
      asked_by_gcs({{"credentials.json", base::Secret("{}")}}, R"(,"secretRef":{"name":"key"})"),
      token);
  auto both = kSecret;
  both.emplace("credentials.json", base::Secret("{}"));
  EXPECT_THAT(asked_by_gcs(both, R"(,"secretRef":{"name":"key"})"), token);
}

TEST(S3Sink, AddressesAreGuarded) {
  HttpServer server(empty_store);
  SinkOptions options;
  options.allow_private = true;
  options.resolver = [](const std::string&) {
    return base::Result<std::vector<std::string>>(std::vector<std::string>{"8.8.8.8", "127.0.0.1"});
  };
  const auto spec = testing::parse_json(
      fmt::format(R"({{"type":"s3","endpoint":"http://store.example:{}/vault"}})", server.port()));
  const auto sink = make_snapshot_sink(testing::sink_of(spec), kSecret, {}, options);
  ASSERT_TRUE(sink.has_value());
  const auto probed = (*sink)->probe(kContext);
  ASSERT_FALSE(probed.has_value());
  EXPECT_EQ(probed.error().reason, "address-refused");
  EXPECT_THAT(server.received(), IsEmpty());
}

ClientOptions client_options(const HttpServer& server, const std::string& region = "us-east-1") {
  ClientOptions out;
  out.endpoint = *parse_endpoint(server.url() + "/vault", false);
  out.region = region;
  out.pause = base::Duration::zero();
  return out;
}

/// A client with fixed keys. (Clients are not moved.)
struct FixedClient : Client {
  explicit FixedClient(const HttpServer& server, const std::string& region = "us-east-1")
      : Client(client_options(server, region),
               fixed_credentials({"AKIDEXAMPLE", base::Secret("hush-hush"), {}})) {}
};

Request get_object() {
  Request request;
  request.key = "a.json";
  return request;
}

std::string error_xml(const char* code, const std::string& message = "why") {
  return fmt::format("<?xml version=\"1.0\"?><Error><Code>{}</Code><Message>{}</Message></Error>",
                     code, message);
}

TEST(S3Client, ErrorsByStatusAndCode) {
  using Kind = base::ErrorKind;
  struct Case {
    int status;
    const char* code;
    Kind kind;
    std::size_t requests;
  };
  for (const auto& one :
       {Case{400, "InvalidArgument", Kind::kTerminal, 1},
        Case{403, "AccessDenied", Kind::kDenied, 1},
        Case{403, "SignatureDoesNotMatch", Kind::kDenied, 1},
        Case{403, "InvalidAccessKeyId", Kind::kDenied, 1},
        Case{404, "NoSuchBucket", Kind::kTerminal, 1},
        Case{400, "RequestTimeout", Kind::kRetryable, 3}, Case{408, "", Kind::kRetryable, 3},
        Case{429, "", Kind::kRetryable, 3}, Case{500, "InternalError", Kind::kRetryable, 3},
        Case{503, "SlowDown", Kind::kRetryable, 3}}) {
    HttpServer server([&](const Received&) {
      return reply(one.status, error_xml(one.code, "see\nAKIDEXAMPLE"));
    });
    FixedClient client(server);
    const auto answer = client.send(kContext, get_object());
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().kind, one.kind) << one.code;
    EXPECT_THAT(answer.error().message,
                AllOf(HasSubstr("/vault/a.json"), HasSubstr(fmt::to_string(one.status)),
                      HasSubstr(one.code), HasSubstr("see ***"), Not(HasSubstr("\n"))));
    EXPECT_EQ(server.received().size(), one.requests) << one.code;
  }
}

TEST(S3Client, WhatPassesIsTriedAgainWithTheSameBody) {
  std::atomic<int> number = 0;
  HttpServer server([&](const Received&) {
    const int now = ++number;
    if (now == 1) return reply(503, error_xml("SlowDown"));
    if (now == 2) return cut_reply();
    return reply(200);
  });
  FixedClient client(server);
  const std::string body(200'000, 'b');
  auto request = get_object();
  request.method = "PUT";
  request.body = body;
  ASSERT_TRUE(client.send(kContext, request).has_value());
  const auto received = server.received();
  ASSERT_EQ(received.size(), 3U);
  for (const auto& one : received) EXPECT_EQ(one.body, body);
}

TEST(S3Client, TheRegionIsFoundOut) {
  HttpServer server([](const Received& r) {
    if (r.header("authorization").find("/eu-north-1/") == std::string::npos) {
      return reply(301, {}, {{"x-amz-bucket-region", "eu-north-1"}});
    }
    return reply(200);
  });
  for (const char* told : {"", "us-west-2"}) {
    FixedClient client(server, told);
    ASSERT_TRUE(client.send(kContext, get_object()).has_value());
    EXPECT_EQ(client.region(), "eu-north-1");
  }
  HttpServer malformed([](const Received& r) {
    if (r.header("authorization").find("/eu-north-1/") != std::string::npos) return reply(200);
    return reply(400,
                 "<Error><Code>AuthorizationHeaderMalformed</Code>"
                 "<Region>eu-north-1</Region></Error>");
  });
  FixedClient client(malformed);
  ASSERT_TRUE(client.send(kContext, get_object()).has_value());
  // What is no name of a region never gets into a host.
  HttpServer odd([](const Received&) {
    return reply(301, {}, {{"x-amz-bucket-region", "evil.example/"}});
  });
  FixedClient other(odd);
  EXPECT_FALSE(other.send(kContext, get_object()).has_value());
  EXPECT_EQ(other.region(), "us-east-1");
}

/// Keys that are renewed once.
class Renewed final : public CredentialSource {
 public:
  base::Result<Credentials> get(const base::Context& /*context*/) override {
    return Credentials{number_ == 0 ? "OLD" : "NEW", base::Secret("s"), base::Secret("t")};
  }
  bool renew() override { return ++number_ == 1; }

 private:
  int number_ = 0;
};

TEST(S3Client, ExpiredKeysAreRenewedOnce) {
  HttpServer server([](const Received& r) {
    if (r.header("authorization").find("NEW") != std::string::npos) return reply(200);
    return reply(400, error_xml("ExpiredToken"));
  });
  Client client(client_options(server), std::make_unique<Renewed>());
  ASSERT_TRUE(client.send(kContext, get_object()).has_value());
  HttpServer never([](const Received&) { return reply(400, error_xml("ExpiredToken")); });
  Client other(client_options(never), std::make_unique<Renewed>());
  const auto refused = other.send(kContext, get_object());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(never.received().size(), 2U);
}

std::unique_ptr<Bucket> bucket_at(const HttpServer& server) {
  BucketOptions options;
  options.part_bytes = 1024;
  return make_bucket(std::make_shared<Client>(client_options(server),
                                              fixed_credentials({"A", base::Secret("s"), {}})),
                     options);
}

TEST(S3Bucket, MetadataUnderEitherPrefix) {
  HttpServer server([](const Received&) {
    return reply(200, {},
                 {{"x-amz-meta-kollect-checksum", "a"}, {"X-Goog-Meta-Kollect-Cluster", "b"}});
  });
  const auto info = bucket_at(server)->head(kContext, "k");
  ASSERT_TRUE(info.has_value() && info->has_value());
  EXPECT_EQ((*info)->metadata, (std::map<std::string, std::string>{{"kollect-checksum", "a"},
                                                                   {"kollect-cluster", "b"}}));
}

TEST(S3Bucket, GoogleSinksWithHmacKeys) {
  HttpServer server(empty_store);
  const auto spec = testing::parse_json(
      R"({"type":"gcs","endpoint":"http://store.example:9000/vault",
          "options":{"storageClass":"NEARLINE","retainGenerations":"3"}})");
  const auto rows = pods({{"a", "b"}});
  const auto report =
      sink_at(server, spec.as_object())->export_all(kContext, {testing::plain_export(rows)}, false);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto put = server.received().back();
  EXPECT_EQ(put.header("x-amz-storage-class"), "NEARLINE");
  EXPECT_THAT(put.header("authorization"), HasSubstr("/auto/s3/aws4_request"));
}

TEST(S3Bucket, ListsInPages) {
  HttpServer server([](const Received& r) {
    const auto token = r.query("continuation-token");
    if (token.empty()) {
      return reply(200,
                   "<ListBucketResult><EncodingType>url</EncodingType>"
                   "<IsTruncated>true</IsTruncated>"
                   "<NextContinuationToken>t/1=</NextContinuationToken>"
                   "<Contents><Key>p/b+c%2B</Key><Size>3</Size></Contents></ListBucketResult>");
    }
    EXPECT_EQ(token, "t/1=");
    return reply(200,
                 "<ListBucketResult><IsTruncated>false</IsTruncated>"
                 "<Contents><Key>p/a+</Key></Contents></ListBucketResult>");
  });
  const auto listed = bucket_at(server)->list(kContext, "p/");
  ASSERT_TRUE(listed.has_value()) << listed.error().message;
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ((*listed)[0].key, "p/a+");
  EXPECT_EQ((*listed)[1].key, "p/b c+");
  EXPECT_EQ((*listed)[1].bytes, 3U);
  // A page that leads nowhere is no complete list.
  HttpServer endless([](const Received&) {
    return reply(200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>");
  });
  EXPECT_FALSE(bucket_at(endless)->list(kContext, "p/").has_value());
}

Reply answer_to_upload(const Received& r) {
  if (r.method == "GET") {
    return reply(200,
                 "<R><Upload><Key>k</Key><UploadId>left</UploadId></Upload>"
                 "<Upload><Key>k2</Key><UploadId>other</UploadId></Upload></R>");
  }
  if (r.method == "POST" && r.target.find("uploads=") != std::string::npos) {
    return reply(200, "<R><UploadId>u-1</UploadId></R>");
  }
  if (r.method == "PUT") return reply(200, {}, {{"ETag", "\"tag\""}});
  return reply(204);
}

std::vector<std::string> deletes(const HttpServer& server) {
  std::vector<std::string> out;
  for (const auto& one : server.received()) {
    if (one.method == "DELETE") out.push_back(one.target);
  }
  return out;
}

TEST(S3Bucket, FailedAndLeftOverUploadsAreAborted) {
  HttpServer server([](const Received& r) {
    if (r.method == "PUT" && r.query("partNumber") == "2") return reply(400);
    return answer_to_upload(r);
  });
  {
    auto upload = bucket_at(server)->start_upload(kContext, "k", {});
    ASSERT_TRUE(upload.has_value());
    EXPECT_THAT(deletes(server), ElementsAre("/vault/k?uploadId=left"));
    const auto written = (*upload)->write(kContext, std::string(3000, 'x'));
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().kind, base::ErrorKind::kTerminal);
  }
  EXPECT_THAT(deletes(server), ElementsAre("/vault/k?uploadId=left", "/vault/k?uploadId=u-1"));
}

TEST(S3Bucket, AFailureInsideOfAnAnswerIsSeen) {
  HttpServer server([](const Received& r) {
    if (r.method == "POST" && r.query("uploadId") == "u-1") {
      return reply(200, error_xml("InternalError"));
    }
    return answer_to_upload(r);
  });
  auto upload = bucket_at(server)->start_upload(kContext, "k", {});
  ASSERT_TRUE(upload.has_value());
  ASSERT_TRUE((*upload)->write(kContext, std::string(3000, 'x')).has_value());
  const auto finished = (*upload)->finish(kContext);
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().kind, base::ErrorKind::kRetryable);
}

TEST(S3Bucket, ALostAnswerToTheEndOfAnUpload) {
  for (const char* there : {"sum", "another"}) {
    HttpServer server([&](const Received& r) {
      if (r.method == "POST" && r.query("uploadId") == "u-1") {
        return reply(404, error_xml("NoSuchUpload"));
      }
      if (r.method == "HEAD") return reply(200, {}, {{"x-amz-meta-kollect-checksum", there}});
      return answer_to_upload(r);
    });
    auto upload = bucket_at(server)->start_upload(kContext, "k", {"", "", {{kChecksumKey, "sum"}}});
    ASSERT_TRUE(upload.has_value());
    ASSERT_TRUE((*upload)->write(kContext, std::string(3000, 'x')).has_value());
    EXPECT_EQ((*upload)->finish(kContext).has_value(), std::string_view(there) == "sum");
  }
}

TEST(S3Sink, WithoutTheRightsToReadItStillWrites) {
  HttpServer server([](const Received& r) { return reply(r.method == "PUT" ? 200 : 403); });
  const auto spec = testing::parse_json(
      R"({"type":"s3","endpoint":"http://store.example:9000/vault",
          "options":{"region":"eu-west-1"}})");
  const auto rows = pods({{"a", "b"}});
  const auto report =
      sink_at(server, spec.as_object())->export_all(kContext, {testing::plain_export(rows)}, false);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, 1U);
  EXPECT_THAT(report->warnings, ElementsAre(HasSubstr("no right to list")));
}

}  // namespace
}  // namespace kollect::sinks::objects::s3
