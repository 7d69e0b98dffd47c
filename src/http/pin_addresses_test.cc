#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.h"
#include "support/http_server.h"

namespace kollect::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT: scripted servers

const base::Context kContext = base::Context::background();

base::Resolver answers(std::vector<std::string> addresses) {
  return [addresses = std::move(addresses)](const std::string&) {
    return base::Result<std::vector<std::string>>(addresses);
  };
}

Request get(const std::string& url) {
  Request request;
  request.url = url;
  return request;
}

TEST(PinAddresses, TheConnectionGoesWhereTheAnswerSaidAndTheNameStays) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  auto request = get(fmt::format("http://store.example:{}/a", server.port()));
  ASSERT_TRUE(pin_addresses(request, answers({"127.0.0.1"})));
  EXPECT_THAT(request.addresses, ElementsAre("127.0.0.1"));
  const auto answer = client.fetch(kContext, request);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(server.received().size(), 1U);
  EXPECT_EQ(server.received()[0].header("host"), fmt::format("store.example:{}", server.port()));
}

TEST(PinAddresses, OneRefusedAddressRefusesTheAnswer) {
  auto request = get("https://store.example/a");
  request.guard = std::make_shared<const base::AddressGuard>(false);
  const auto pinned = pin_addresses(request, answers({"8.8.8.8", "169.254.169.254"}));
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(pinned.error().reason, "address-refused");
  EXPECT_THAT(pinned.error().message, HasSubstr("store.example"));
  EXPECT_TRUE(request.addresses.empty());
  ASSERT_TRUE(pin_addresses(request, answers({"8.8.8.8", "2600::1"})));
  EXPECT_THAT(request.addresses, ElementsAre("8.8.8.8", "2600::1"));
}

TEST(PinAddresses, NamesAndNumbersThatAreNeverAllowedAreNotAskedFor) {
  const base::Resolver never = [](const std::string& host) {
    ADD_FAILURE() << host;
    return base::Result<std::vector<std::string>>(base::terminal("asked"));
  };
  for (const char* url : {"http://metadata.google.internal/", "http://127.0.0.1:80/x",
                          "https://[::1]/", "http://a@localhost/"}) {
    auto request = get(url);
    request.guard = std::make_shared<const base::AddressGuard>(true);
    const auto pinned = pin_addresses(request, never);
    EXPECT_FALSE(pinned) << url;
  }
  auto plain = get("http://8.8.8.8/");
  EXPECT_TRUE(pin_addresses(plain, never));
  EXPECT_TRUE(plain.addresses.empty());
}

TEST(PinAddresses, ANameWithoutAddressIsUnreachable) {
  auto request = get("https://store.example/a");
  const auto pinned = pin_addresses(request, answers({}));
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(pinned.error().reason, "unreachable");
}

TEST(BorrowedBody, IsSentAsItIs) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  const std::string text(300'000, 'x');
  auto request = get(server.url() + "/a");
  request.method = "PUT";
  request.borrowed_body = text;
  ASSERT_TRUE(client.fetch(kContext, request));
  ASSERT_TRUE(client.fetch(kContext, request));  // the same bytes again, as a retry does
  ASSERT_EQ(server.received().size(), 2U);
  EXPECT_EQ(server.received()[0].body, text);
  EXPECT_EQ(server.received()[1].body, text);
}

}  // namespace
}  // namespace kollect::http
