// The tables of spec selection and its section on time, on a real kube-apiserver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/write.h"
#include "collector/collector_test_support.h"
#include "support/kube_server.h"

namespace kollect::collector {
namespace {

using base::json::Value;
using kollect::testing::KubeServer;
using ::testing::HasSubstr;
using namespace collector::testing;

const base::Context kContext = base::Context::background();

kube::Client client_of(const std::filesystem::path& kubeconfig) {
  auto config = kube::Kubeconfig::load({kubeconfig});
  EXPECT_TRUE(config) << config.error().message;
  auto cluster = config->resolve(config->current_context());
  EXPECT_TRUE(cluster) << cluster.error().message;
  return kube::Client(std::make_shared<http::Client>(), std::move(*cluster), {}, nullptr);
}

std::string case_file(const std::string& name) {
  auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/select/" + name);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

Value cases_of(const char* table) {
  auto cases = base::yaml::read_one(case_file("cases.json"));
  EXPECT_TRUE(cases.has_value()) << cases.error().message;
  return *cases->find(table);
}

class CollectorKube : public ::testing::Test {
 protected:
  CollectorKube() {
    static const bool made = [&] {
      const auto applied = server_.kubectl(
          {"apply", "--server-side", "--force-conflicts", "-f", "-"}, case_file("fixture.yaml"));
      EXPECT_TRUE(applied) << applied.error().message;
      return true;
    }();
    EXPECT_TRUE(made);
  }

  /// Namespaces of the fixture that a target takes; those of other tests are left aside.
  std::vector<std::string> effective(Stage& stage, const select::Selection& selection,
                                     select::NamespaceLimits limits = {}) {
    EXPECT_TRUE(stage.wait([&] { return stage.collector.namespaces().known; }));
    select::Namespaces fixture;
    for (const auto& [name, ns] : *stage.collector.namespaces().all) {
      if (kFixture.contains(name)) fixture[name] = ns;
    }
    return selection.namespaces(fixture, limits).effective;
  }

  void add(Stage& stage, const std::string& name, const TargetText& text) {
    Registration registration = registration_of(target_owner(name), text, {});
    registration.effective = effective(stage, registration.selection);
    stage.collector.register_target(std::move(registration));
  }

  void run_table(const char* table, const api::GroupVersionKind& kind) {
    Stage stage(admin_);
    const Value cases = cases_of(table);
    for (const Value& c : cases.as_array()) {
      add(stage, std::string(c.text("case")),
          {.spec = base::json::compact(*c.find("spec")), .kind = kind});
    }
    for (const Value& c : cases.as_array()) {
      const std::string name(c.text("case"));
      SCOPED_TRACE(name);
      const inventory::Owner owner = target_owner(name);
      EXPECT_TRUE(stage.settles(owner));
      EXPECT_EQ(stage.rows(owner), c.text("rows"));
      const Value* errors = c.find("policyErrors");
      const std::uint64_t want = errors != nullptr ? errors->as_int() : 0;
      // Objects may be judged twice (a target that joined while the others' list was on its way).
      const Signals signals = stage.collector.signals(owner);
      EXPECT_EQ(signals.policy_errors > 0, want > 0);
      if (want > 0) {
        EXPECT_EQ(signals.policy_errors % want, 0U);
      }
    }
  }

  void apply(const std::string& yaml) {
    const auto applied =
        server_.kubectl({"apply", "--server-side", "--force-conflicts", "-f", "-"}, yaml);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void kubectl(const std::vector<std::string>& args) {
    const auto done = server_.kubectl(args);
    ASSERT_TRUE(done) << done.error().message;
  }

  static inline const std::set<std::string> kFixture = {"atlas", "boreas", "corvus", "draco",
                                                        "kube-system"};
  KubeServer& server_ = KubeServer::shared();
  kube::Client admin_ = client_of(server_.kubeconfig());
};

TEST_F(CollectorKube, TableO) {
  run_table("objects", kDeployment);
}
TEST_F(CollectorKube, TableR) {
  run_table("rules", kDeployment);
}
TEST_F(CollectorKube, TableC) {
  run_table("cluster", {"", "v1", "Node"});
}

}  // namespace
}  // namespace kollect::collector
