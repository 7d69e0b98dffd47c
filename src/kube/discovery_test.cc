#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/api_error.h"
#include "kube/pager.h"
#include "support/http_server.h"

namespace kollect::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT: scripted servers

const base::Context kContext = base::Context::background();
constexpr const char* kAggregatedType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const std::string kCore = R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[
 {"version":"v1","freshness":"Current","resources":[
  {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced",
   "verbs":["get","list"],"subresources":[{"subresource":"log"}]},
  {"resource":"services","responseKind":{"kind":"Service"},"scope":"Namespaced","verbs":["list"]},
  {"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced",
   "verbs":["create"]},
  {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["list"]}]}]}]})";

const std::string kGroups = R"({"items":[
 {"metadata":{"name":"apps"},"versions":[
  {"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},
   "scope":"Namespaced","verbs":["list"]}]},
  {"version":"v2alpha1","resources":[
   {"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced",
    "verbs":["list"]},
   {"resource":"rollouts","responseKind":{"kind":"Rollout"},"scope":"Namespaced",
    "verbs":["list"]}]},
  {"version":"v1beta1","resources":[{"resource":"rollouts","responseKind":{"kind":"Rollout"},
   "scope":"Namespaced","verbs":["list"]}]}]},
 {"metadata":{"name":"serving.knative.dev"},"versions":[{"version":"v1","resources":[
  {"resource":"services","responseKind":{"kind":"Service"},"scope":"Namespaced",
   "verbs":["list"]},
  {"resource":"aservices","responseKind":{"kind":"Service"},"scope":"Namespaced",
   "verbs":["list"]}]}]},
 {"metadata":{"name":"metrics.k8s.io"},"versions":[
  {"version":"v1beta1","freshness":"Stale","resources":[]}]}]})";

Discovery sample() {
  Discovery discovery;
  EXPECT_TRUE(add_aggregated(discovery, kCore));
  EXPECT_TRUE(add_aggregated(discovery, kGroups));
  finish_discovery(discovery);
  return discovery;
}

TEST(Discovery, AggregatedDocuments) {
  const Discovery d = sample();
  auto pod = d.find("", "v1", "Pod");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->resource.path("a/b"), "/api/v1/namespaces/a%2Fb/pods");
  EXPECT_EQ(d.find("", "v1", "Node")->resource.path(""), "/api/v1/nodes");
  EXPECT_FALSE(d.find("", "v1", "Node")->resource.namespaced);
  EXPECT_THAT(d.group_versions.at("apps"), ElementsAre("v1", "v2alpha1", "v1beta1"));
  // Of two entries the one first in name order.
  EXPECT_EQ(d.find("serving.knative.dev", "v1", "Service")->resource.plural, "aservices");
}

// L-1
TEST(Discovery, AnotherVersionIsFound) {
  const Discovery d = sample();
  auto deployment = d.find("apps", "v9", "Deployment");
  ASSERT_TRUE(deployment);
  EXPECT_TRUE(deployment->other_version);
  EXPECT_EQ(deployment->resource.version, "v1");  // preferred
  auto rollout = d.find("apps", "v1", "Rollout");
  ASSERT_TRUE(rollout);
  EXPECT_EQ(rollout->resource.version, "v1beta1");  // the preferred one has it not: the highest
  EXPECT_FALSE(d.find("apps", "v2alpha1", "Rollout")->other_version);
}

TEST(Discovery, NearMissesAreNamed) {
  const Discovery d = sample();
  const auto error = [&d](std::string_view group, std::string_view kind) {
    auto found = d.find(group, "v1", kind);
    EXPECT_FALSE(found);
    EXPECT_EQ(found.error().reason, "gvk-not-found");
    EXPECT_EQ(found.error().kind, base::ErrorKind::kNotFound);
    return found.error().message;
  };
  EXPECT_THAT(error("core", "Pod"), HasSubstr("leave the group empty"));  // L-9
  EXPECT_THAT(error("extensions", "Deployment"), HasSubstr("Deployment.apps"));
  EXPECT_THAT(error("apps", "deployment"), HasSubstr("Deployment.apps"));
  EXPECT_THAT(error("apps", "Deploiment"),
              HasSubstr("Deployment"));  // field-missing-kind-does-not-stop-others
  EXPECT_THAT(error("", "Binding"), HasSubstr("cannot be listed"));
}

// L-10
TEST(Discovery, AFailedGroupIsNotUnserved) {
  const Discovery d = sample();
  auto metrics = d.find("metrics.k8s.io", "v1beta1", "PodMetrics");
  ASSERT_FALSE(metrics);
  EXPECT_EQ(metrics.error().kind, base::ErrorKind::kRetryable);
  EXPECT_NE(metrics.error().reason, "gvk-not-found");
}

TEST(Discovery, VersionOrder) {
  std::vector<std::string> names = {"v1alpha1", "v1",      "foo",  "v2",       "v1beta2",
                                    "v10",      "v1beta1", "bar1", "v11alpha2"};
  std::ranges::sort(names, version_before);
  EXPECT_THAT(names, ElementsAre("v10", "v2", "v1", "v1beta2", "v1beta1", "v11alpha2", "v1alpha1",
                                 "bar1", "foo"));
}

