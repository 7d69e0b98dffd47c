// Azure Blob Storage without a server: endpoints, signatures, credentials, classes of errors.
#include <gmock/gmock.h>

#include <fstream>

#include "base/hash.h"
#include "sinks/objects/azure/azure_bucket.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::objects::azure {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

struct EndpointCase {
  std::string text;
  std::string account;  ///< of options or Secret
  std::string wanted;   ///< "service path prefix account", or a part of the error
};

TEST(AzureEndpoint, Forms) {
  const std::vector<EndpointCase> cases = {
      {"https://acct.blob.core.windows.net/lake", "",
       "https://acct.blob.core.windows.net|/lake||acct"},
      {" https://ACCT.blob.core.windows.net:443/lake/a//b/ ", "",
       "https://acct.blob.core.windows.net|/lake|a/b|acct"},
      {"https://acct.z12.blob.storage.azure.net/lake", "",
       "https://acct.z12.blob.storage.azure.net|/lake||acct"},
      {"https://acct.blob.core.usgovcloudapi.net/$web/x", "acct",
       "https://acct.blob.core.usgovcloudapi.net|/$web|x|acct"},
      {"az://lake/a", "acct", "https://acct.blob.core.windows.net|/lake|a|acct"},
      {"lake/a", "acct", "https://acct.blob.core.windows.net|/lake|a|acct"},
      {"http://127.0.0.1:10000/devstoreaccount1/lake/a", "",
       "http://127.0.0.1:10000|/devstoreaccount1/lake|a|devstoreaccount1"},
      {"http://127.0.0.1:10000/devstoreaccount1/lake", "devstoreaccount1",
       "http://127.0.0.1:10000|/devstoreaccount1/lake||devstoreaccount1"},
      {"https://blobs.example.com/lake/a", "acct", "https://blobs.example.com|/lake|a|acct"},
      {"az://lake", "", "names no storage account"},
      {"https://acct.blob.core.windows.net", "", "names no container"},
      {"https://acct.blob.core.windows.net/lake", "other", "is of the account \"acct\""},
      {"https://acct.blob.core.windows.net/La_ke", "", "has the container \"La_ke\""},
      {"https://acct.blob.core.windows.net/lake?sv=1&sig=2", "", "belongs into the Secret"},
      {"https://u:p@acct.blob.core.windows.net/lake", "", "user information"},
      {"https://acct.blob.core.windows.net/lake/../x", "", "\"..\""},
      {"s3://lake", "acct", "scheme \"s3\""},
      {"https:///lake", "acct", "has no host"},
      {"", "acct", "names no container"},
  };
  for (const auto& one : cases) {
    const auto found = parse_endpoint(one.text, one.account);
    if (found.has_value()) {
      EXPECT_EQ(fmt::format("{}|{}|{}|{}", found->service, found->base_path(), found->prefix,
                            found->account),
                one.wanted)
          << one.text;
    } else {
      EXPECT_THAT(found.error().message, HasSubstr(one.wanted)) << one.text;
      EXPECT_EQ(found.error().kind, base::ErrorKind::kConfiguration);
      EXPECT_THAT(found.error().message, Not(HasSubstr("sig=2")));
    }
  }
}

TEST(AzureEndpoint, OwnDomains) {
  const auto is_azure = [](std::string_view text) {
    const auto found = parse_endpoint(text, "");
    return found.has_value() && found->is_azure();
  };
  EXPECT_TRUE(is_azure("https://acct.blob.core.windows.net/lake"));
  EXPECT_TRUE(is_azure("https://acct.z1.blob.storage.azure.net/lake"));
  EXPECT_FALSE(is_azure("http://acct.blob.core.windows.net/lake"));
  EXPECT_FALSE(is_azure("https://acct.blob.core.windows.net.evil.example/lake"));
  EXPECT_FALSE(is_azure("https://acct.blob.core.windows.net:8443/lake"));
  EXPECT_FALSE(is_azure("https://127.0.0.1/acct/lake"));
}

