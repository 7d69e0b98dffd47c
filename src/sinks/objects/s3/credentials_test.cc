// The ways to credentials, against stand-ins for the services of the platform (K-39).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "sinks/objects/s3/credentials.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::objects::s3 {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const base::Context kContext = base::Context::background();

Reply reply(int status, std::string body = {},
            std::vector<std::pair<std::string, std::string>> headers = {}) {
  Reply out;
  out.status = status;
  out.body = std::move(body);
  out.headers = std::move(headers);
  return out;
}

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// A port where no instance metadata service is.
std::string nobody() {
  return fmt::format("http://127.0.0.1:{}", kollect::testing::dead_port());
}

std::string issued_json(const std::string& key, const std::string& until) {
  return fmt::format(R"({{"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"secret-{}",)"
                     R"("Token":"token-{}","Expiration":"{}"}})",
                     key, key, key, until);
}

std::string key_of(const base::Result<Credentials>& got) {
  EXPECT_TRUE(got.has_value()) << got.error().message;
  if (!got.has_value()) return {};
  return got->access_key + " " + got->secret_key.reveal() + " " + got->session_token.reveal();
}

std::string ambient_key(const Variables& variables) {
  return key_of(ambient_credentials(environment_of(variables), "eu-west-1")->get(kContext));
}

class Credential : public ::testing::Test {
 protected:
  Credential() : folder_(*base::TempDir::create()) {}
  std::string file(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  base::TempDir folder_;
};

TEST(SecretCredentials, KeysInOrderAndWithoutLineEnds) {  // K-16
  const auto made = secret_credentials({{"accessKeyID", base::Secret("AK\n")},
                                        {"AWS_ACCESS_KEY_ID", base::Secret("other")},
                                        {"AWS_SECRET_ACCESS_KEY", base::Secret("sk \r\n")},
                                        {"AWS_SESSION_TOKEN", base::Secret("tok\n")}});
  ASSERT_TRUE(made.has_value());
  ASSERT_TRUE(made->has_value());
  EXPECT_EQ((*made)->access_key, "AK");
  EXPECT_EQ((*made)->secret_key.reveal(), "sk ");
  EXPECT_EQ((*made)->session_token.reveal(), "tok");
  const auto none = secret_credentials({{"unrelated", base::Secret("x")}});
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value());
  const auto odd = secret_credentials(
      {{"accessKeyID", base::Secret("A\nB")}, {"secretAccessKey", base::Secret("s")}});
  ASSERT_FALSE(odd.has_value());
  EXPECT_EQ(odd.error().reason, "bad-secret");
}

TEST_F(Credential, TheEnvironmentComesFirst) {
  EXPECT_EQ(ambient_key({{"AWS_ACCESS_KEY_ID", "AK"},
                         {"AWS_SECRET_ACCESS_KEY", "SK"},
                         {"AWS_SESSION_TOKEN", "T"},
                         {"AWS_SHARED_CREDENTIALS_FILE", "/nowhere"}}),
            "AK SK T");
}

TEST_F(Credential, WebIdentity) {
  HttpServer sts([](const Received&) {
    return reply(200,
                 "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
                 "<Credentials><AccessKeyId>WK</AccessKeyId>"
                 "<SecretAccessKey>WS</SecretAccessKey><SessionToken>WT</SessionToken>"
                 "<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>"
                 "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  });
  const Variables variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", file("token", "ey.jwt.sig\n")},
                               {"AWS_ROLE_ARN", "arn:aws:iam::1:role/ledger"},
                               {"AWS_ENDPOINT_URL_STS", sts.url()}};
  EXPECT_EQ(ambient_key(variables), "WK WS WT");
  ASSERT_EQ(sts.received().size(), 1U);
  EXPECT_EQ(sts.received()[0].method, "POST");
  EXPECT_THAT(sts.received()[0].body,
              AllOf(HasSubstr("Action=AssumeRoleWithWebIdentity&Version=2011-06-15"),
                    HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fledger"),
                    HasSubstr("WebIdentityToken=ey.jwt.sig")));
  HttpServer refusing(
      [](const Received&) { return reply(403, "<Error><Message>ey.jwt.sig</Message></Error>"); });
  auto refused = variables;
  refused["AWS_ENDPOINT_URL_STS"] = refusing.url();
  const auto got = ambient_credentials(environment_of(refused), "")->get(kContext);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, base::ErrorKind::kDenied);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("web identity"), Not(HasSubstr("jwt"))));
}

