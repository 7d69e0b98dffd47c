// Flags, tokens and what may be asked of a fleet API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/fleet_proxy.h"
#include "serve/options.h"
#include "serve/own_host.h"
#include "serve/token_access.h"

namespace kollect::serve {
namespace {

using ::testing::HasSubstr;
using Kind = readapi::Verdict::Kind;

readapi::Verdict decide(TokenAccess& access, const std::string& header) {
  return access.decide(base::Context::background(), {.authorization = header, .peer = ""},
                       {.verb = "list", .resource = "kollectinventories"});
}

TEST(TokenFile, EachTokenHasItsSight) {
  auto grants = parse_token_file(
      "# who\tmay\n\nauditor  a-token\nteam t-token namespaces=harbor,yard clusters=eu-1\r\n"
      "\tfleet f-token clusters=eu-1,us-2\n");
  ASSERT_TRUE(grants.has_value()) << grants.error().message;
  TokenAccess access(*std::move(grants));
  EXPECT_EQ(access.mode(), "token");
  const auto all = decide(access, "Bearer a-token");
  EXPECT_EQ(all.kind, Kind::kAllowed);
  EXPECT_EQ(all.sight, readapi::Sight{});
  EXPECT_EQ(all.user, "auditor");
  const auto team = decide(access, "Bearer t-token");
  EXPECT_EQ(*team.sight.namespaces, (std::vector<std::string>{"harbor", "yard"}));
  EXPECT_EQ(*team.sight.clusters, std::vector<std::string>{"eu-1"});
  EXPECT_FALSE(decide(access, "Bearer f-token").sight.namespaces.has_value());
  for (const char* header :
       {"", "Bearer", "Bearer ", "Bearer a-toke", "Bearer a-token2", "Basic a-token", "a-token"}) {
    const auto refused = decide(access, header);
    EXPECT_EQ(refused.kind, Kind::kUnauthenticated) << header;
    EXPECT_FALSE(refused.message.empty());
  }
}

TEST(TokenFile, AReplacedFileCountsAtOnce) {
  TokenAccess access(parse_token_file("one token-1\n").value());
  EXPECT_EQ(decide(access, "Bearer token-1").kind, Kind::kAllowed);
  access.replace(parse_token_file("one token-2\n").value());
  EXPECT_EQ(decide(access, "Bearer token-1").kind, Kind::kUnauthenticated);
  EXPECT_EQ(decide(access, "Bearer token-2").kind, Kind::kAllowed);
}

TEST(TokenFile, WhatIsWrongIsToldByLineAndWithoutTheToken) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "no token in it"},
           {"# nothing\n", "no token in it"},
           {"a SECRET\nb\n", "line 2: wanted"},
           {"a SECRET namespace=x\n", "line 1: word 3"},
           {"a SECRET namespaces\n", "line 1: word 3"},
           {"a SECRET namespaces=\n", "line 1: namespaces: an empty name"},
           {"a SECRET namespaces=x,,y\n", "an empty name"},
           {"a SECRET clusters=x clusters=y\n", "clusters stands twice"},
           {"a SECRET\na OTHER\n", "line 2: the name a stands twice"},
           {"a SECRET\nb SECRET\n", "line 2: an earlier line has the same token"}}) {
    const auto grants = parse_token_file(text);
    ASSERT_FALSE(grants.has_value()) << text;
    EXPECT_EQ(grants.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_THAT(grants.error().message, HasSubstr(what)) << text;
    EXPECT_THAT(grants.error().message, ::testing::Not(HasSubstr("SECRET")));
  }
}

base::Result<ServeOptions> options_of(const std::vector<std::string>& args) {
  ServeOptions options;
  KL_ASSIGN(const auto code, read_serve_options({}, args, options));
  EXPECT_FALSE(code.has_value());
  return options;
}

