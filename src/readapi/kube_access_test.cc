#include "readapi/kube_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/fake_kube.h"

namespace kollect::readapi {
namespace {

using namespace std::chrono_literals;
using kollect::testing::FakeKube;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = Verdict::Kind;

Wish list_in(const std::string& ns = {}) {
  return {.verb = "list", .resource = "kollectinventories", .ns = ns};
}

/// An API server whose answers to reviews a test sets.
struct Cluster {
  explicit Cluster(KubeAccessOptions options = {})
      : access(client, clock, nullptr, std::move(options)) {
    kube.hook([this](const Received& request) -> std::optional<Reply> {
      const std::scoped_lock lock(mutex);
      if (request.path().ends_with("/tokenreviews")) {
        ++token_reviews;
        last_token_review = request.body;
        if (down) return Reply::json("{}", 500);
        return Reply::json(R"({"status":)" + review + "}", 201);
      }
      if (request.path().ends_with("/subjectaccessreviews")) {
        ++access_reviews;
        last_access_review = request.body;
        if (access_down) return Reply::json("{}", 500);
        return Reply::json(
            allowed ? R"({"status":{"allowed":true}})" : R"({"status":{"allowed":false}})", 201);
      }
      return std::nullopt;
    });
  }
  Verdict ask(const std::string& token = "secret-token", const Wish& wish = list_in(),
              const std::string& peer = "10.0.0.1:4711") {
    return access.decide(base::Context(clock, {}),
                         {.authorization = "Bearer " + token, .peer = peer}, wish);
  }

  std::mutex mutex;
  std::string review =
      R"({"authenticated":true,"audiences":["kollect"],"user":{"username":"ann","uid":"u1",)"
      R"("groups":["team"],"extra":{"scope":["x"]}}})";
  bool allowed = true;
  bool down = false;
  bool access_down = false;
  int token_reviews = 0;
  int access_reviews = 0;
  std::string last_token_review;
  std::string last_access_review;
  FakeKube kube;
  kube::Client client = kube.client();
  base::ManualClock clock;
  KubeAccess access;
};

KubeAccessOptions with_audience() {
  KubeAccessOptions options;
  options.audiences = {"kollect"};
  return options;
}

TEST(KubeAccess, NoTokenIsNoQuestion) {
  Cluster cluster;
  for (const char* header : {"", "Basic YTpi", "Bearer", "Bearer  ", "secret-token",
                             "Bearer secret-token x", "Bearer secret\ttoken"}) {
    const Verdict verdict = cluster.access.decide(
        base::Context(cluster.clock, {}), {.authorization = header, .peer = "a:1"}, list_in());
    EXPECT_EQ(verdict.kind, Kind::kUnauthenticated) << header;
    EXPECT_FALSE(verdict.message.empty());
  }
  EXPECT_EQ(cluster.token_reviews, 0);
}

// The answers of field-token-review-audience.
TEST(KubeAccess, ATokenMadeForSomebodyElseIsNone) {
  const struct {
    std::string review;
    Kind answer;
  } cases[] = {
      {R"({"authenticated":true,"audiences":["kollect"],"user":{"username":"a"}})", Kind::kAllowed},
      {R"({"authenticated":false,"error":"token audiences [\"kubelet\"] is invalid"})",
       Kind::kUnauthenticated},
      {R"({"authenticated":true,"audiences":[],"user":{"username":"a"}})", Kind::kUnauthenticated},
      {R"({"authenticated":true,"user":{"username":"a"}})", Kind::kUnauthenticated},
      {R"({"authenticated":true,"audiences":["https://kubernetes.default.svc"],"user":{"username":"a"}})",
       Kind::kUnauthenticated},
  };
  for (const auto& one : cases) {
    Cluster cluster(with_audience());
    cluster.review = one.review;
    EXPECT_EQ(cluster.ask().kind, one.answer) << one.review;
    EXPECT_THAT(cluster.last_token_review, HasSubstr(R"("audiences":["kollect"])"));
  }
}

TEST(KubeAccess, WithoutAnAudienceTheServersOwnHolds) {
  Cluster cluster;
  cluster.review = R"({"authenticated":true,"user":{"username":"a"}})";
  EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);
  EXPECT_THAT(cluster.last_token_review, Not(HasSubstr("audiences")));
}

TEST(KubeAccess, AsksForTheWholeUser) {  // X-53
  Cluster cluster;
  const Wish wish{.verb = "get", .resource = "kollectinventories", .ns = "shop", .name = "main"};
  const Verdict verdict = cluster.ask("secret-token", wish);
  EXPECT_EQ(verdict.kind, Kind::kAllowed);
  EXPECT_EQ(verdict.user, "ann");
  for (const char* part :
       {R"("user":"ann")", R"("uid":"u1")", R"("groups":["team"])", R"("extra":{"scope":["x"]})",
        R"("verb":"get")", R"("group":"kollect.dev")", R"("resource":"kollectinventories")",
        R"("namespace":"shop")", R"("name":"main")"}) {
    EXPECT_THAT(cluster.last_access_review, HasSubstr(part));
  }
}

