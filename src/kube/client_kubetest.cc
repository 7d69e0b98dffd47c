// The client against a real kube-apiserver.
#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/json/document.h"
#include "support/kube_server.h"

namespace kollect::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KubeServer;

const base::Context kContext = base::Context::background();

Client client_of(const std::filesystem::path& kubeconfig) {
  auto config = Kubeconfig::load({kubeconfig});
  EXPECT_TRUE(config) << config.error().message;
  auto cluster = config->resolve(config->current_context());
  EXPECT_TRUE(cluster) << cluster.error().message;
  return Client(std::make_shared<http::Client>(), std::move(*cluster), {}, nullptr);
}

struct NameCollector : ListReceiver {
  base::Result<> begin() override {
    names.clear();
    return {};
  }
  base::Result<> page(std::string_view text) override {
    base::json::ListHandler handler;
    handler.on_item = [this](base::json::View item) -> base::Result<> {
      names.emplace_back(item.at_path({"metadata", "name"})->as_string());
      return {};
    };
    auto head = base::json::walk_list(text, handler);
    if (!head) return head.error();
    return {};
  }
  std::vector<std::string> names;
};

class ClientKube : public ::testing::Test {
 protected:
  KubeServer& server_ = KubeServer::shared();
  Client admin_ = client_of(server_.kubeconfig());

  void make_namespace(const std::string& name) {
    auto made = admin_.request(kContext, "POST", "/api/v1/namespaces",
                               R"({"metadata":{"name":")" + name + R"("}})");
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_THAT(made->status, ::testing::AnyOf(201, 409)) << made->body;
  }
  void make_config_maps(const std::string& ns, int count, const std::string& label) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "cm-" + std::to_string(1000 + i);
      auto made = admin_.request(kContext, "POST", "/api/v1/namespaces/" + ns + "/configmaps",
                                 R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" +
                                     label + R"("}},"data":{"k":"v"}})");
      ASSERT_TRUE(made) << made.error().message;
      ASSERT_EQ(made->status, 201) << made->body;
    }
  }
};

TEST_F(ClientKube, DiscoveryFindsBuiltInKinds) {
  auto discovery = admin_.discover(kContext);
  ASSERT_TRUE(discovery) << discovery.error().message;
  EXPECT_THAT(discovery->failed_groups, IsEmpty());
  auto deployments = discovery->find("apps", "v1", "Deployment");
  ASSERT_TRUE(deployments);
  EXPECT_EQ(deployments->resource.path("shop"), "/apis/apps/v1/namespaces/shop/deployments");
  EXPECT_TRUE(deployments->resource.namespaced);
  EXPECT_FALSE(deployments->other_version);
  auto other = discovery->find("apps", "v1beta1", "Deployment");
  ASSERT_TRUE(other);  // L-1
  EXPECT_TRUE(other->other_version);
  auto core = discovery->find("core", "v1", "Service");
  ASSERT_FALSE(core);  // L-9
  EXPECT_EQ(core.error().reason, "gvk-not-found");
  EXPECT_THAT(core.error().message, HasSubstr("leave the group empty"));
  auto review = discovery->find("authorization.k8s.io", "v1", "SelfSubjectAccessReview");
  ASSERT_FALSE(review);
  EXPECT_THAT(review.error().message, HasSubstr("cannot be listed"));
}

TEST_F(ClientKube, ListReadsAllPagesInOrder) {
  make_namespace("paging");
  make_config_maps("paging", 23, "x");
  auto discovery = admin_.discover(kContext);
  ListQuery query;
  query.resource = discovery->find("", "v1", "ConfigMap")->resource;
  query.ns = "paging";
  query.label_selector = "app=x";
  query.page_size = 5;
  NameCollector names;
  auto outcome = admin_.list(kContext, query, names);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->items, 23U);
  EXPECT_EQ(outcome->pages, 5U);
  EXPECT_THAT(outcome->resource_version, ::testing::Not(IsEmpty()));
  ASSERT_EQ(names.names.size(), 23U);
  EXPECT_TRUE(std::ranges::is_sorted(names.names));
}

TEST_F(ClientKube, RightsAreToldApart) {
  auto discovery = admin_.discover(kContext);
  const Resource maps = discovery->find("", "v1", "ConfigMap")->resource;
  Client nobody = client_of(server_.kubeconfig_of("nobody"));
  NameCollector names;
  ListQuery query;
  query.resource = maps;
  auto denied = nobody.list(kContext, query, names);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(denied.error().reason, "forbidden");
  EXPECT_THAT(denied.error().message, HasSubstr("cannot list"));
  EXPECT_EQ(nobody.can_i(kContext, "list", maps, "paging"), false);
  EXPECT_EQ(admin_.can_i(kContext, "list", maps, ""), true);
}