// ---- over HTTP

ClientOptions quick() {
  ClientOptions options;
  options.retries = 0;
  return options;
}

base::Result<Discovery> discover(const HttpServer& server) {
  ClusterConfig config;
  config.server = server.url();
  Client client(std::make_shared<http::Client>(), config, quick(), nullptr);
  return client.discover(kContext);
}

TEST(Discovery, AsksForTheAggregatedForm) {
  HttpServer server([](const Received& r) {
    Reply reply;
    reply.headers = {{"Content-Type", kAggregatedType}};
    reply.body = r.path() == "/api" ? kCore : kGroups;
    return reply;
  });
  auto d = discover(server);
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_TRUE(d->find("apps", "v1", "Deployment"));
  ASSERT_EQ(server.received().size(), 2U);
  EXPECT_THAT(server.received()[0].header("accept"),
              AllOf(HasSubstr("v=v2;as=APIGroupDiscoveryList"), HasSubstr("v=v2beta1")));
}

Reply classic(const Received& r) {
  const std::map<std::string, std::string> documents = {
      {"/api", R"({"kind":"APIVersions","versions":["v1"]})"},
      {"/apis", R"({"kind":"APIGroupList","groups":[
         {"name":"apps","versions":[{"groupVersion":"apps/v1beta1","version":"v1beta1"},
          {"groupVersion":"apps/v1","version":"v1"}],
          "preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
         {"name":"broken.test","versions":[{"groupVersion":"broken.test/v1","version":"v1"}]},
         {"name":"gone.test","versions":[{"groupVersion":"gone.test/v1","version":"v1"}]}]})"},
      {"/api/v1", R"({"resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list"]},
         {"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["get"]}]})"},
      {"/apis/apps/v1beta1", R"({"resources":[]})"},
      {"/apis/apps/v1", R"({"resources":[{"name":"deployments","kind":"Deployment",
         "namespaced":true,"verbs":["list","watch"]}]})"}};
  if (r.path() == "/apis/broken.test/v1") return Reply::json("no endpoints", 503);
  const auto it = documents.find(r.path());
  return it == documents.end() ? Reply::json("", 404) : Reply::json(it->second);
}

TEST(Discovery, FallsBackToTheClassicForm) {
  for (const bool refuse : {false, true}) {
    HttpServer server([refuse](const Received& r) {
      const bool plain = r.header("accept") == "application/json";
      return refuse && !plain ? Reply::json("", 406) : classic(r);
    });
    auto d = discover(server);
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_TRUE(d->find("", "v1", "Pod"));
    EXPECT_EQ(d->find("apps", "v2", "Deployment")->resource.version, "v1");
    EXPECT_THAT(d->group_versions.at("apps"), ElementsAre("v1", "v1beta1"));
    auto broken = d->find("broken.test", "v1", "Thing");  // L-10
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().reason, "transient");
    auto gone = d->find("gone.test", "v1", "Thing");
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().reason, "gvk-not-found");
  }
}

// L-10: what concerns the server is never "kind not found".
TEST(Discovery, TroubleOfTheServerIsItsOwnError) {
  const auto reason_at = [](int status) {
    HttpServer server([status](const Received&) {
      return Reply::json(R"({"kind":"Status","message":"because"})", status);
    });
    auto d = discover(server);
    EXPECT_FALSE(d);
    return d ? std::string() : d.error().reason;
  };
  EXPECT_EQ(reason_at(401), "unauthorized");
  EXPECT_EQ(reason_at(403), "forbidden");
  EXPECT_EQ(reason_at(500), "transient");
  ClusterConfig config;
  config.server = "http://127.0.0.1:" + std::to_string(testing::dead_port());
  Client client(std::make_shared<http::Client>(), config, {}, nullptr);
  auto dead = client.discover(kContext);
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().reason, "unreachable");
}

TEST(Discovery, SilenceIsATimeoutAndNoCancellation) {
  HttpServer server([](const Received&) {
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  ClusterConfig config;
  config.server = server.url();
  ClientOptions options = quick();
  options.discovery_timeout = std::chrono::milliseconds(30);
  Client client(std::make_shared<http::Client>(), config, options, nullptr);
  auto silent = client.discover(kContext);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(silent.error().reason, "timeout");
  auto gone = client.discover(kContext.with_timeout(std::chrono::milliseconds(10)));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, base::ErrorKind::kCancelled);
}

TEST(Discovery, GarbageIsAnError) {
  for (const char* body : {"", "<html>", "[]", R"({"items":[)"}) {
    HttpServer server([body](const Received&) {
      Reply reply;
      reply.headers = {{"Content-Type", kAggregatedType}};
      reply.body = body;
      return reply;
    });
    EXPECT_FALSE(discover(server)) << body;
  }
}

}  // namespace
}  // namespace kollect::kube
