// The collector against a scripted API server.
#include "collector/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/collector_test_support.h"
#include "support/fake_kube.h"

namespace kollect::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace collector::testing;
using kollect::testing::FakeKube;

using Object = FakeKube::Object;

CollectorOptions paged_options() {
  CollectorOptions options = quick_options();
  options.reflector.watch_list = false;
  options.page_size = 2;
  return options;
}

Object config_map(const std::string& ns, const std::string& name, const std::string& value = "v") {
  return {.plural = "configmaps",
          .ns = ns,
          .name = name,
          .uid = "uid-" + ns + "-" + name,
          .value = value};
}

const TargetText kMaps{.kind = kConfigMap, .attribute = {"value", "$.data.value"}};

class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() {
    for (const char* ns : {"a", "b", "c"}) kube_.put_namespace(ns);
  }
  FakeKube kube_;
  kube::Client client_ = kube_.client();
};

TEST_F(CollectorTest, RowsFollowObjects) {
  kube_.put(config_map("a", "one"));
  kube_.put(config_map("b", "two"));
  kube_.put(config_map("c", "three"));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, kMaps, {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/one b/two");
  kube_.put(config_map("a", "more"));
  EXPECT_TRUE(stage.has(owner, "a/more a/one b/two"));
  kube_.put(config_map("a", "one", "other"));
  kube_.remove("configmaps", "b", "two");
  EXPECT_TRUE(stage.has(owner, "a/more a/one"));
  EXPECT_EQ(stage.attributes(owner), R"({"value":"other"} {"value":"v"})");
  EXPECT_EQ(stage.open_watches(), "configmaps@*");
  stage.collector.unregister_target(owner);
  EXPECT_EQ(stage.rows(owner), "");
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches().empty(); }));  // X-25
}

}  // namespace
}  // namespace kollect::collector
