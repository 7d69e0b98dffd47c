// Whom requests trust. What is asked stands in the tests of the sinks that ask.
#include "sinks/google/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/certificates.h"
#include "support/http_server.h"

namespace kollect::sinks::google {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using kollect::testing::TestAuthority;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FixedToken final : public Credentials {
 private:
  base::Result<Granted> ask(const base::Context& /*context*/,
                            const std::string& /*scope*/) override {
    return Granted{base::Secret("t0ken"), std::chrono::hours(1)};
  }
};

TEST(GoogleApi, AnotherAuthorityIsAClearErrorAndSeesNoToken) {  // K-15
  const TestAuthority ours;
  const TestAuthority other("another authority");
  HttpServer server(
      [](const Received&) { return Reply::json("{}"); },
      {.certificate = ours.issue("service", {"IP:127.0.0.1"}), .client_authority_pem = {}});
  const auto send = [&](const std::string& ca_pem) {
    ApiOptions options;
    options.name = "bigquery";
    options.base_url = server.url();
    options.credentials = std::make_shared<FixedToken>();
    options.pause = base::Duration::zero();
    http::TlsOptions tls;
    tls.ca_pem = ca_pem;
    options.network.tls = std::make_shared<const http::TlsOptions>(tls);
    return Api(options).send(base::Context::background(), {.path = "/x", .doing = "looking"});
  };
  const auto refused = send(other.pem());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(refused.error().reason, "tls");
  EXPECT_THAT(refused.error().message, HasSubstr("bigquery: "));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("t0ken")));
  EXPECT_THAT(server.received(), IsEmpty());
  const auto taken = send(ours.pem());
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  ASSERT_THAT(server.received(), SizeIs(1));
  EXPECT_EQ(server.received()[0].header("authorization"), "Bearer t0ken");
}

}  // namespace
}  // namespace kollect::sinks::google
