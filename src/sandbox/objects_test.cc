// Create, read, update, patch, delete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using base::json::Value;
using testing::at;
using testing::config_map;
using ::testing::ElementsAre;
using testing::Got;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using testing::names;
using testing::Server;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kMerge = "application/merge-patch+json";

TEST(SandboxObjects, CreateFillsWhatTheServerOwns) {
  Server server;
  const Got made = server.post(
      kMaps, R"({"metadata":{"name":"a","uid":"mine","generation":7,"creationTimestamp":"x",
                 "deletionTimestamp":"y","managedFields":[]},"data":{"k":"v"}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const Value object = made.json();
  EXPECT_EQ(at(object, "kind"), "ConfigMap");
  EXPECT_EQ(at(object, "apiVersion"), "v1");
  EXPECT_EQ(at(object, "metadata.namespace"), "default");
  EXPECT_EQ(at(object, "metadata.creationTimestamp"), "2026-02-03T04:05:06Z");
  EXPECT_THAT(at(object, "metadata.uid"), MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_EQ(at(object, "metadata.generation"), "");
  EXPECT_EQ(at(object, "metadata.deletionTimestamp"), "");
  EXPECT_EQ(server.get(kMaps + "/a").text, made.text);
  const Got again = server.post(kMaps, config_map("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(at(again.json(), "reason"), "AlreadyExists");
  EXPECT_EQ(at(again.json(), "message"), "configmaps \"a\" already exists");
}

TEST(SandboxObjects, CreateRefuses) {
  Server server;
  struct Case {
    std::string target;
    std::string body;
    int status;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {kMaps, R"({"metadata":{}})", 422, "Invalid"},
      {kMaps, R"({"metadata":{"name":"Upper"}})", 422, "Invalid"},
      {kMaps, R"({"metadata":{"name":"a","labels":{"b":"not ok"}}})", 422, "Invalid"},
      {kMaps, R"({"metadata":{"name":"a","namespace":"other"}})", 400, "BadRequest"},
      {kMaps, R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}})", 400, "BadRequest"},
      {kMaps, R"({"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}})", 400,
       "BadRequest"},
      {kMaps, R"({"metadata":{"name":"a","resourceVersion":"7"}})", 500, ""},
      {kMaps, "[]", 400, "BadRequest"},
      {kMaps, "{", 400, "BadRequest"},
      {"/api/v1/namespaces/nowhere/configmaps", config_map("a"), 404, "NotFound"},
      {"/api/v1/configmaps", config_map("a"), 405, "MethodNotAllowed"},
      {"/api/v1/namespaces", config_map("a.b"), 422, "Invalid"},
  };
  for (const Case& one : cases) {
    const Got got = server.post(one.target, one.body);
    EXPECT_EQ(got.status, one.status) << one.target << one.body << got.text;
    EXPECT_EQ(at(got.json(), "reason"), one.reason) << one.body;
    EXPECT_EQ(at(got.json(), "code"), std::to_string(one.status));
  }
  EXPECT_EQ(server.get("/api/v1/nonsense").status, 404);
  EXPECT_EQ(server.get("/apis/apps/v2/deployments").status, 404);
  EXPECT_EQ(server.call("POST", kMaps, "k8s", "application/cbor").status, 415);
  EXPECT_THAT(names(server.get(kMaps)), IsEmpty());
}

TEST(SandboxObjects, GenerateNameAndDryRun) {
  Server server;
  const Got made = server.post(kMaps, R"({"metadata":{"generateName":"a-"}})");
  EXPECT_THAT(at(made.json(), "metadata.name"), MatchesRegex("a-[a-z0-9]{5}"));
  EXPECT_EQ(server.post(kMaps + "?dryRun=All", config_map("b")).status, 201);
  EXPECT_EQ(server.get(kMaps + "/b").status, 404);
  // The same seed, the same names.
  Server other;
  EXPECT_EQ(at(other.post(kMaps, R"({"metadata":{"generateName":"a-"}})").json(), "metadata.name"),
            at(made.json(), "metadata.name"));
}

TEST(SandboxObjects, UpdateNeedsTheRightVersion) {
  Server server;
  Value object = server.post(kMaps, config_map("a")).json();
  const std::string first = at(object, "metadata.resourceVersion");
  object.find("data")->as_object().set("k", "w");
  const Got updated = server.call("PUT", kMaps + "/a", base::json::compact(object));
  EXPECT_EQ(updated.status, 200);
  EXPECT_NE(at(updated.json(), "metadata.resourceVersion"), first);
  const Got stale = server.call("PUT", kMaps + "/a", base::json::compact(object));
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(at(stale.json(), "reason"), "Conflict");
  // Without a version it is written whatever stands there; the same content is no new version.
  const std::string body = config_map("a");
  const std::string version =
      at(server.call("PUT", kMaps + "/a", body).json(), "metadata.resourceVersion");
  EXPECT_EQ(at(server.call("PUT", kMaps + "/a", body).json(), "metadata.resourceVersion"), version);
  EXPECT_EQ(server.call("PUT", kMaps + "/b", config_map("b")).status, 404);
  EXPECT_EQ(server.call("PUT", kMaps + "/a", config_map("b")).status, 400);
  object.find("metadata")->as_object().erase("resourceVersion");
  object.find("metadata")->as_object().set("uid", "other");
  EXPECT_EQ(server.call("PUT", kMaps + "/a", base::json::compact(object)).status, 409);
}

