// What webhooks of a process need, and what their rules look up.
#include "manager/webhooks.h"

#include <gtest/gtest.h>

#include "manager/admission_lookup.h"
#include "support/fake_kube.h"

namespace kollect::manager {
namespace {

TEST(Webhooks, FlagsMustFitTogether) {
  WebhookOptions options;
  EXPECT_TRUE(check(options));
  options.self_signed = true;
  for (const char* service : {"", "name", "/name", "ns/", "ns/name/more"}) {
    options.service = service;
    EXPECT_FALSE(check(options)) << service;
  }
  options.service = "ns/name";
  EXPECT_TRUE(check(options));
  options.secret = "";
  EXPECT_FALSE(check(options));
  options.enabled = false;
  EXPECT_TRUE(check(options));
}

TEST(Webhooks, RulesSeeTheLimitsOfTheOperator) {
  ManagerOptions options;
  EXPECT_FALSE(settings_of(options).allow_loopback_sinks);
  options.sinks.allow_loopback = true;
  options.max_export_bytes = 7;
  options.tenant_mode = true;
  EXPECT_TRUE(settings_of(options).allow_loopback_sinks);
  EXPECT_EQ(settings_of(options).max_export_bytes, 7U);
  EXPECT_TRUE(settings_of(options).tenant_mode);
}

constexpr const char* kScopes =
    R"({"kind":"KollectScopeList","apiVersion":"kollect.dev/v1alpha1","metadata":{},"items":[)"
    R"({"metadata":{"name":"b","namespace":"n"},"spec":{"minExportInterval":"2m"}},)"
    R"({"metadata":{"name":"a","namespace":"n"},"spec":{"minExportInterval":"1m"}}]})";

/// Caches that have read nothing: everything is asked of the server.
class LookupOfTheServer : public ::testing::Test {
 protected:
  void answer(testing::Reply reply) {
    kube_.hook([reply](const testing::Received& request) -> std::optional<testing::Reply> {
      const std::string path = request.path();
      if (path == "/apis/kollect.dev/v1alpha1/namespaces/n/kollectscopes" ||
          path == "/apis/kollect.dev/v1alpha1/namespaces/n/kollectprofiles/p") {
        return reply;
      }
      return std::nullopt;
    });
  }

  testing::FakeKube kube_;
  kube::Client client_ = kube_.client();
  base::SystemClock clock_;
  ObjectCache<api::Profile> profiles_{"KollectProfile"};
  ObjectCache<api::Scope> scopes_{"KollectScope"};
  ObjectCache<api::ClusterScope> cluster_scopes_{"KollectClusterScope"};
  AdmissionLookup lookup_{
      {.profiles = profiles_, .scopes = scopes_, .cluster_scopes = cluster_scopes_},
      client_,
      clock_,
      {}};
};

TEST_F(LookupOfTheServer, TheFirstScopeByNameCounts) {
  answer(testing::Reply::json(kScopes));
  const auto scope = lookup_.scope("n");
  ASSERT_TRUE(scope) << scope.error().message;
  ASSERT_TRUE(*scope);
  EXPECT_EQ((*scope)->metadata.name, "a");
  EXPECT_EQ((*scope)->spec.min_export_interval, "1m");
}

TEST_F(LookupOfTheServer, NoScopeIsNoRule) {
  answer(testing::Reply::json(R"({"metadata":{},"items":[]})"));
  const auto scope = lookup_.scope("n");
  ASSERT_TRUE(scope) << scope.error().message;
  EXPECT_FALSE(*scope);
}

TEST_F(LookupOfTheServer, WhatCannotBeReadIsAnError) {
  answer(testing::FakeKube::status(403, "Forbidden"));
  EXPECT_FALSE(lookup_.scope("n"));
  EXPECT_FALSE(lookup_.profile("n", "p"));
  answer(testing::Reply::json(
      R"({"metadata":{},"items":[{"metadata":{"name":"a"},"spec":{"minExportInterval":7}}]})"));
  EXPECT_FALSE(lookup_.scope("n"));
}

TEST_F(LookupOfTheServer, AMissingProfileIsNone) {
  answer(testing::FakeKube::status(404, "NotFound"));
  const auto none = lookup_.profile("n", "p");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
  answer(testing::Reply::json(
      R"({"metadata":{"name":"p","namespace":"n"},"spec":{"targetGVK":{"version":"v1","kind":"Pod"}}})"));
  const auto found = lookup_.profile("n", "p");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->spec.target_gvk.kind, "Pod");
}

}  // namespace
}  // namespace kollect::manager
