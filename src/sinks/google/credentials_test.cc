#include "sinks/google/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <atomic>
#include <memory>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/google/jwt.h"
#include "support/http_server.h"

namespace kollect::sinks::google {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScope = "https://www.googleapis.com/auth/bigquery";
constexpr const char* kEmail = "writer@pier-project.iam.gserviceaccount.com";

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

/// One key for all tests: making them takes long.
EVP_PKEY* key() {
  static const std::unique_ptr<EVP_PKEY, FreeKey> made(EVP_RSA_gen(2048));
  return made.get();
}

std::string key_pem() {
  BIO* bio = BIO_new(BIO_s_mem());
  EXPECT_EQ(PEM_write_bio_PrivateKey(bio, key(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string decode(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '-', '+');
  std::replace(plain.begin(), plain.end(), '_', '/');
  while (plain.size() % 4 != 0) plain += '=';
  return base::base64_decode(plain).value_or("");
}

/// Whether the token was signed with key(); its claims.
bool verify(const std::string& token, base::json::Value& header, base::json::Value& claims) {
  const auto parts = base::split(token, '.');
  if (parts.size() != 3) return false;
  const std::string text = std::string(parts[0]) + "." + std::string(parts[1]);
  const std::string signature = decode(parts[2]);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key()) != 1 ||
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()) != 1) {
    return false;
  }
  header = base::json::to_value(base::json::Document::parse(decode(parts[0]))->root());
  claims = base::json::to_value(base::json::Document::parse(decode(parts[1]))->root());
  return true;
}

std::string form_member(const std::string& body, const std::string& name) {
  for (const auto part : base::split(body, '&')) {
    if (part.starts_with(name + "=")) {
      return base::percent_decode(part.substr(name.size() + 1)).value_or("");
    }
  }
  return {};
}

std::string key_file(const std::string& token_uri, const std::string& type = "service_account") {
  base::json::Object out;
  out.set("type", type);
  out.set("client_email", kEmail);
  out.set("private_key_id", "key-7");
  out.set("private_key", key_pem());
  out.set("token_uri", token_uri);
  return base::json::compact(base::json::Value(out));
}

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest()
      : clock_(base::WallTime(std::chrono::seconds(1'700'000'000))), context_(clock_, {}) {}

  /// A token endpoint that accepts what is signed with key().
  Reply token_endpoint(const Received& request) {
    ++asked_;
    base::json::Value header;
    base::json::Value claims;
    if (form_member(request.body, "grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" ||
        !verify(form_member(request.body, "assertion"), header, claims)) {
      return Reply::json(R"({"error":"invalid_grant","error_description":"no"})", 400);
    }
    header_ = header;
    claims_ = claims;
    return Reply::json(fmt::format(
        R"({{"access_token":"token-{}","expires_in":3599,"token_type":"Bearer"}})", asked_.load()));
  }
  std::string must(base::Result<base::Secret> token) {
    EXPECT_TRUE(token.has_value()) << token.error().message;
    return token.has_value() ? token->reveal() : "";
  }
  Environment environment(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
      const auto found = values.find(name);
      if (found == values.end()) return std::nullopt;
      return found->second;
    };
  }

  base::ManualClock clock_;
  base::Context context_;
  std::atomic<int> asked_ = 0;
  base::json::Value header_;
  base::json::Value claims_;
};

TEST_F(CredentialsTest, AKeySignsItsAssertion) {
  HttpServer server([this](const Received& request) { return token_endpoint(request); });
  const std::string uri = server.url() + "/token";
  auto made = key_credentials(base::Secret(key_file(uri)), {});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(must((*made)->token(context_, kScope)), "token-1");
  EXPECT_EQ(base::json::canonical(header_), R"({"alg":"RS256","kid":"key-7","typ":"JWT"})");
  EXPECT_EQ(
      base::json::canonical(claims_),
      fmt::format(R"({{"aud":"{}","exp":1700003600,"iat":1700000000,"iss":"{}","scope":"{}"}})",
                  uri, kEmail, kScope));
}

TEST_F(CredentialsTest, TokensAreKeptPerScopeUntilShortlyBeforeTheirEnd) {
  HttpServer server([this](const Received& request) { return token_endpoint(request); });
  const auto made = *key_credentials(base::Secret(key_file(server.url())), {});
  EXPECT_EQ(must(made->token(context_, kScope)), "token-1");
  EXPECT_EQ(must(made->token(context_, kScope)), "token-1");
  EXPECT_EQ(must(made->token(context_, "other")), "token-2");
  clock_.advance(std::chrono::seconds(3298));
  EXPECT_EQ(must(made->token(context_, kScope)), "token-1");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(must(made->token(context_, kScope)), "token-3");
  made->forget(kScope);
  EXPECT_EQ(must(made->token(context_, kScope)), "token-4");
}

TEST_F(CredentialsTest, ARefusalNamesNothingOfTheSecret) {
  // What was sent comes back: nothing of it may be shown.
  HttpServer server([](const Received& request) {
    return Reply::json(R"({"error":"invalid_grant","error_description":")" + request.body + "\"}",
                       400);
  });
  const auto made = *key_credentials(base::Secret(key_file(server.url())), {});
  const auto token = made->token(context_, kScope);
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(token.error().reason, "auth");
  EXPECT_EQ(token.error().message,
            "the token endpoint of the service account's key gives no token (status 400, "
            "invalid_grant)");
  EXPECT_EQ(made->mask(std::string("user ") + kEmail + " may not"), "user *** may not");
}

TEST_F(CredentialsTest, AnEndpointThatIsDownIsAPassingFailure) {
  for (const int status : {429, 500, 503}) {
    HttpServer server([status](const Received&) { return Reply::json("{}", status); });
    const auto made = *key_credentials(base::Secret(key_file(server.url())), {});
    const auto token = made->token(context_, kScope);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().kind, base::ErrorKind::kRetryable) << status;
  }
}

TEST_F(CredentialsTest, OnlyKeysOfServiceAccountsAreTakenFromASecret) {
  const auto refused = [](const std::string& text) {
    const auto made = key_credentials(base::Secret(text), {});
    EXPECT_FALSE(made.has_value()) << text.substr(0, 40);
    return made.has_value() ? "" : made.error().message;
  };
  const std::string uri = "https://oauth2.googleapis.com/token";
  EXPECT_EQ(refused(key_file(uri, "external_account")),
            "credentials.json is not the key file of a service account");
  EXPECT_EQ(refused("{\"private_key\": \"s3cret"), "credentials.json is not a JSON object");
  EXPECT_EQ(refused(R"({"type":"service_account","private_key":"x"})"),
            "credentials.json: client_email is missing");
  EXPECT_EQ(refused(R"({"type":"service_account","client_email":"a","private_key":"s3cret"})"),
            "credentials.json: private_key is not an RSA key in PEM form");
  for (const char* unsafe : {"http://token.example/x", "http://127.0.0.1:80@token.example/x"}) {
    EXPECT_EQ(refused(key_file(unsafe)), "credentials.json: token_uri must be an https URL");
  }
}

TEST_F(CredentialsTest, TheTokenEndpointOfAKeyIsGuarded) {
  HttpServer server([this](const Received& request) { return token_endpoint(request); });
  Network network;
  network.guard = std::make_shared<const base::AddressGuard>(false);
  const auto made = *key_credentials(base::Secret(key_file(server.url())), network);
  const auto token = made->token(context_, kScope);
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().reason, "address-refused");
  EXPECT_EQ(asked_, 0);
}