TEST(AzureSharedKey, TextThatIsSigned) {
  Signable request;
  request.method = "PUT";
  request.path = encode_path("/lake/a b/ü?.json");
  request.query = {{"timeout", "20"}, {"comp", "block"}, {"blockid", "YQ=="}};
  request.headers = {{"x-ms-version", "2021-12-02"},
                     {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"},
                     {"x-ms-meta-kollect_checksum", " abc "},
                     {"content-type", "text/plain"}};
  request.body_bytes = 11;
  EXPECT_EQ(string_to_sign(request, "acct"),
            "PUT\n\n\n11\n\ntext/plain\n\n\n\n\n\n\n"
            "x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
            "x-ms-meta-kollect_checksum:abc\n"
            "x-ms-version:2021-12-02\n"
            "/acct/lake/a%20b/%C3%BC%3F.json\nblockid:YQ==\ncomp:block\ntimeout:20");
  const auto value = shared_key_authorization(request, "acct", "key");
  EXPECT_THAT(value, ::testing::StartsWith("SharedKey acct:"));
  EXPECT_EQ(base::base64_decode(value.substr(15)).value_or("").size(), 32U);
}

TEST(AzureErrors, Classes) {
  const auto kind = [](int status, std::string_view code) {
    return classify(status, code, "x").kind;
  };
  EXPECT_EQ(kind(403, "AuthenticationFailed"), base::ErrorKind::kDenied);
  EXPECT_EQ(kind(401, ""), base::ErrorKind::kDenied);
  EXPECT_EQ(kind(400, "InvalidAuthenticationInfo"), base::ErrorKind::kDenied);
  EXPECT_EQ(kind(400, "InvalidBlockList"), base::ErrorKind::kRetryable);
  EXPECT_EQ(kind(404, "ContainerNotFound"), base::ErrorKind::kTerminal);
  EXPECT_EQ(classify(404, "ContainerNotFound", "x").reason, kNoBucket);
  EXPECT_EQ(kind(400, "InvalidHeaderValue"), base::ErrorKind::kTerminal);
  EXPECT_EQ(kind(412, "LeaseIdMissing"), base::ErrorKind::kTerminal);
  EXPECT_EQ(kind(409, "ContainerBeingDeleted"), base::ErrorKind::kRetryable);
  for (const int status : {408, 429, 500, 503}) {
    EXPECT_EQ(kind(status, ""), base::ErrorKind::kRetryable) << status;
  }
  EXPECT_EQ(classify(503, "ServerBusy", "x").reason, "throttled");
}

SecretData secret(std::initializer_list<std::pair<const char*, const char*>> entries) {
  SecretData out;
  for (const auto& [key, value] : entries) out[key] = base::Secret(value);
  return out;
}

TEST(AzureSecret, Keys) {
  auto parts = secret_parts(secret({{"accountName", "acct\n"}, {"accountKey", "a2V5\r\n"}}));
  ASSERT_TRUE(parts.has_value()) << parts.error().message;
  EXPECT_EQ(parts->account, "acct");
  EXPECT_EQ(parts->key->reveal(), "key");
  parts = secret_parts(secret({{"AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=a%2Bb\n"}}));
  ASSERT_TRUE(parts.has_value()) << parts.error().message;
  EXPECT_EQ(parts->sas->reveal(), "sv=1&sig=a%2Bb");
  parts = secret_parts({});
  ASSERT_TRUE(parts.has_value());
  EXPECT_FALSE(parts->key || parts->sas);
  for (const auto& [data, named] :
       {std::pair(secret({{"accountKey", "not*base64"}}), "accountKey is no base64"),
        std::pair(secret({{"sasToken", "sv=1"}}), "sasToken is no shared access signature"),
        std::pair(secret({{"sasToken", "sv=1&sig=x y"}}), "sasToken is no shared access"),
        std::pair(secret({{"accountKey", "a2V5"}, {"sasToken", "sig=1"}}),
                  "both accountKey and sasToken")}) {
    const auto refused = secret_parts(data);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().reason, "bad-secret");
    EXPECT_THAT(refused.error().message, HasSubstr(named));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("not*base64")));
  }
}

api::SnapshotSink sink(const std::string& endpoint,
                       const std::map<std::string, std::string>& options = {}) {
  api::SnapshotSink out;
  out.metadata.name = "lake";
  out.spec.type = "azureblob";
  out.spec.endpoint = endpoint;
  out.spec.options = options;
  return out;
}

TEST(AzureOptions, AreReadAndChecked) {
  const auto made = azure_options(
      sink("az://lake/pre/", {{"account", "acct"}, {"accessTier", "Cool"}, {"partSizeMiB", "2"}}),
      secret({{"accountKey", "a2V5"}}), std::nullopt);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->objects.prefix, "pre");
  EXPECT_EQ(made->objects.shown, "https://acct.blob.core.windows.net/lake");
  EXPECT_EQ(made->bucket.access_tier, "Cool");
  EXPECT_EQ(made->bucket.part_bytes, std::size_t{2} << 20U);
  for (const auto& [options, named] :
       {std::pair(std::map<std::string, std::string>{{"accessTier", "Archive"}}, "accessTier"),
        std::pair(std::map<std::string, std::string>{{"partSizeMiB", "0"}}, "partSizeMiB"),
        std::pair(std::map<std::string, std::string>{{"createBucket", "yes"}}, "createBucket")}) {
    const auto refused =
        azure_options(sink("https://acct.blob.core.windows.net/lake", options), {}, std::nullopt);
    ASSERT_FALSE(refused.has_value()) << named;
    EXPECT_THAT(refused.error().message, HasSubstr(named));
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kConfiguration);
  }
}