TEST(SandboxObjects, StatusAndGenerationGoTheirOwnWays) {
  Server server;
  const Got made = server.post(
      kDeployments, R"({"metadata":{"name":"d"},"spec":{"replicas":1},"status":{"replicas":9}})");
  EXPECT_EQ(at(made.json(), "metadata.generation"), "1");
  EXPECT_EQ(at(made.json(), "status"), "");
  const Got status = server.call("PATCH", kDeployments + "/d/status",
                                 R"({"spec":{"replicas":5},"status":{"replicas":3}})", kMerge);
  EXPECT_EQ(status.status, 200) << status.text;
  EXPECT_EQ(at(status.json(), "spec.replicas"), "1");
  EXPECT_EQ(at(status.json(), "status.replicas"), "3");
  EXPECT_EQ(at(status.json(), "metadata.generation"), "1");
  const Got spec = server.call("PATCH", kDeployments + "/d",
                               R"({"spec":{"replicas":5},"status":{"replicas":4}})", kMerge);
  EXPECT_EQ(at(spec.json(), "spec.replicas"), "5");
  EXPECT_EQ(at(spec.json(), "status.replicas"), "3");
  EXPECT_EQ(at(spec.json(), "metadata.generation"), "2");
  const Got label =
      server.call("PATCH", kDeployments + "/d", R"({"metadata":{"labels":{"a":"b"}}})", kMerge);
  EXPECT_EQ(at(label.json(), "metadata.generation"), "2");
  EXPECT_EQ(at(server.get(kDeployments + "/d/status").json(), "status.replicas"), "3");
  EXPECT_EQ(server.get(kMaps + "/d/status").status, 404);
}

TEST(SandboxObjects, Patches) {
  Server server;
  server.post(kMaps, config_map("a", R"({"x":"1"})"));
  const auto patch = [&](const std::string& body, const std::string& type) {
    return server.call("PATCH", kMaps + "/a", body, type);
  };
  EXPECT_EQ(at(patch(R"({"data":{"k":null,"l":"m"}})", kMerge).json(), "data"), R"({"l":"m"})");
  const std::string json_patch = "application/json-patch+json";
  EXPECT_EQ(at(patch(R"([{"op":"add","path":"/data/n","value":"o"},
                         {"op":"test","path":"/data/l","value":"m"},
                         {"op":"move","from":"/data/l","path":"/data/a~1b"},
                         {"op":"copy","from":"/data/n","path":"/data/p"},
                         {"op":"replace","path":"/data/n","value":"q"},
                         {"op":"remove","path":"/metadata/labels"}])",
                     json_patch)
                   .json(),
               "data"),
            R"({"n":"q","a/b":"m","p":"o"})");
  EXPECT_EQ(patch(R"([{"op":"test","path":"/data/n","value":"x"}])", json_patch).status, 422);
  EXPECT_EQ(patch(R"([{"op":"remove","path":"/data/none"}])", json_patch).status, 422);
  EXPECT_EQ(patch(R"([{"op":"jump","path":"/data"}])", json_patch).status, 400);
  EXPECT_EQ(patch(R"({"metadata":{"resourceVersion":"1"}})", kMerge).status, 409);
  EXPECT_EQ(patch(R"({"metadata":{"name":"b"}})", kMerge).status, 400);
  EXPECT_EQ(patch("{}", "text/plain").status, 415);
  EXPECT_EQ(server.call("PATCH", kMaps + "/none", "{}", kMerge).status, 404);
}

