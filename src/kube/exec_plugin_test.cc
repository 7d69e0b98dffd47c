#include "kube/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/json/write.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "support/certificates.h"
#include "support/http_server.h"

namespace kollect::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;  // NOLINT: scripted servers

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ExecPlugin : public ::testing::Test {
 protected:
  base::TempDir dir_ = *base::TempDir::create();
  base::ManualClock clock_{base::parse_rfc3339("2026-05-01T12:00:00Z").value()};
  base::Context context_{clock_, std::stop_token()};
  std::map<std::string, std::string> env_ = {{"PATH", "/usr/bin:/bin"}};

  /// A context whose program is this shell script.
  ClusterConfig script(const std::string& body) const {
    const auto path = dir_.path() / "plugin";
    EXPECT_TRUE(base::write_file_atomic(path, "#!/bin/sh\n" + body, 0755));
    ClusterConfig config;
    config.server = "https://k.test";
    config.exec.emplace();
    config.exec->command = "./plugin";
    config.exec->base_dir = dir_.path();
    config.exec->api_version = kV1;
    config.exec->interactive_mode = "Never";
    return config;
  }
  static std::string credential(const std::string& status) {
    return std::string("cat <<'J'\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"") + kV1 +
           "\",\"status\":" + status + "}\nJ\n";
  }
  /// Counts the runs in a file and gives the run's number as token.
  static std::string counting(const std::string& more) {
    return "n=$(cat \"$COUNT\" 2>/dev/null || echo 0); n=$((n+1)); echo $n >\"$COUNT\"\n"
           "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
           "\"status\":{\"token\":\"tok-'$n'\"" +
           more + "}}'\n";
  }
  std::string error_of(const ClusterConfig& config) const {
    auto result = run_exec_plugin(context_, config, env_);
    EXPECT_FALSE(result);
    if (result) return "no error";
    EXPECT_EQ(result.error().reason, "unauthorized");
    EXPECT_EQ(result.error().kind, base::ErrorKind::kDenied);
    return result.error().message;
  }
};

TEST_F(ExecPlugin, GivesATokenWithExpiry) {
  auto result = run_exec_plugin(
      context_,
      script(credential(R"({"token":"t1\n","expirationTimestamp":"2026-05-01T13:00:00Z"})")), env_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->token.reveal(), "t1");
  EXPECT_EQ(base::format_rfc3339(*result->expires), "2026-05-01T13:00:00Z");
}

TEST_F(ExecPlugin, HearsArgumentsEnvironmentAndCluster) {
  auto config = script("echo \"$1 $A $B $KUBERNETES_EXEC_INFO\" >\"$OUT\"\n" +
                       credential(R"({"token":"t"})"));
  const std::string out = (dir_.path() / "out").string();
  config.exec->args = {"arg one"};
  config.exec->env = {{"A", "from-config"}, {"OUT", out}};
  env_["A"] = "overridden";
  env_["B"] = "inherited";
  config.exec->provide_cluster_info = true;
  config.exec->cluster_config = base::json::Object();
  config.ca_pem = "pem";
  config.tls_server_name = "name.test";
  ASSERT_TRUE(run_exec_plugin(context_, config, env_));
  EXPECT_EQ(*base::read_file(out),
            "arg one from-config inherited "
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"cluster":{"server":"https://k.test","tls-server-name":"name.test",)"
            R"("certificate-authority-data":"cGVt","config":{}},"interactive":false}})"
            "\n");
  config.exec->provide_cluster_info = false;
  EXPECT_THAT(exec_info(config, true), HasSubstr(R"("spec":{"interactive":true})"));
}

TEST_F(ExecPlugin, ProgramsAreFoundByPath) {
  auto config = script(credential(R"({"token":"t"})"));
  config.exec->command = "plugin";
  EXPECT_THAT(error_of(config), HasSubstr("not found"));
  env_["PATH"] = "/usr/bin:/bin:" + dir_.path().string();
  EXPECT_TRUE(run_exec_plugin(context_, config, env_));
}

TEST_F(ExecPlugin, FailuresAreNamed) {
  EXPECT_THAT(
      error_of(script("echo first >&2; echo 'no session' >&2; exit 3")),
      AllOf(HasSubstr("./plugin"), HasSubstr("exit code 3: no session"), Not(HasSubstr("first"))));
  auto missing = script("");
  missing.exec->command = "no-such-program";
  missing.exec->install_hint = "install it from the shop\n";
  EXPECT_THAT(error_of(missing), HasSubstr("not found; install it from the shop"));
  EXPECT_THAT(error_of(script("echo secret-text")),
              AllOf(HasSubstr("not a JSON document"), Not(HasSubstr("secret-text"))));
  EXPECT_THAT(error_of(script("echo '{\"kind\":\"Pod\"}'")), HasSubstr("not an ExecCredential"));
  EXPECT_THAT(error_of(script(credential("{}"))), HasSubstr("neither"));
  EXPECT_THAT(error_of(script(credential(R"({"token":"t","clientKeyData":"k"})"))),
              HasSubstr("without"));
  EXPECT_THAT(error_of(script(credential(R"({"token":"t","expirationTimestamp":"soon"})"))),
              HasSubstr("expirationTimestamp"));
  auto beta = script(credential(R"({"token":"t"})"));
  beta.exec->api_version = "client.authentication.k8s.io/v1beta1";
  EXPECT_THAT(error_of(beta), HasSubstr("v1beta1"));
  auto interactive = script(credential(R"({"token":"t"})"));
  interactive.exec->interactive_mode = "Always";
  EXPECT_THAT(error_of(interactive), HasSubstr("terminal"));
}

TEST_F(ExecPlugin, IsKeptUntilShortlyBeforeExpiry) {
  auto config = script(counting(R"(,"expirationTimestamp":"2026-05-01T13:00:00Z")"));
  env_["COUNT"] = (dir_.path() / "count").string();
  Credentials credentials(config, env_);
  EXPECT_EQ(credentials.current(context_)->bearer.reveal(), "tok-1");
  clock_.advance(std::chrono::minutes(59));
  EXPECT_EQ(credentials.current(context_)->bearer.reveal(), "tok-1");
  clock_.advance(std::chrono::seconds(31));
  EXPECT_EQ(credentials.current(context_)->bearer.reveal(), "tok-2");
}

TEST_F(ExecPlugin, RunsAgainOnceAfterA401) {
  auto config = script(counting(""));
  env_["COUNT"] = (dir_.path() / "count").string();
  HttpServer server([](const Received& r) {
    return Reply::json("{}", r.header("authorization") == "Bearer tok-2" ? 200 : 401);
  });
  config.server = server.url();
  ClientOptions options;
  options.env = env_;
  Client client(std::make_shared<http::Client>(), config, options, nullptr);
  EXPECT_EQ(client.request(context_, "GET", "/x")->status, 200);
  EXPECT_EQ(client.request(context_, "GET", "/x")->status, 200);
  EXPECT_EQ(server.received().size(), 3U);

  Client wrong(std::make_shared<http::Client>(), config, options, nullptr);
  EXPECT_EQ(wrong.request(context_, "GET", "/x")->status, 401);  // tok-3, then tok-4
  EXPECT_EQ(server.received().size(), 5U);
}

TEST_F(ExecPlugin, GivesAClientCertificate) {
  const testing::TestAuthority authority;
  const auto pair = authority.issue("plugin-user");
  base::json::Object status;
  status.set("clientCertificateData", pair.cert_pem);
  status.set("clientKeyData", pair.key_pem);
  auto config = script(credential(base::json::compact(base::json::Value(status))));
  testing::HttpServerOptions options;
  options.certificate = authority.issue("server", {"IP:127.0.0.1"});
  options.client_authority_pem = authority.pem();
  HttpServer server([](const Received&) { return Reply::json("{}"); }, options);
  config.server = server.url();
  config.ca_pem = authority.pem();
  Client client(std::make_shared<http::Client>(), config, {}, nullptr);
  auto answer = client.request(context_, "GET", "/x");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(server.received().at(0).client_name, "plugin-user");
  status.set("clientKeyData", authority.issue("other").key_pem);
  EXPECT_THAT(error_of(script(credential(base::json::compact(base::json::Value(status))))),
              HasSubstr("do not belong together"));
}

TEST_F(ExecPlugin, ParseLeavesSecretsOutOfErrors) {
  for (const char* text : {"", "null", "[]", "{\"kind\":\"ExecCredential\",\"token\":\"hush\"}"}) {
    auto result = parse_exec_output(text, kV1);
    ASSERT_FALSE(result) << text;
    EXPECT_THAT(result.error().message, Not(HasSubstr("hush")));
  }
}

}  // namespace
}  // namespace kollect::kube