TEST(AzureOptions, OwnIdentityGoesToAzureAlone) {
  const auto make = [](const std::string& endpoint, const SecretData& data) {
    auto options = azure_options(sink(endpoint), data, std::nullopt);
    EXPECT_TRUE(options.has_value()) << options.error().message;
    return make_azure_sink(std::move(*options));
  };
  EXPECT_TRUE(make("https://acct.blob.core.windows.net/lake", {}).has_value());
  for (const auto* endpoint :
       {"https://evil.example/acct/lake", "http://acct.blob.core.windows.net/lake"}) {
    const auto refused = make(endpoint, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().reason, "no-credentials");
    EXPECT_THAT(refused.error().message, HasSubstr("accountKey or sasToken"));
    EXPECT_TRUE(make(endpoint, secret({{"accountKey", "a2V5"}})).has_value());
  }
}

/// An issuer of tokens, and what it was asked.
class Issuer {
 public:
  Issuer()
      : server_([this](const Received& request) {
          const std::scoped_lock lock(mutex_);
          asked_.push_back(request);
          return Reply::json(answer_, status_);
        }) {}
  std::string url() const { return server_.url(); }
  void answers(std::string text, int status = 200) {
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(text);
    status_ = status;
  }
  std::vector<Received> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::vector<Received> asked_;
  std::string answer_ = R"({"access_token":"t0ken-1","expires_in":3600})";
  int status_ = 200;
  HttpServer server_;
};

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string allowed(Authority& authority, const base::Context& context) {
  Signable request;
  std::string extra;
  const auto done = authority.allow(context, request, extra);
  return done.has_value() ? request.headers["authorization"] : "error: " + done.error().message;
}

TEST(AzureIdentity, WorkloadIdentityIsExchanged) {
  Issuer issuer;
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("federated-token-{}", ::getpid());
  std::ofstream(file) << "the.platforms.token\n";
  const base::ManualClock clock(sinks::testing::time_of("2026-02-03T04:05:06Z"));
  const base::Context context(clock, {});
  const auto authority =
      by_own_identity(environment({{"AZURE_FEDERATED_TOKEN_FILE", file},
                                   {"AZURE_CLIENT_ID", "client"},
                                   {"AZURE_TENANT_ID", "tenant"},
                                   {"AZURE_AUTHORITY_HOST", issuer.url() + "/"}}));
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-1");
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-1");
  ASSERT_EQ(issuer.asked().size(), 1U);
  EXPECT_EQ(issuer.asked()[0].method, "POST");
  EXPECT_EQ(issuer.asked()[0].target, "/tenant/oauth2/v2.0/token");
  EXPECT_EQ(issuer.asked()[0].body,
            "grant_type=client_credentials&client_id=client"
            "&scope=https%3A%2F%2Fstorage.azure.com%2F.default&client_assertion_type="
            "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
            "&client_assertion=the.platforms.token");
  // Near its end it is renewed, with what the file holds then.
  std::ofstream(file) << "a.newer.token";
  issuer.answers(R"({"access_token":"t0ken-2","expires_in":3600})");
  clock.advance(std::chrono::minutes(56));
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-2");
  EXPECT_THAT(issuer.asked().back().body, ::testing::EndsWith("a.newer.token"));
  // An issuer that is down does no harm while the old one is good.
  issuer.answers("{}", 503);
  clock.advance(std::chrono::minutes(57));
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-2");
  clock.advance(std::chrono::minutes(4));
  EXPECT_THAT(allowed(*authority, context), HasSubstr("token exchange) answered 503"));
  issuer.answers(R"({"error_description":"the.platforms.token is bad"})", 401);
  EXPECT_EQ(allowed(*authority, context), "error: workload identity (token exchange) answered 401");
  issuer.answers(R"({"access_token":"t0ken-3","expires_in":"3600"})");
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-3");
  EXPECT_TRUE(authority->renew());
  EXPECT_FALSE(authority->renew());
  std::filesystem::remove(file);
}