TEST(SandboxObjects, StrategicMergeKnowsTheListsOfPods) {
  Server server;
  server.post(kDeployments,
              R"({"metadata":{"name":"d","finalizers":["a/b","c/d"]},"spec":{"template":{"spec":{
    "containers":[{"name":"app","image":"app:1","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},
                  {"name":"proxy","image":"proxy:1"}],
    "volumes":[{"name":"v","emptyDir":{}}],"nodeSelector":{"a":"b","c":"d"}}}}})");
  const Got got = server.call("PATCH", kDeployments + "/d", R"({
    "metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"],"finalizers":["e/f"]},
    "spec":{"template":{"spec":{
    "$setElementOrder/containers":[{"name":"new"},{"name":"app"}],
    "containers":[{"name":"app","image":"app:2","ports":[{"containerPort":81}],"env":[{"name":"A","$patch":"delete"},{"name":"B","value":"3"}]},
                  {"name":"proxy","$patch":"delete"},{"name":"new","image":"new:1"}],
    "volumes":[{"name":"v","$retainKeys":["name","secret"],"secret":{"secretName":"s"}}],
    "nodeSelector":{"$patch":"replace","x":"y"}}}}})",
                              "application/strategic-merge-patch+json");
  ASSERT_EQ(got.status, 200) << got.text;
  const Value object = got.json();
  EXPECT_EQ(at(object, "metadata.finalizers"), R"(["c/d","e/f"])");
  EXPECT_EQ(
      at(object, "spec.template.spec.containers"),
      R"([{"name":"new","image":"new:1"},{"name":"app","image":"app:2",)"
      R"("ports":[{"containerPort":81},{"containerPort":80}],"env":[{"name":"B","value":"3"}]}])");
  EXPECT_EQ(at(object, "spec.template.spec.volumes"),
            R"([{"name":"v","secret":{"secretName":"s"}}])");
  EXPECT_EQ(at(object, "spec.template.spec.nodeSelector"), R"({"x":"y"})");
}

TEST(SandboxObjects, ApplyCreatesMergesAndTakesBack) {
  Server server;
  const std::string type = "application/apply-patch+yaml";
  const std::string target = kMaps + "/a?fieldManager=me";
  const Got made = server.call("PATCH", target,
                               "apiVersion: v1\nkind: ConfigMap\ndata: {a: '1', b: '2'}\n", type);
  EXPECT_EQ(made.status, 201) << made.text;
  server.call("PATCH", kMaps + "/a", R"({"data":{"c":"3"}})", kMerge);
  const Got again =
      server.call("PATCH", target, "apiVersion: v1\nkind: ConfigMap\ndata: {b: '5'}\n", type);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(at(again.json(), "data"), R"({"b":"5","c":"3"})");
  EXPECT_EQ(server.call("PATCH", kMaps + "/a", "data: {}", type).status, 422);
}

TEST(SandboxObjects, DeleteWaitsForFinalizers) {
  Server server;
  server.post(kMaps, R"({"metadata":{"name":"a","finalizers":["x/y"]}})");
  const Got deleted = server.call("DELETE", kMaps + "/a");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(at(deleted.json(), "kind"), "ConfigMap");
  EXPECT_EQ(at(deleted.json(), "metadata.deletionTimestamp"), "2026-02-03T04:05:06Z");
  EXPECT_EQ(server.get(kMaps + "/a").status, 200);
  EXPECT_EQ(
      server.call("PATCH", kMaps + "/a", R"({"metadata":{"finalizers":["x/y","z/z"]}})", kMerge)
          .status,
      422);
  EXPECT_EQ(
      server.call("PATCH", kMaps + "/a", R"({"metadata":{"finalizers":null}})", kMerge).status,
      200);
  EXPECT_EQ(server.get(kMaps + "/a").status, 404);
  server.post(kMaps, config_map("b"));
  EXPECT_EQ(server.call("DELETE", kMaps + "/b", R"({"preconditions":{"uid":"other"}})").status,
            409);
  EXPECT_EQ(
      server.call("DELETE", kMaps + "/b", R"({"preconditions":{"resourceVersion":"1"}})").status,
      409);
  const Got gone = server.call("DELETE", kMaps + "/b");
  EXPECT_EQ(at(gone.json(), "status"), "Success");
  EXPECT_EQ(at(gone.json(), "details.kind"), "configmaps");
  EXPECT_EQ(server.call("DELETE", kMaps + "/b").status, 404);
}

TEST(SandboxObjects, DeleteCollectionTakesSelectors) {
  Server server;
  server.post(kMaps, config_map("a", R"({"x":"1"})"));
  server.post(kMaps, config_map("b", R"({"x":"2"})"));
  EXPECT_THAT(names(server.call("DELETE", kMaps + "?labelSelector=x%3D1")),
              ElementsAre("default/a"));
  EXPECT_THAT(names(server.get(kMaps)), ElementsAre("default/b"));
}

