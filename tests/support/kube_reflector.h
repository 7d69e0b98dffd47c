// What tests of reflectors and writes on a real kube-apiserver share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "support/kube_server.h"

namespace kollect::testing {

inline const base::Context kContext = base::Context::background();

/// A CustomResourceDefinition of kind Boat in this group, with status and a small schema.
inline std::string boat_crd(const std::string& group, const std::string& version,
                            const std::string& scope = "Namespaced") {
  return fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: boats.{0}}}
spec:
  group: {0}
  scope: {2}
  names: {{plural: boats, singular: boat, kind: Boat}}
  versions:
    - name: {1}
      served: true
      storage: true
      subresources: {{status: {{}}}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                berth: {{type: string}}
                crew: {{type: integer, minimum: 0}}
            status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
)",
                     group, version, scope);
}

class KubeReflectorTest : public ::testing::Test {
 protected:
  static std::unique_ptr<kube::Client> client_of(const std::filesystem::path& kubeconfig) {
    auto config = kube::Kubeconfig::load({kubeconfig});
    EXPECT_TRUE(config) << config.error().message;
    auto cluster = config->resolve(config->current_context());
    EXPECT_TRUE(cluster) << cluster.error().message;
    return std::make_unique<kube::Client>(std::make_shared<http::Client>(), std::move(*cluster),
                                          kube::ClientOptions{}, nullptr);
  }

  KubeServer& server_ = KubeServer::shared();
  std::unique_ptr<kube::Client> admin_ = client_of(server_.kubeconfig());

  void expect_status(const std::string& method, const std::string& path, const std::string& body,
                     int status, const std::string& type = "application/json") {
    auto answer = admin_->request(kContext, method, path, body, type);
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->status, status) << answer->body;
  }
  void make_namespace(const std::string& name) {
    auto made = admin_->request(kContext, "POST", "/api/v1/namespaces",
                                R"({"metadata":{"name":")" + name + R"("}})");
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_THAT(made->status, ::testing::AnyOf(201, 409)) << made->body;
  }
  /// Waits until the server serves it.
  kube::Resource await_kind(const std::string& group, const std::string& kind,
                            const std::string& version = "v1") {
    while (true) {
      auto discovery = admin_->discover(kContext);
      if (!discovery) continue;
      auto found = discovery->find(group, version, kind);
      if (!found || found->other_version) continue;
      // Discovery is ahead of what serves the kind.
      auto listed = admin_->request(kContext, "GET", found->resource.path("") + "?limit=1");
      if (listed && listed->status == 200) return found->resource;
    }
  }
};

}  // namespace kollect::testing