TEST(AzureIdentity, ManagedIdentities) {
  Issuer issuer;
  const auto context = base::Context::background();
  auto authority = by_own_identity(environment(
      {{"IDENTITY_ENDPOINT", issuer.url() + "/msi/token"}, {"IDENTITY_HEADER", "h3ader"}}));
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-1");
  EXPECT_EQ(issuer.asked().back().target,
            "/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fstorage.azure.com%2F");
  EXPECT_EQ(issuer.asked().back().header("x-identity-header"), "h3ader");
  authority = by_own_identity(environment(
      {{"AZURE_POD_IDENTITY_AUTHORITY_HOST", issuer.url()}, {"AZURE_CLIENT_ID", "client"}}));
  EXPECT_EQ(allowed(*authority, context), "Bearer t0ken-1");
  EXPECT_EQ(issuer.asked().back().target,
            "/metadata/identity/oauth2/token?api-version=2018-02-01"
            "&resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=client");
  EXPECT_EQ(issuer.asked().back().header("metadata"), "true");
  const auto nobody = fmt::format("http://127.0.0.1:{}", kollect::testing::dead_port());
  authority = by_own_identity(environment({{"AZURE_POD_IDENTITY_AUTHORITY_HOST", nobody}}));
  EXPECT_THAT(allowed(*authority, context), HasSubstr("neither accountKey nor sasToken"));
}

TEST(AzureIdentity, MistakesAreNamed) {
  const auto context = base::Context::background();
  auto authority = by_own_identity(
      environment({{"AZURE_FEDERATED_TOKEN_FILE", "/nowhere"}, {"AZURE_CLIENT_ID", "c"}}));
  EXPECT_THAT(allowed(*authority, context), HasSubstr("AZURE_TENANT_ID"));
  authority = by_own_identity(environment({{"AZURE_FEDERATED_TOKEN_FILE", "/nowhere"},
                                           {"AZURE_CLIENT_ID", "c"},
                                           {"AZURE_TENANT_ID", "t"},
                                           {"AZURE_AUTHORITY_HOST", "http://login.example"}}));
  EXPECT_THAT(allowed(*authority, context), HasSubstr("AZURE_AUTHORITY_HOST must be https"));
}

/// A service that always says the same.
class AzureClient : public ::testing::Test {
 protected:
  AzureClient()
      : server_([this](const Received& request) {
          last_ = request;
          ++requests_;
          Reply out;
          out.status = status_;
          out.headers = {{"x-ms-error-code", code_}};
          out.body = "<Error><Message>sig=s3cret was signed</Message></Error>";
          return out;
        }) {}
  base::Error fails(int status, const std::string& code) {
    status_ = status;
    code_ = code;
    requests_ = 0;
    ClientOptions options;
    options.endpoint = *parse_endpoint(server_.url() + "/acct/lake", "");
    options.pause = base::Duration::zero();
    Client client(std::move(options), by_signature(base::Secret("sv=1&sig=s3cret")));
    Request request;
    request.key = "a b";
    const auto answer = client.send(base::Context::background(), request);
    EXPECT_FALSE(answer.has_value());
    return answer.has_value() ? base::Error{} : answer.error();
  }

  Received last_;
  std::atomic<int> requests_ = 0;
  int status_ = 200;
  std::string code_;
  HttpServer server_;
};

TEST_F(AzureClient, WhatMayPassIsTriedThreeTimes) {
  const auto error = fails(503, "ServerBusy");
  EXPECT_EQ(requests_, 3);
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(last_.target, "/acct/lake/a%20b?sv=1&sig=s3cret");
  EXPECT_EQ(fails(403, "AuthenticationFailed").kind, base::ErrorKind::kDenied);
  EXPECT_EQ(requests_, 1);
}

TEST_F(AzureClient, ErrorsRepeatNothingButTheCode) {
  const auto error = fails(403, "AuthenticationFailed");
  EXPECT_EQ(error.message,
            fmt::format("GET {}/acct/lake/a b: 403 AuthenticationFailed; check accountKey or "
                        "sasToken, and the clock of this machine",
                        server_.url()));
  EXPECT_EQ(fails(400, "sig=s3cret").message,
            fmt::format("GET {}/acct/lake/a b: 400", server_.url()));
}

TEST(AzureGuard, AddressesAreChecked) {
  ClientOptions options;
  options.endpoint = *parse_endpoint("http://127.0.0.1:9/acct/lake", "");
  options.guard = std::make_shared<const base::AddressGuard>(false);
  options.pause = base::Duration::zero();
  Client refused(options, by_signature(base::Secret("sig=s3cret")));
  auto answer = refused.send(base::Context::background(), {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kDenied);
  // One forbidden address among the answers is enough.
  options.endpoint = *parse_endpoint("https://acct.blob.core.windows.net/lake", "");
  options.resolver = [](const std::string& host) -> base::Result<std::vector<std::string>> {
    EXPECT_EQ(host, "acct.blob.core.windows.net");
    return std::vector<std::string>{"93.184.216.34", "169.254.169.254"};
  };
  Client mixed(options, by_signature(base::Secret("sig=s3cret")));
  answer = mixed.send(base::Context::background(), {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kDenied);
  EXPECT_THAT(answer.error().message, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace kollect::sinks::objects::azure
