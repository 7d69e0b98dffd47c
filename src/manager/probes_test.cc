#include "manager/probes.h"

#include <gtest/gtest.h>

#include "http/client.h"

namespace kollect::manager {
namespace {

TEST(Probes, ReadyTellsTheTruth) {
  ProbeState state;
  ManagerHealth& health = state.health;
  EXPECT_EQ(answer_probe("/healthz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/healthz", false, state).body, "ok");
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 503);
  health.caches_synced = true;
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/readyz/readyz", false, state).status, 200);
  EXPECT_NE(answer_probe("/readyz", true, state).body.find("readyz ok"), std::string::npos);
  state.webhooks_wait = true;
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 503);
  state.webhooks_wait = false;
  health.stopping = true;
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 503);
  EXPECT_EQ(answer_probe("/readyz/other", false, state).status, 404);
}

TEST(Probes, ReplicasThatShareTheWork) {
  ProbeState state{.health = {.caches_synced = true},
                   .shards = ShardStatus{.parts = 3, .held = {0, 2}, .members = 2, .member = true}};
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/readyz", true, state).body,
            "readyz ok\nrows 0\nparts held: 0 2, of 3 for 2 replicas\n");
  state.shards = ShardStatus{
      .parts = 3, .members = 0, .blocked_by = "replicas-of-2-shards", .error = "forbidden"};
  EXPECT_EQ(answer_probe("/healthz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/readyz", true, state).body,
            "readyz ok\nrows 0\nparts held: none, of 3 for 0 replicas\n"
            "this one does not take part\nlease held by replicas-of-2-shards\nleases: forbidden\n");
}

TEST(Probes, LeaderStandbyAndLost) {
  ProbeState state{.health = {.caches_synced = true}, .election = ElectorStatus()};
  state.election->holder = "other_1";
  EXPECT_EQ(answer_probe("/readyz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/readyz", true, state).body,
            "readyz ok\nrows 0\nstandby, lease held by other_1\n");
  state.election->state = Election::State::kLeading;
  state.election->error = "unreachable";
  EXPECT_EQ(answer_probe("/healthz", false, state).status, 200);
  EXPECT_EQ(answer_probe("/readyz", true, state).body,
            "readyz ok\nrows 0\nleading, lease held by other_1\nlease: unreachable\n");
  state.election->state = Election::State::kLost;
  EXPECT_EQ(answer_probe("/healthz", false, state).status, 503);
  state.election.reset();
  EXPECT_EQ(answer_probe("/readyz", true, state).body, "readyz ok\nrows 0\nleading\n");
}

TEST(Probes, AreServed) {
  const auto server = serve_probes(
      "127.0.0.1:0", [] { return ProbeState{.health = {.caches_synced = true}, .election = {}}; },
      nullptr);
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
        address, [] { return ProbeState(); }, nullptr);
    ASSERT_FALSE(server) << address;
    EXPECT_NE(server.error().message.find("--health-probe-bind-address"), std::string::npos);
  }
}

}  // namespace
}  // namespace kollect::manager