TEST_F(CredentialsTest, TheMetadataServerIsAskedWhenThereIsNothingElse) {
  HttpServer server([this](const Received& request) {
    ++asked_;
    if (request.header("metadata-flavor") != "Google") return Reply::json("{}", 403);
    EXPECT_EQ(request.path(), "/computeMetadata/v1/instance/service-accounts/default/token");
    return Reply::json("{\"access_token\":\"" + request.query("scopes") + "\",\"expires_in\":600}");
  });
  Network network;
  network.guard = std::make_shared<const base::AddressGuard>(false);  // platform: exempt
  const auto made =
      ambient_credentials(environment({{"GCE_METADATA_HOST", server.url().substr(7)}}), network);
  EXPECT_EQ(must(made->token(context_, kScope)), kScope);
  clock_.advance(std::chrono::seconds(299));
  must(made->token(context_, kScope));
  EXPECT_EQ(asked_, 1);
  clock_.advance(std::chrono::seconds(1));
  must(made->token(context_, kScope));
  EXPECT_EQ(asked_, 2);
}

TEST_F(CredentialsTest, NothingAnywhereSaysWhereToPutThem) {
  const auto made = ambient_credentials(
      environment(
          {{"GCE_METADATA_HOST", fmt::format("127.0.0.1:{}", kollect::testing::dead_port())}}),
      {});
  const auto token = made->token(context_, kScope);
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().kind, base::ErrorKind::kRetryable);
  EXPECT_THAT(token.error().message, HasSubstr("GOOGLE_APPLICATION_CREDENTIALS is not set"));
}