TEST_F(Credential, ContainerEndpoint) {
  HttpServer endpoint([](const Received& r) {
    if (r.header("authorization") != "pod-token") return reply(401);
    return Reply::json(issued_json("CK", "2999-01-01T00:00:00Z"));
  });
  EXPECT_EQ(ambient_key({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/v1/credentials"},
                         {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file("pod", "pod-token\n")}}),
            "CK secret-CK token-CK");
  // Credentials are not asked for in clear text elsewhere.
  const auto got = ambient_credentials(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                                        "http://203.0.113.7/credentials"}}),
                                       "")
                       ->get(kContext);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, base::ErrorKind::kConfiguration);
}

TEST_F(Credential, SharedFile) {
  const auto path = file("credentials",
                         "# mine\n[default]\naws_access_key_id = DK\naws_secret_access_key=DS\n\n"
                         "[profile ledger]\n aws_access_key_id = LK\naws_secret_access_key = L=S\n"
                         "aws_session_token = LT\n");
  EXPECT_EQ(ambient_key({{"AWS_SHARED_CREDENTIALS_FILE", path}}), "DK DS ");
  EXPECT_EQ(ambient_key({{"AWS_SHARED_CREDENTIALS_FILE", path}, {"AWS_PROFILE", "ledger"}}),
            "LK L=S LT");
}

TEST_F(Credential, InstanceRole) {
  HttpServer metadata([](const Received& r) {
    if (r.method == "PUT") {
      return r.header("x-aws-ec2-metadata-token-ttl-seconds").empty() ? reply(400)
                                                                      : reply(200, "session");
    }
    if (r.header("x-aws-ec2-metadata-token") != "session") return reply(401);
    if (r.path() == "/latest/meta-data/iam/security-credentials/") return reply(200, "role-1\n");
    if (r.path() == "/latest/meta-data/iam/security-credentials/role-1") {
      return Reply::json(issued_json("IK", "2999-01-01T00:00:00Z"));
    }
    return reply(404);
  });
  EXPECT_EQ(ambient_key({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url() + "/"}}),
            "IK secret-IK token-IK");
}

TEST_F(Credential, NoneAtAll) {
  for (const auto& variables : {Variables{{"AWS_EC2_METADATA_SERVICE_ENDPOINT", nobody()}},
                                Variables{{"AWS_EC2_METADATA_DISABLED", "TRUE"}}}) {
    const auto got = ambient_credentials(environment_of(variables), "")->get(kContext);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().reason, "no-credentials");
    EXPECT_THAT(got.error().message, HasSubstr("spec.secretRef"));
  }
}

TEST_F(Credential, RenewedBeforeTheirEnd) {
  std::atomic<int> number = 0;
  HttpServer endpoint([&](const Received&) {
    const int now = ++number;
    if (now == 3) return reply(503);
    return Reply::json(issued_json(fmt::format("K{}", now),
                                   now == 1 ? "2026-01-01T01:00:00Z" : "2026-01-01T02:00:00Z"));
  });
  const base::ManualClock clock(testing::time_of("2026-01-01T00:00:00Z"));
  const base::Context context(clock, {});
  const auto source = ambient_credentials(
      environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url()}}), "");
  const auto key = [&] {
    return source->get(context).value_or(Credentials{"none", {}, {}}).access_key;
  };
  EXPECT_EQ(key(), "K1");
  clock.advance(std::chrono::minutes(54));
  EXPECT_EQ(key(), "K1");
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(key(), "K2");
  clock.advance(std::chrono::minutes(60));
  EXPECT_EQ(key(), "K2");  // the endpoint fails, and these are still good
  EXPECT_EQ(number, 3);
  EXPECT_TRUE(source->renew());
  EXPECT_EQ(key(), "K4");
}

}  // namespace
}  // namespace kollect::sinks::objects::s3
