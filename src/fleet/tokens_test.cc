// Who may call: tokens, roles, the tokens file.
#include "fleet/tokens.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"

namespace kollect::fleet {
namespace {

using ::testing::HasSubstr;

std::string entry(const std::string& name, const std::string& role, const std::string& token,
                  const std::string& more = "") {
  return fmt::format(R"({{"name": "{}", "roles": ["{}"], "sha256": "{}"{}}})", name, role,
                     base::sha256_hex(token), more);
}

std::vector<Token> parse(const std::string& entries) {
  auto tokens = parse_tokens("{\"tokens\": [" + entries + "]}");
  EXPECT_TRUE(tokens) << tokens.error().message;
  return std::move(tokens).value_or(std::vector<Token>{});
}

int status(const Tokens& tokens, const std::string& header, const Need& need = {}) {
  return tokens.judge(header, need).status;
}

TEST(FleetTokens, BearerAndBasic) {
  const Tokens tokens(parse(entry("ci", "reader", "s3:cret")));
  const std::string basic = base::base64_encode("anybody:s3:cret");
  for (const std::string& good :
       {std::string("Bearer s3:cret"), std::string("bEARER s3:cret"),
        std::string(" Bearer s3:cret "), "Basic " + basic, "basic  " + basic}) {
    EXPECT_EQ(status(tokens, good), 200) << good;
    EXPECT_EQ(tokens.judge(good, {}).name, "ci");
  }
  for (const std::string& bad :
       {std::string(), std::string("Bearer"), std::string("Bearer "),
        std::string("Bearer  s3:cret"), std::string("Bearer s3:cre"),
        std::string("Bearer s3:cret2"), std::string("s3:cret"), std::string("Token s3:cret"),
        "Basic " + base::base64_encode("s3:cret"), "Basic " + base::base64_encode("ci:"),
        std::string("Basic *"), "Bearer " + basic, "Bearer " + base::sha256_hex("s3:cret")}) {
    EXPECT_EQ(status(tokens, bad), 401) << bad;
  }
}

TEST(FleetTokens, NoRoleIncludesAnother) {
  const Tokens tokens(parse(entry("r", "reader", "r") + "," + entry("w", "writer", "w") + "," +
                            entry("a", "auditor", "a")));
  const std::vector<std::pair<std::string, Role>> all = {
      {"r", Role::kReader}, {"w", Role::kWriter}, {"a", Role::kAuditor}};
  for (const auto& [name, has] : all) {
    for (const auto& [other, needs] : all) {
      EXPECT_EQ(status(tokens, "Bearer " + name, {.role = needs}), has == needs ? 200 : 403)
          << name << other;
    }
  }
}

TEST(FleetTokens, ATokenOfAClusterIsForItsPollsAlone) {
  const Tokens tokens(parse(entry("eu", "reader", "t", R"(, "cluster_dns": "eu.test")")));
  EXPECT_EQ(status(tokens, "Bearer t", {.cluster_dns = "eu.test"}), 200);
  EXPECT_EQ(status(tokens, "Bearer t", {.cluster_dns = "us.test"}), 403);
  EXPECT_EQ(status(tokens, "Bearer t", {.cluster_dns = ""}), 403);
  EXPECT_EQ(status(tokens, "Bearer t"), 403);
  EXPECT_EQ(status(tokens, "Bearer t", {.role = Role::kWriter, .cluster_dns = "eu.test"}), 403);
}

TEST(FleetTokens, TwoOfOneNameWhileOneIsReplaced) {
  const Tokens tokens(parse(entry("ci", "reader", "old") + "," + entry("ci", "reader", "new")));
  EXPECT_EQ(status(tokens, "Bearer old"), 200);
  EXPECT_EQ(status(tokens, "Bearer new"), 200);
}

TEST(FleetTokens, OneTokenInTwoEntriesHasTheRightsOfBoth) {
  const Tokens tokens = all_tokens({.read = base::Secret("t"), .write = base::Secret("t")}, {});
  EXPECT_EQ(tokens.judge("Bearer t", {.role = Role::kReader}).name, "reader");
  EXPECT_EQ(tokens.judge("Bearer t", {.role = Role::kWriter}).name, "writer");
  EXPECT_EQ(tokens.judge("Bearer t", {.role = Role::kAuditor}).name, "reader");
}

TEST(FleetTokens, TokensOfSettings) {
  const PlainTokens plain{.read = base::Secret("r"), .write = base::Secret("")};
  const Tokens alone = all_tokens(plain, {});
  EXPECT_EQ(alone.size(), 1U) << "an empty token matches nobody";
  EXPECT_EQ(status(alone, "Bearer r", {.role = Role::kAuditor}), 200);
  EXPECT_EQ(status(alone, "Bearer r", {.role = Role::kWriter}), 401);
  const Tokens beside = all_tokens(plain, parse(entry("a", "auditor", "a")));
  EXPECT_EQ(status(beside, "Bearer r"), 200);
  EXPECT_EQ(status(beside, "Bearer r", {.role = Role::kAuditor}), 403);
  EXPECT_EQ(status(beside, "Bearer a", {.role = Role::kAuditor}), 200);
}

TEST(FleetTokens, TwoAuthorizationHeadersAreRefused) {
  const Tokens tokens(parse(entry("r", "reader", "r")));
  http::ServerRequest request;
  EXPECT_EQ(tokens.judge(request, {}).status, 401);
  request.headers.emplace_back("authorization", "Bearer r");
  EXPECT_EQ(tokens.judge(request, {}).status, 200);
  request.headers.emplace_back("authorization", "Bearer r");
  EXPECT_EQ(tokens.judge(request, {}).status, 401);
}

TEST(FleetTokens, AFileWithAMistakeIsRefused) {
  const std::string hash = base::sha256_hex("x");
  const auto error = [](const std::string& text) {
    const auto tokens = parse_tokens(text);
    return tokens ? std::string() : tokens.error().message;
  };
  EXPECT_EQ(error("tokens: []"), "");
  EXPECT_FALSE(parse_tokens("")) << "a file that was emptied by mistake closes nobody out";
  EXPECT_FALSE(parse_tokens("[]"));
  EXPECT_FALSE(parse_tokens("tokens: {}"));
  EXPECT_FALSE(parse_tokens("tokens: []\nmore: 1"));
  const auto wrong = [&](const std::string& members) {
    return error("tokens:\n- {" + members + "}\n");
  };
  EXPECT_THAT(wrong("roles: [reader], sha256: " + hash), HasSubstr("name"));
  EXPECT_THAT(wrong("name: a, sha256: " + hash), HasSubstr("tokens[0] (a): roles"));
  EXPECT_THAT(wrong("name: a, roles: reader, sha256: " + hash), HasSubstr("roles"));
  EXPECT_THAT(wrong("name: a, roles: [admin], sha256: " + hash), HasSubstr("roles"));
  EXPECT_THAT(wrong("name: a, roles: [reader], sha256: abc"), HasSubstr("sha256"));
  EXPECT_THAT(wrong("name: a, roles: [reader], clusterDns: x, sha256: " + hash),
              HasSubstr("clusterDns"));
  EXPECT_THAT(wrong("name: a, roles: [writer], cluster_dns: x, sha256: " + hash),
              HasSubstr("cluster_dns"));
  EXPECT_THAT(wrong("name: a, roles: [reader], cluster_dns: \"\", sha256: " + hash),
              HasSubstr("cluster_dns"));
}

TEST(FleetTokens, NewTokensDiffer) {
  EXPECT_NE(make_token().reveal(), make_token().reveal());
  EXPECT_EQ(make_token().reveal().size(), 68U);
}

}  // namespace
}  // namespace kollect::fleet