TEST_F(ClientKube, AWrongTokenIsUnauthorized) {
  ClusterConfig config = admin_.config();
  config.client_cert_pem.clear();
  config.client_key_pem = base::Secret();
  config.token = base::Secret("wrong-token");
  Client client(std::make_shared<http::Client>(), config, {}, nullptr);
  auto discovery = client.discover(kContext);
  ASSERT_FALSE(discovery);
  EXPECT_EQ(discovery.error().reason, "unauthorized");
  EXPECT_THAT(discovery.error().message, ::testing::Not(HasSubstr("wrong-token")));
}

TEST_F(ClientKube, ImpersonationIsHonoured) {
  ClusterConfig config = admin_.config();
  config.impersonate.emplace();
  config.impersonate->user = "alice";
  config.impersonate->groups = {"team-a", "team-z"};
  config.impersonate->extra["example.test/reason"] = {"audit"};
  Client client(std::make_shared<http::Client>(), config, {}, nullptr);
  auto review =
      client.request(kContext, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                     R"({"apiVersion":"authentication.k8s.io/v1",)"
                     R"("kind":"SelfSubjectReview"})");
  ASSERT_TRUE(review) << review.error().message;
  ASSERT_EQ(review->status, 201) << review->body;
  EXPECT_THAT(review->body, HasSubstr(R"("username":"alice")"));
  EXPECT_THAT(review->body, HasSubstr("team-z"));
  EXPECT_THAT(review->body, HasSubstr(R"("example.test/reason":["audit"])"));
}

// L-57, field-continue-token-expires: etcd forgets the revision between two pages.
TEST_F(ClientKube, ACompactedListBeginsAnew) {
  make_namespace("compacted");
  make_config_maps("compacted", 12, "z");
  auto discovery = admin_.discover(kContext);
  ListQuery query;
  query.resource = discovery->find("", "v1", "ConfigMap")->resource;
  query.ns = "compacted";
  query.page_size = 5;
  struct Compacting : NameCollector {
    base::Result<> begin() override {
      ++tries;
      return NameCollector::begin();
    }
    base::Result<> page(std::string_view text) override {
      KL_TRY(NameCollector::page(text));
      if (tries == 1 && names.size() == 5) return between();
      return {};
    }
    std::function<base::Result<>()> between;
    int tries = 0;
  } names;
  names.between = [&]() -> base::Result<> {
    auto gone =
        admin_.request(kContext, "DELETE", "/api/v1/namespaces/compacted/configmaps/cm-1000");
    if (!gone) return gone.error();
    KL_TRY(server_.compact());
    // The API server's own copies of old states go as well.
    return server_.restart_apiserver();
  };
  ClientOptions options;
  options.read_ahead_bytes = 0;
  Client client(std::make_shared<http::Client>(), admin_.config(), options, nullptr);
  auto outcome = client.list(kContext, query, names);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(names.tries, 2);
  EXPECT_EQ(outcome->restarts, 1U);
  EXPECT_EQ(outcome->items, 11U);
  EXPECT_EQ(names.names.size(), 11U);
}

// Rights in one namespace only (pipeline case 6).
TEST_F(ClientKube, RightsInOneNamespace) {
  make_namespace("team-a");
  make_config_maps("team-a", 2, "x");
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/";
  auto role = admin_.request(kContext, "POST", rbac + "roles",
                             R"({"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],)"
                             R"("resources":["configmaps"],"verbs":["get","list"]}]})");
  ASSERT_TRUE(role && role->status == 201);
  auto binding = admin_.request(
      kContext, "POST", rbac + "rolebindings",
      R"({"metadata":{"name":"reader"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
      R"("kind":"Role","name":"reader"},"subjects":[{"kind":"Group","name":"team-a",)"
      R"("apiGroup":"rbac.authorization.k8s.io"}]})");
  ASSERT_TRUE(binding && binding->status == 201);
  Client alice = client_of(server_.kubeconfig_of("alice"));
  ListQuery query;
  query.resource = admin_.discover(kContext)->find("", "v1", "ConfigMap")->resource;
  query.ns = "team-a";
  NameCollector names;
  // The authorizer learns of the binding by its own watch, a moment later.
  while (alice.can_i(kContext, "list", query.resource, "team-a") == false) {
  }
  ASSERT_TRUE(alice.list(kContext, query, names));
  EXPECT_EQ(names.names.size(), 2U);
  EXPECT_EQ(alice.can_i(kContext, "list", query.resource, ""), false);
  query.ns = "default";
  EXPECT_EQ(alice.list(kContext, query, names).error().reason, "forbidden");
  query.ns.clear();
  EXPECT_EQ(alice.list(kContext, query, names).error().reason, "forbidden");
}

TEST_F(ClientKube, GetTellsMissingObjects) {
  make_namespace("getting");
  make_config_maps("getting", 1, "y");
  auto discovery = admin_.discover(kContext);
  const Resource maps = discovery->find("", "v1", "ConfigMap")->resource;
  auto object = admin_.get(kContext, maps, "getting", "cm-1000");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(*object, HasSubstr(R"("app":"y")"));
  auto missing = admin_.get(kContext, maps, "getting", "nope");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kNotFound);
}

}  // namespace
}  // namespace kollect::kube