TEST(ServeOptions, OnALoopbackAddressEverybodyMayRead) {
  const auto plain = options_of({"--store", "sqlite:rows.db"});
  ASSERT_TRUE(plain.has_value()) << plain.error().message;
  EXPECT_EQ(plain->auth, AuthMode::kDisabled);
  EXPECT_EQ(plain->server.address, "127.0.0.1");
  EXPECT_EQ(plain->server.port, 8082);
  EXPECT_EQ(plain->store.file, "rows.db");
  EXPECT_EQ(plain->store.table, "inventory");
  EXPECT_TRUE(plain->ui);
  const auto token = options_of({"--store", "postgres://u@h/d", "--table", "team.rows",
                                 "--token-file", "t", "--listen", "0.0.0.0:0", "--no-ui"});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->auth, AuthMode::kToken);
  EXPECT_EQ(token->store.schema, "team");
  EXPECT_EQ(token->store.table, "rows");
  EXPECT_FALSE(token->ui);
  EXPECT_EQ(options_of({"--store", "sqlite:///tmp/a.db?table=other"})->store.table, "other");
  EXPECT_EQ(options_of({"--store", "postgres:host=x dbname=y"})->store.url.reveal(),
            "host=x dbname=y");
}

TEST(ServeOptions, WhatDoesNotFitTogetherIsNamed) {
  const std::vector<std::string> store = {"--store", "sqlite:rows.db"};
  for (const auto& [more, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--listen", "0.0.0.0:1"}, "give --token-file"},
           {{"--listen", ":1"}, "give --token-file"},
           {{"--listen", "nowhere"}, "--listen"},
           {{"--auth-mode", "token"}, "needs --token-file"},
           {{"--auth-mode", "open"}, "there are token, kubernetes and disabled"},
           {{"--auth-mode", "disabled", "--token-file", "x"}, "--token-file is for"},
           {{"--tls-cert", "x"}, "both or none"},
           {{"--fleet-url", "http://x"}, "both or none"},
           {{"--fleet-url", "ftp://x", "--fleet-token-file", "y"}, "http:// or https://"},
           {{"--fleet-url", "http://u:p@x", "--fleet-token-file", "y"}, "no user"},
           {{"--index-attributes", "a"}, "--create-indexes"},
           {{"--log-level", "loud"}, "loud"}}) {
    auto args = store;
    args.insert(args.end(), more.begin(), more.end());
    const auto refused = options_of(args);
    ASSERT_FALSE(refused.has_value()) << what;
    EXPECT_THAT(refused.error().message, HasSubstr(what));
  }
  EXPECT_THAT(options_of({}).error().message, HasSubstr("--store is missing"));
  EXPECT_THAT(options_of({"--store", "mysql://user:SECRET@x"}).error().message,
              ::testing::AllOf(HasSubstr("sqlite:FILE"), ::testing::Not(HasSubstr("SECRET"))));
  EXPECT_THAT(options_of({"--store", "sqlite:"}).error().message, HasSubstr("the file is missing"));
}

TEST(FleetPaths, OnlyWhatCanBeReadIsPassedOn) {
  for (const char* path :
       {"/clusters", "/clusters/oslo", "/clusters/a%2Fb", "/drift", "/rollouts/7",
        "/platform_components", "/namespaces", "/rolebindings", "/audit", "/tombstones",
        "/unknown_polls", "/api/v2/flux/clusters", "/api/v2/flux/clusters/oslo/namespaces"}) {
    EXPECT_TRUE(is_fleet_read(path)) << path;
  }
  for (const char* path :
       {"/", "", "/metrics", "/health", "/batch", "/openapi.yaml", "/clusters/",
        "/clusters/../metrics", "/clusters/%2e%2e/metrics", "/clusters//x", "/api/v2/flux",
        "/api/v2/flux/clustersx", "clusters", "/clusters/%zz", "/./metrics"}) {
    EXPECT_FALSE(is_fleet_read(path)) << path;
  }
}

TEST(OwnHost, NamesOfThisMachineAndNoOthers) {
  for (const char* host : {"localhost", "LOCALHOST:8082", "localhost.", "a.localhost:1",
                           "127.0.0.1", "127.8.9.10:8082", "[::1]", "[::1]:8082"}) {
    EXPECT_TRUE(names_this_machine(host)) << host;
  }
  for (const char* host : {"", "portal.example", "portal.example:8082", "127.0.0.1.portal.example",
                           "127.1", "10.0.0.1", "[::2]", "[::1].portal.example", "[::1]x",
                           "notlocalhost", "localhost.example"}) {
    EXPECT_FALSE(names_this_machine(host)) << host;
  }
}

TEST(OwnHost, ARequestWithoutAHostIsNoBrowsers) {
  http::ServerRequest request;
  EXPECT_TRUE(is_for_this_machine(request));
  request.headers = {{"host", "portal.example"}};
  EXPECT_FALSE(is_for_this_machine(request));
}

}  // namespace
}  // namespace kollect::serve