TEST_F(CredentialsTest, AFileOfTheEnvironmentIsReadAnewForEachToken) {
  HttpServer server([this](const Received& request) { return token_endpoint(request); });
  const auto folder = *base::TempDir::create();
  const auto path = folder.path() / "key.json";
  const auto made =
      ambient_credentials(environment({{"GOOGLE_APPLICATION_CREDENTIALS", path.string()}}), {});
  const auto missing = made->token(context_, kScope);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(missing.error().message, HasSubstr("GOOGLE_APPLICATION_CREDENTIALS: "));
  ASSERT_TRUE(base::write_file_atomic(path, key_file(server.url())).has_value());
  EXPECT_EQ(must(made->token(context_, kScope)), "token-1");
}

/// A workload identity pool: exchange, and impersonation if wanted.
class FederationTest : public CredentialsTest {
 protected:
  FederationTest() : server_([this](const Received& request) { return answer(request); }) {}

  Reply answer(const Received& request) {
    if (request.path() == "/subject") {
      EXPECT_EQ(request.header("x-pod"), "one");
      return Reply::json(R"({"value":"pod-token"})");
    }
    if (request.path() == "/sts") {
      EXPECT_EQ(form_member(request.body, "grant_type"),
                "urn:ietf:params:oauth:grant-type:token-exchange");
      EXPECT_EQ(form_member(request.body, "audience"), "//iam/pool");
      EXPECT_EQ(form_member(request.body, "subject_token_type"),
                "urn:ietf:params:oauth:token-type:jwt");
      scope_ = form_member(request.body, "scope");
      if (form_member(request.body, "subject_token") != "pod-token") {
        return Reply::json(R"({"error":"invalid_grant"})", 400);
      }
      return Reply::json(R"({"access_token":"federated","expires_in":3600})");
    }
    EXPECT_EQ(request.path(), "/impersonate");
    EXPECT_EQ(request.header("authorization"), "Bearer federated");
    EXPECT_THAT(request.body, HasSubstr(kScope));
    return Reply::json(R"({"accessToken":"own","expireTime":"2023-11-14T23:13:20Z"})");
  }
  std::string token_with(const std::string& source, bool impersonate) {
    base::json::Object out;
    out.set("type", "external_account");
    out.set("audience", "//iam/pool");
    out.set("subject_token_type", "urn:ietf:params:oauth:token-type:jwt");
    out.set("token_url", server_.url() + "/sts");
    out.set("credential_source", base::json::to_value(base::json::Document::parse(source)->root()));
    if (impersonate) out.set("service_account_impersonation_url", server_.url() + "/impersonate");
    EXPECT_TRUE(base::write_file_atomic(folder_.path() / "pool.json",
                                        base::json::compact(base::json::Value(out)))
                    .has_value());
    const auto made = ambient_credentials(
        environment({{"GOOGLE_APPLICATION_CREDENTIALS", (folder_.path() / "pool.json").string()}}),
        {});
    auto token = made->token(context_, kScope);
    return token.has_value() ? token->reveal() : "error: " + token.error().message;
  }

  base::TempDir folder_ = *base::TempDir::create();
  std::string scope_;
  HttpServer server_;
};

TEST_F(FederationTest, ATokenOfAFileIsExchanged) {
  const auto path = folder_.path() / "token";
  ASSERT_TRUE(base::write_file_atomic(path, "pod-token\n").has_value());
  EXPECT_EQ(token_with(fmt::format(R"({{"file":"{}"}})", path.string()), false), "federated");
  EXPECT_EQ(scope_, kScope);
  ASSERT_TRUE(base::write_file_atomic(path, "another").has_value());
  EXPECT_EQ(token_with(fmt::format(R"({{"file":"{}"}})", path.string()), false),
            "error: GOOGLE_APPLICATION_CREDENTIALS: the token exchange gives no token (status "
            "400, invalid_grant)");
}

TEST_F(FederationTest, ATokenOfAUrlMayBecomeThatOfAServiceAccount) {
  EXPECT_EQ(
      token_with(fmt::format(R"({{"url":"{}/subject","headers":{{"x-pod":"one"}},)"
                             R"("format":{{"type":"json","subject_token_field_name":"value"}}}})",
                             server_.url()),
                 true),
      "own");
  EXPECT_EQ(scope_, "https://www.googleapis.com/auth/cloud-platform");
}

TEST_F(FederationTest, SourcesThatRunProgramsAreRefused) {
  EXPECT_THAT(token_with(R"({"executable":{"command":"/bin/true"}})", false),
              HasSubstr("credential_source must be a file or a URL"));
}

}  // namespace
}  // namespace kollect::sinks::google
