// Reflectors on a real kube-apiserver with etcd.
#include "kube/reflector.h"

#include <malloc.h>

#include <thread>

#include "base/files.h"
#include "support/kube_reflector.h"
#include "support/object_recorder.h"

namespace kollect::kube {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace testing;  // NOLINT: real servers
using namespace std::chrono_literals;

class ReflectorKube : public KubeReflectorTest {
 protected:
  const base::SystemClock clock_;
  ListGate gate_{4};
  ObjectRecorder seen_;
  ReflectorOptions options_;
  std::unique_ptr<Reflector> reflector_;

  void SetUp() override {
    options_.backoff_base = 50ms;
    options_.backoff_cap = 500ms;
  }
  void TearDown() override { reflector_.reset(); }

  static Resource config_maps() {
    Resource maps;
    maps.version = "v1";
    maps.kind = "ConfigMap";
    maps.plural = "configmaps";
    maps.namespaced = true;
    return maps;
  }
  void start(Client& client, WatchQuery query) {
    reflector_ = std::make_unique<Reflector>(client, std::move(query), seen_, gate_, clock_,
                                             nullptr, options_);
    reflector_->start();
  }
  void start_maps(const std::string& ns) {
    start(*admin_, {.resource = config_maps(), .ns = ns, .label_selector = "app=test"});
  }
  bool wait_for_state(ReflectorState state) {
    return seen_.wait([&] { return reflector_->status().state == state; });
  }
  bool wait_for_reason(const std::string& reason) {
    return seen_.wait([&] {
      const auto status = reflector_->status();
      return status.error && status.error->reason == reason;
    });
  }
  static std::string maps_of(const std::string& ns, const std::string& name = {}) {
    return "/api/v1/namespaces/" + ns + "/configmaps" + (name.empty() ? "" : "/" + name);
  }
  void make_map(const std::string& ns, const std::string& name, const std::string& app = "test") {
    expect_status("POST", maps_of(ns),
                  R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + app + R"("}}})",
                  201);
  }
  void label_map(const std::string& ns, const std::string& name, const std::string& app) {
    expect_status("PATCH", maps_of(ns, name), R"({"metadata":{"labels":{"app":")" + app + R"("}}})",
                  200, "application/merge-patch+json");
  }
  void delete_map(const std::string& ns, const std::string& name) {
    expect_status("DELETE", maps_of(ns, name), "", 200);
  }
  void make_boat(const Resource& resource, const std::string& name) {
    const std::string ns = resource.namespaced ? "default" : "";
    expect_status("POST", resource.path(ns),
                  R"({"apiVersion":")" + resource.group + "/" + resource.version +
                      R"(","kind":"Boat","metadata":{"name":")" + name + R"("}})",
                  201);
  }
  /// Rights on ConfigMaps of a namespace for a user of the test server.
  void grant(const std::string& ns, const std::string& user, const std::string& verbs) {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/";
    expect_status("POST", rbac + "roles",
                  R"({"metadata":{"name":")" + user + R"("},"rules":[{"apiGroups":[""],)" +
                      R"("resources":["configmaps"],"verbs":)" + verbs + "}]}",
                  201);
    expect_status("POST", rbac + "rolebindings",
                  R"({"metadata":{"name":")" + user +
                      R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",)"
                      R"("name":")" +
                      user + R"("},"subjects":[{"kind":"User","name":")" + user +
                      R"(","apiGroup":"rbac.authorization.k8s.io"}]})",
                  201);
  }
};

TEST_F(ReflectorKube, WhatIsMadeChangedAndRemovedIsSeen) {
  for (const bool streamed : {true, false}) {
    const std::string ns = streamed ? "seen-streamed" : "seen-paged";
    options_.watch_list = streamed;
    options_.page_size = 2;
    make_namespace(ns);
    for (const char* name : {"a", "b", "c"}) make_map(ns, name);
    make_map(ns, "other", "else");
    start_maps(ns);
    ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c"}));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_EQ(seen_.type_of("a"), "v1 ConfigMap");
    make_map(ns, "d");
    delete_map(ns, "a");
    label_map(ns, "other", "test");
    label_map(ns, "b", "else");
    ASSERT_TRUE(seen_.wait_for_names({"c", "d", "other"}));
    const auto before = seen_.objects().at("c");
    expect_status("PATCH", maps_of(ns, "c"), R"({"data":{"k":"v"}})", 200,
                  "application/merge-patch+json");
    ASSERT_TRUE(seen_.wait([&] { return seen_.objects().at("c") != before; }));
    // An event is counted after its receiver has it.
    ASSERT_TRUE(seen_.wait(
        [&] { return reflector_->status().resource_version == seen_.objects().at("c"); }));
    const auto status = reflector_->status();
    EXPECT_EQ(status.streamed_lists, streamed ? 1U : 0U);
    EXPECT_EQ(status.lists, 1U);
    EXPECT_GE(status.events, 5U);
    reflector_.reset();
  }
}

