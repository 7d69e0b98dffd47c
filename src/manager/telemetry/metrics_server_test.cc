#include "manager/telemetry/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.h"
#include "support/fake_kube.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using kollect::testing::FakeKube;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;

/// An API server that knows the tokens "good" and "weak", of which only the first may.
struct Cluster {
  Cluster() {
    kube.hook([this](const Received& request) -> std::optional<Reply> {
      if (down) return Reply::json("{}", 500);
      if (request.path().ends_with("/tokenreviews")) {
        ++token_reviews;
        const bool known = request.body.find("\"good\"") != std::string::npos ||
                           request.body.find("\"weak\"") != std::string::npos;
        const bool good = request.body.find("\"good\"") != std::string::npos;
        return Reply::json(
            known ? fmt::format(R"({{"status":{{"authenticated":true,"user":{{"username":"{}",)"
                                R"("uid":"u","groups":["g"],"extra":{{"k":["v"]}}}}}}}})",
                                good ? "scraper" : "other")
                  : R"({"status":{"authenticated":false}})",
            201);
      }
      if (request.path().ends_with("/subjectaccessreviews")) {
        {
          const std::scoped_lock lock(mutex);
          last_access = request.body;
        }
        const bool may = request.body.find("scraper") != std::string::npos;
        return Reply::json(fmt::format(R"({{"status":{{"allowed":{}}}}})", may), 201);
      }
      return std::nullopt;
    });
    registry.gauge("up", "Always 1.").set(1);
  }

  base::Result<http::Response> get(MetricsServer& server, const std::string& path,
                                   const std::string& token, bool secure = true) {
    http::Request request;
    request.url =
        fmt::format("{}://127.0.0.1:{}{}", secure ? "https" : "http", server.port(), path);
    auto tls = std::make_shared<http::TlsOptions>();
    tls->insecure_skip_verify = true;
    request.tls = tls;
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    return browser.fetch(base::Context::background(), request);
  }
  base::Result<std::unique_ptr<MetricsServer>> start(MetricsOptions options) {
    options.address = "127.0.0.1:0";
    return MetricsServer::start(options, registry, client, clock, nullptr);
  }

  std::atomic<bool> down = false;
  std::atomic<int> token_reviews = 0;
  std::mutex mutex;
  std::string last_access;
  std::string access() {
    const std::scoped_lock lock(mutex);
    return last_access;
  }
  FakeKube kube;
  kube::Client client = kube.client();
  base::ManualClock clock;
  metrics::Registry registry;
  http::Client browser;
};

TEST(MetricsServer, AsksTheApiServerWhoMayRead) {
  Cluster cluster;
  const auto server = cluster.start({});
  ASSERT_TRUE(server) << server.error().message;
  const auto status = [&](const std::string& token, const std::string& path = "/metrics") {
    const auto answer = cluster.get(**server, path, token);
    return answer ? answer->status : -1;
  };
  EXPECT_EQ(status(""), 401);
  EXPECT_EQ(cluster.token_reviews, 0);
  EXPECT_EQ(status("bad"), 401);
  EXPECT_EQ(status("weak"), 403);
  EXPECT_EQ(status("good"), 200);
  EXPECT_THAT(cluster.access(), HasSubstr(R"("path":"/metrics")"));
  for (const char* part : {R"("user":"scraper")", R"("uid":"u")", R"("groups":["g"])",
                           R"("extra":{"k":["v"]})", R"("verb":"get")"}) {
    EXPECT_THAT(cluster.access(), HasSubstr(part));
  }
  const auto page = cluster.get(**server, "/metrics", "good");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->body, HasSubstr("\nup 1\n"));
  EXPECT_EQ(page->header("content-type"), metrics::kTextType);
  EXPECT_EQ(status("good", "/"), 404);
}

TEST(MetricsServer, AnswersAreKeptForAWhileAndFailuresAreNot) {
  Cluster cluster;
  const auto server = cluster.start({});
  ASSERT_TRUE(server) << server.error().message;
  const auto status = [&](const std::string& token) {
    const auto answer = cluster.get(**server, "/metrics", token);
    return answer ? answer->status : -1;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status("good"), 200);
  EXPECT_EQ(cluster.token_reviews, 1);
  cluster.down = true;
  EXPECT_EQ(status("good"), 200);
  EXPECT_EQ(status("weak"), 503);
  cluster.down = false;
  EXPECT_EQ(status("weak"), 403);
  cluster.clock.advance(30s);
  EXPECT_EQ(status("good"), 200);
  EXPECT_EQ(cluster.token_reviews, 3);
}

TEST(MetricsServer, PlainHttpIsForEverybody) {
  Cluster cluster;
  MetricsOptions options;
  options.secure = false;
  const auto server = cluster.start(options);
  ASSERT_TRUE(server) << server.error().message;
  const auto page = cluster.get(**server, "/metrics", "", false);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(cluster.token_reviews, 0);
}

TEST(MetricsServer, WrongSettingsAreSaid) {
  Cluster cluster;
  MetricsOptions options;
  options.cert_path = "/nowhere";
  EXPECT_THAT(cluster.start(options).error().message, HasSubstr("--metrics-cert-path"));
  options = {};
  options.address = "nonsense";
  const auto server =
      MetricsServer::start(options, cluster.registry, cluster.client, cluster.clock, nullptr);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("--metrics-bind-address"));
  EXPECT_FALSE(MetricsOptions().enabled());
}

}  // namespace
}  // namespace kollect::manager
