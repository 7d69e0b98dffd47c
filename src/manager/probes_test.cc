#include "manager/probes.h"

#include <gtest/gtest.h>

#include "http/client.h"

namespace kollect::manager {
namespace {

TEST(Probes, ReadyTellsTheTruth) {
  ManagerHealth health;
  EXPECT_EQ(answer_probe("/healthz", false, health).status, 200);
  EXPECT_EQ(answer_probe("/healthz", false, health).body, "ok");
  EXPECT_EQ(answer_probe("/readyz", false, health).status, 503);
  health.caches_synced = true;
  EXPECT_EQ(answer_probe("/readyz", false, health).status, 200);
  EXPECT_EQ(answer_probe("/readyz/readyz", false, health).status, 200);
  EXPECT_NE(answer_probe("/readyz", true, health).body.find("readyz ok"), std::string::npos);
  health.stopping = true;
  EXPECT_EQ(answer_probe("/readyz", false, health).status, 503);
  EXPECT_EQ(answer_probe("/readyz/other", false, health).status, 404);
}

TEST(Probes, AreServed) {
  const auto server = serve_probes(
      "127.0.0.1:0", [] { return ManagerHealth{.caches_synced = true}; }, nullptr);
  ASSERT_TRUE(server) << server.error().message;
  http::Client client;
  http::Request request;
  request.url = "http://127.0.0.1:" + std::to_string((*server)->port()) + "/readyz";
  const auto response = client.fetch(base::Context::background(), request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "ok");
}

TEST(Probes, WrongAddressesAreSaid) {
  for (const char* address : {"nonsense", "127.0.0.1:x", ":99999"}) {
    const auto server = serve_probes(
        address, [] { return ManagerHealth(); }, nullptr);
    ASSERT_FALSE(server) << address;
    EXPECT_NE(server.error().message.find("--health-probe-bind-address"), std::string::npos);
  }
}

}  // namespace
}  // namespace kollect::manager