TEST_F(ReflectorKube, AnEmptyCollectionIsKnownToBeEmpty) {
  make_namespace("nothing-here");
  start_maps("nothing-here");
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_TRUE(reflector_->status().synced);
  EXPECT_EQ(reflector_->status().streamed_lists, 1U);
  EXPECT_THAT(seen_.calls(), ElementsAre("begin", "end"));
}

// field-watch-expired-revision, field-deleted-while-we-were-down
TEST_F(ReflectorKube, AfterACompactionTheListTellsWhatWent) {
  for (const bool streamed : {true, false}) {
    const std::string ns = streamed ? "compact-streamed" : "compact-paged";
    options_.watch_list = streamed;
    // It stays away until it is told: what happens meanwhile it cannot see.
    options_.backoff_base = options_.backoff_cap = 1h;
    make_namespace(ns);
    for (const char* name : {"a", "b", "c"}) make_map(ns, name);
    start_maps(ns);
    ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c"}));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    ASSERT_TRUE(server_.restart_apiserver());
    ASSERT_TRUE(seen_.wait([&] {
      const auto status = reflector_->status();
      return status.state == ReflectorState::kWaiting || status.cuts == 1;
    }));
    delete_map(ns, "b");
    make_map(ns, "d");
    ASSERT_TRUE(server_.compact());
    ASSERT_TRUE(server_.restart_apiserver());
    ASSERT_TRUE(seen_.wait([&] {
      reflector_->retry_now();
      return seen_.names() == std::vector<std::string>{"a", "c", "d"} &&
             reflector_->status().lists == 2;
    }));
    EXPECT_THAT(seen_.calls(), Not(Contains(StartsWith("gone")))) << "no event told it";
    EXPECT_EQ(reflector_->status().begun.expired, 1U);
    reflector_.reset();
  }
}

TEST_F(ReflectorKube, AServerThatComesBackIsWatchedOn) {
  make_namespace("restart");
  make_map("restart", "a");
  start_maps("restart");
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(server_.restart_apiserver());
    make_map("restart", "later-" + std::to_string(round));
    ASSERT_TRUE(
        seen_.wait([&] { return seen_.objects().contains("later-" + std::to_string(round)); }));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_FALSE(reflector_->status().error);
  }
  delete_map("restart", "a");
  ASSERT_TRUE(seen_.wait_for_names({"later-0", "later-1"}));
}

// field-service-account-token-rotates
TEST_F(ReflectorKube, ARotatedTokenIsUsedForTheNextConnection) {
  make_namespace("rotate");
  grant("rotate", "alice", R"(["list","watch"])");
  grant("rotate", "bob", R"(["list","watch"])");
  make_map("rotate", "a");
  const base::TempDir dir = *base::TempDir::create();
  ClusterConfig config = admin_->config();
  config.client_cert_pem.clear();
  config.client_key_pem = base::Secret();
  config.token_file = dir.path() / "token";
  ASSERT_TRUE(base::write_file_atomic(config.token_file, "alice-token\n"));
  Client client(std::make_shared<http::Client>(), config, {}, nullptr);
  while (client.can_i(kContext, "watch", config_maps(), "rotate") == false) {
  }
  start(client, {.resource = config_maps(), .ns = "rotate", .label_selector = "app=test"});
  ASSERT_TRUE(seen_.wait_for_names({"a"}));
  ASSERT_TRUE(base::write_file_atomic(config.token_file, "bob-token\n"));
  expect_status("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/rotate/rolebindings/alice",
                "", 200);
  make_map("rotate", "b");
  ASSERT_TRUE(seen_.wait_for_names({"a", "b"})) << "the open watch goes on";
  ASSERT_TRUE(server_.restart_apiserver());
  make_map("rotate", "c");
  ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c"}));
  // A token that is refused is shown, and a good one ends that.
  ASSERT_TRUE(base::write_file_atomic(config.token_file, "wrong-token\n"));
  ASSERT_TRUE(server_.restart_apiserver());
  ASSERT_TRUE(wait_for_reason("unauthorized"));
  EXPECT_EQ(reflector_->status().state, ReflectorState::kWaiting);
  make_map("rotate", "d");
  ASSERT_TRUE(base::write_file_atomic(config.token_file, "bob-token\n"));
  ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c", "d"}));
  reflector_.reset();
}

TEST_F(ReflectorKube, RightsThatComeLater) {
  make_namespace("later-rights");
  make_map("later-rights", "a");
  auto nobody = client_of(server_.kubeconfig_of("nobody"));
  start(*nobody, {.resource = config_maps(), .ns = "later-rights"});
  ASSERT_TRUE(wait_for_reason("forbidden"));
  EXPECT_EQ(reflector_->status().state, ReflectorState::kWaiting);
  EXPECT_THAT(reflector_->status().error->message, HasSubstr("cannot list resource"));
  EXPECT_FALSE(reflector_->status().synced);
  grant("later-rights", "nobody", R"(["list"])");
  // Now it may list, and is told that it may not watch.
  ASSERT_TRUE(seen_.wait([&] {
    const auto status = reflector_->status();
    return status.synced && status.error &&
           status.error->message.find("cannot watch resource") != std::string::npos;
  }));
  EXPECT_TRUE(seen_.objects().contains("a"));
  expect_status("PATCH", "/apis/rbac.authorization.k8s.io/v1/namespaces/later-rights/roles/nobody",
                R"({"rules":[{"apiGroups":[""],"resources":["configmaps"],)"
                R"("verbs":["list","watch"]}]})",
                200, "application/merge-patch+json");
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  make_map("later-rights", "b");
  ASSERT_TRUE(seen_.wait([&] { return seen_.objects().contains("b"); }));
  EXPECT_FALSE(reflector_->status().error);
  reflector_.reset();
}