TEST(SandboxObjects, NamespacesGoWithTheirContent) {
  Server server;
  EXPECT_EQ(
      at(server.post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").json(), "status.phase"),
      "Active");
  const std::string maps = "/api/v1/namespaces/n/configmaps";
  server.post(maps, config_map("a"));
  server.post(maps, R"({"metadata":{"name":"b","finalizers":["x/y"]}})");
  const Got deleted = server.call("DELETE", "/api/v1/namespaces/n");
  EXPECT_EQ(at(deleted.json(), "status.phase"), "Terminating");
  EXPECT_THAT(names(server.get(maps)), ElementsAre("n/b"));
  EXPECT_EQ(server.post(maps, config_map("c")).status, 403);
  server.call("PATCH", maps + "/b", R"({"metadata":{"finalizers":[]}})", kMerge);
  EXPECT_EQ(server.get("/api/v1/namespaces/n").status, 404);
}

TEST(SandboxObjects, SecretsFoldTheirText) {
  Server server;
  const Got made = server.post("/api/v1/namespaces/default/secrets",
                               R"({"metadata":{"name":"s"},"stringData":{"a":"hello"}})");
  EXPECT_EQ(at(made.json(), "data.a"), "aGVsbG8=");
  EXPECT_EQ(at(made.json(), "stringData"), "");
  EXPECT_EQ(at(made.json(), "type"), "Opaque");
}

TEST(SandboxObjects, ScaleIsAViewOfTheReplicas) {
  Server server;
  ASSERT_EQ(server
                .post(kDeployments, R"({"metadata":{"name":"web"},"spec":{"replicas":2,"selector":)"
                                    R"({"matchLabels":{"b":"2","a":"1"}}}})")
                .status,
            201);
  const std::string scale = kDeployments + "/web/scale";
  const Got got = server.get(scale);
  EXPECT_EQ(at(got.json(), "kind"), "Scale");
  EXPECT_EQ(at(got.json(), "spec.replicas"), "2");
  EXPECT_EQ(at(got.json(), "status"), R"({"replicas":0,"selector":"a=1,b=2"})");
  std::string changed = got.text;
  changed.replace(changed.find(R"("replicas":2)"), 12, R"("replicas":5)");
  EXPECT_EQ(at(server.call("PUT", scale, changed).json(), "spec.replicas"), "5");
  EXPECT_EQ(server.call("PUT", scale, changed).status, 409);
  EXPECT_EQ(server.call("PATCH", scale, R"({"spec":{"replicas":0}})", kMerge).status, 200);
  EXPECT_EQ(at(server.get(kDeployments + "/web").json(), "spec.replicas"), "0");
  EXPECT_EQ(at(server.get(kDeployments + "/web").json(), "metadata.generation"), "3");
  EXPECT_EQ(server.call("PATCH", scale, R"({"spec":{"replicas":-1}})", kMerge).status, 422);
  EXPECT_EQ(server.get(kDeployments + "/none/scale").status, 404);
  EXPECT_EQ(server.call("DELETE", scale).status, 405);
}

TEST(SandboxObjects, OptionsThatThereAreNoneOfAreRefused) {
  Server server;
  server.post(kMaps, config_map("a"));
  EXPECT_EQ(server.post(kMaps + "?dryRun=Some", config_map("b")).status, 422);
  EXPECT_EQ(server.call("DELETE", kMaps + "/a?propagationPolicy=Up").status, 422);
  EXPECT_EQ(server.call("DELETE", kMaps + "/a", R"({"propagationPolicy":"Up"})").status, 422);
  EXPECT_EQ(server.call("DELETE", kMaps + "/a", R"({"dryRun":["All"]})").status, 200);
  EXPECT_EQ(server.call("DELETE", kMaps, R"({"dryRun":["All"]})").status, 200);
  EXPECT_EQ(server.get(kMaps + "/a").status, 200);
}

TEST(SandboxDiscovery, BothForms) {
  Server server;
  EXPECT_EQ(at(server.get("/version").json(), "major"), "1");
  EXPECT_EQ(server.get("/readyz").text, "ok");
  EXPECT_EQ(at(server.get("/api").json(), "versions"), R"(["v1"])");
  EXPECT_THAT(server.get("/apis").text, HasSubstr(R"("groupVersion":"apps/v1")"));
  EXPECT_EQ(at(server.get("/apis/apps").json(), "preferredVersion.version"), "v1");
  EXPECT_THAT(server.get("/apis/apps/v1").text, HasSubstr(R"("name":"deployments/status")"));
  EXPECT_THAT(server.get("/api/v1").text, HasSubstr(R"("shortNames":["cm"])"));
  EXPECT_EQ(server.get("/apis/none").status, 404);
  const Got all = server.call(
      "GET", "/apis", "", "",
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json");
  EXPECT_EQ(at(all.json(), "kind"), "APIGroupDiscoveryList");
  EXPECT_THAT(all.header("Content-Type"), HasSubstr("as=APIGroupDiscoveryList"));
  EXPECT_THAT(all.text, HasSubstr(R"("resource":"deployments")"));
}

}  // namespace
}  // namespace kollect::sandbox