TEST(KubeAccess, WhoMayNotIsToldHowToAskForLess) {
  Cluster cluster;
  cluster.allowed = false;
  const Verdict everywhere = cluster.ask();
  EXPECT_EQ(everywhere.kind, Kind::kForbidden);
  EXPECT_THAT(everywhere.message, HasSubstr("?namespace="));
  const Verdict there = cluster.ask("secret-token", list_in("shop"));
  EXPECT_EQ(there.kind, Kind::kForbidden);
  EXPECT_THAT(there.message, Not(HasSubstr("?namespace=")));
}

TEST(KubeAccess, ServersThatDoNotAnswer) {
  Cluster cluster;
  cluster.down = true;
  EXPECT_EQ(cluster.ask().kind, Kind::kUnavailable);
  cluster.down = false;
  cluster.access_down = true;
  const Verdict failed = cluster.ask();
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_THAT(failed.message, Not(HasSubstr("500")));
  cluster.access_down = false;
  EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);  // failures are not kept
}

TEST(KubeAccess, DecisionsAreKeptForAWhileAndUnknownTokensAreNot) {
  Cluster cluster;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);
  EXPECT_EQ(cluster.token_reviews + cluster.access_reviews, 2);
  // Another question of the same caller.
  EXPECT_EQ(cluster.ask("secret-token", list_in("shop")).kind, Kind::kAllowed);
  EXPECT_EQ(cluster.token_reviews, 1);
  EXPECT_EQ(cluster.access_reviews, 2);
  cluster.allowed = false;
  cluster.clock.advance(29s);
  EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);
  cluster.clock.advance(1s);
  EXPECT_EQ(cluster.ask().kind, Kind::kForbidden);
  cluster.allowed = true;
  EXPECT_EQ(cluster.ask().kind, Kind::kForbidden);  // denials are kept as well
  cluster.clock.advance(30s);
  cluster.review = R"({"authenticated":false})";
  EXPECT_EQ(cluster.ask().kind, Kind::kUnauthenticated);
  cluster.review = R"({"authenticated":true,"user":{"username":"a"}})";
  EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);
}

TEST(KubeAccess, WithoutATimeNothingIsKept) {
  KubeAccessOptions options;
  options.keep = 0s;
  Cluster cluster(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cluster.ask().kind, Kind::kAllowed);
  EXPECT_EQ(cluster.token_reviews, 3);
  EXPECT_GT(cluster.access.recheck(), 0s);
}

TEST(KubeAccess, WhatIsKeptIsBounded) {
  KubeAccessOptions options;
  options.most_kept = 4;
  Cluster cluster(options);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(cluster.ask(fmt::format("token-{}", i)).kind, Kind::kAllowed);
    cluster.clock.advance(1ms);
  }
  EXPECT_EQ(cluster.token_reviews, 20);
  EXPECT_EQ(cluster.ask("token-19").kind, Kind::kAllowed);
  EXPECT_EQ(cluster.token_reviews, 20);
  EXPECT_EQ(cluster.ask("token-0").kind, Kind::kAllowed);  // gave way
  EXPECT_EQ(cluster.token_reviews, 21);
}

TEST(KubeAccess, AnAddressThatGuessesTokensHasToWait) {  // X-54
  KubeAccessOptions options;
  options.burst = 5;
  options.rate = 1;
  Cluster cluster(options);
  cluster.review = R"({"authenticated":false})";
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(cluster.ask(fmt::format("guess-{}", i)).kind, Kind::kUnauthenticated);
  }
  EXPECT_EQ(cluster.ask("guess-5").kind, Kind::kTooMany);
  EXPECT_EQ(cluster.ask("guess-5", list_in(), "10.0.0.1:999").kind, Kind::kTooMany);
  EXPECT_EQ(cluster.ask("guess-5", list_in(), "10.0.0.2:1").kind, Kind::kUnauthenticated);
  EXPECT_EQ(cluster.token_reviews, 6);
  cluster.clock.advance(1s);
  EXPECT_EQ(cluster.ask("guess-6").kind, Kind::kUnauthenticated);
}

TEST(KubeAccess, EqualQuestionsAtOneTimeAreAskedOnce) {
  Cluster cluster;
  std::vector<std::jthread> callers;
  std::atomic<int> allowed = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      if (cluster.ask().kind == Kind::kAllowed) ++allowed;
    });
  }
  callers.clear();
  EXPECT_EQ(allowed, 8);
  EXPECT_EQ(cluster.token_reviews + cluster.access_reviews, 2);
}

TEST(KubeAccess, QuestionsThatReadAlikeAreDifferentOnes) {
  Cluster cluster;
  EXPECT_EQ(cluster.ask("t", {.verb = "list", .resource = "a", .ns = "b"}).kind, Kind::kAllowed);
  cluster.allowed = false;
  EXPECT_EQ(cluster.ask("t", {.verb = "list", .resource = "a", .ns = "", .name = "b"}).kind,
            Kind::kForbidden);
}

}  // namespace
}  // namespace kollect::readapi