// field-crd-deleted-and-recreated
TEST_F(ReflectorKube, AKindThatGoesAndComesBack) {
  const std::string group = "reflect.example";
  const auto apply = [&](const std::string& version, const std::string& scope) {
    auto applied = server_.kubectl({"apply", "-f", "-"}, boat_crd(group, version, scope));
    ASSERT_TRUE(applied) << applied.error().message;
  };
  const auto remove = [&] {
    auto removed = server_.kubectl({"delete", "crd", "boats." + group, "--wait"});
    ASSERT_TRUE(removed) << removed.error().message;
  };
  apply("v1", "Namespaced");
  const Resource boats = await_kind(group, "Boat");
  for (const char* name : {"a", "b", "c"}) make_boat(boats, name);
  start(*admin_, {.resource = boats});
  ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c"}));
  for (int round = 0; round < 2; ++round) {
    remove();
    ASSERT_TRUE(wait_for_reason("gvk-not-found"));
    EXPECT_TRUE(reflector_->status().synced) << "what was known is not forgotten by itself";
    apply("v1", "Namespaced");
    await_kind(group, "Boat");
    for (const char* name : {"x", "y", "z"}) make_boat(boats, name);
    ASSERT_TRUE(seen_.wait_for_names({"x", "y", "z"})) << round;
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_FALSE(reflector_->status().error);
  }
  // As another version and scope it is another resource: a new reflector's work.
  remove();
  apply("v2", "Cluster");
  const Resource newer = await_kind(group, "Boat", "v2");
  EXPECT_FALSE(newer.namespaced);
  make_boat(newer, "wide");
  ASSERT_TRUE(wait_for_reason("gvk-not-found"));
  reflector_.reset();
  start(*admin_, {.resource = newer});
  ASSERT_TRUE(seen_.wait_for_names({"wide"}));
  EXPECT_EQ(seen_.type_of("wide"), group + "/v2 Boat");
  reflector_.reset();
  remove();
}

/// Bytes that this program has allocated and not given back; pages that are free again do not
/// count, of which there are more the more threads share the processors.
std::size_t allocated() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(ReflectorKube, TwentyThousandObjectsInLittleMemory) {
  constexpr std::size_t kObjects = 20'000;
  constexpr std::size_t kThreads = 8;
  make_namespace("many");
  // Together 100 MB of JSON.
  const std::string data = R"(,"data":{"k":")" + std::string(4800, 'x') + R"("}})";
  std::atomic<std::size_t> made = 0;
  {
    std::vector<std::jthread> makers;
    for (std::size_t t = 0; t < kThreads; ++t) {
      makers.emplace_back([&] {
        for (std::size_t i = made++; i < kObjects; i = made++) {
          const auto answer = admin_->request(kContext, "POST", maps_of("many"),
                                              R"({"metadata":{"name":"cm-)" + std::to_string(i) +
                                                  R"(","labels":{"app":"test"}})" + data);
          ASSERT_TRUE(answer) << answer.error().message;
          ASSERT_EQ(answer->status, 201) << answer->body;
        }
      });
    }
  }
  for (const bool streamed : {true, false}) {
    struct Counter : ObjectReceiver {
      void begin_list() override { objects = 0; }
      void object(base::json::View) override {
        if (++objects % 100 == 0) most = std::max(most, allocated());
      }
      void deleted(base::json::View) override {}
      void end_list() override { done = true; }
      std::size_t objects = 0;
      std::size_t most = 0;
      std::atomic<bool> done = false;
    } counter;
    options_.watch_list = streamed;
    const std::size_t before = allocated();
    Reflector reflector(*admin_, {.resource = config_maps(), .ns = "many"}, counter, gate_, clock_,
                        nullptr, options_);
    reflector.start();
    ASSERT_TRUE(seen_.wait([&] { return counter.done.load(); }));
    EXPECT_GE(counter.objects, kObjects);
    EXPECT_EQ(reflector.status().streamed_lists, streamed ? 1U : 0U);
    const double most = static_cast<double>(counter.most - std::min(before, counter.most)) / 1e6;
    // Lists by pages may hold 16 MiB of pages unread and one that is read; streams 4 MiB.
    EXPECT_LT(most, streamed ? 16.0 : 40.0);
    RecordProperty(streamed ? "streamed_mb" : "paged_mb", std::to_string(most));
    std::printf("%s list: %.1f MB at most\n", streamed ? "streamed" : "paged", most);
  }
}

}  // namespace
}  // namespace kollect::kube
