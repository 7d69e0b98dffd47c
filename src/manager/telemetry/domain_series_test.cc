#include "manager/telemetry/domain_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NumberIn, TextsThatReadAsANumberToTheEnd) {
  const std::vector<std::pair<std::string, double>> good = {
      {"12", 12},    {"-3", -3},      {"+4", 4},        {"1e3", 1000}, {".5", 0.5},   {"5.", 5},
      {"0x1p4", 16}, {"1_000", 1000}, {"-0x1.8p1", -3}, {"0", 0},      {"1E-2", 0.01}};
  for (const auto& [text, number] : good) EXPECT_EQ(number_in(text), number) << text;
  for (const char* text : {"", " 1", "1 ", "500m", "0x10", "NaN", "inf", "-Infinity", "1e999",
                           "+-1", "--1", "_1", "1_", "1__0", "true", "1,5", "0x", "e5", "0x_p1"}) {
    EXPECT_FALSE(number_in(text)) << text;
  }
}

struct Rows {
  inventory::RowStore store;
  base::ManualClock clock;
  DomainSeries series{store, clock, 30s};
  std::vector<ShownTarget> targets;

  static inventory::Owner owner(const std::string& ns, const std::string& name) {
    return {.owner_class = inventory::OwnerClass::kTarget, .ns = ns, .name = name};
  }
  ShownTarget& target(const std::string& ns, const std::string& name) {
    targets.push_back({.target = owner(ns, name),
                       .profile = "apps",
                       .profile_version = "1",
                       .gvk = {.group = "apps", .version = "v1", .kind = "Deployment"},
                       .definitions = {}});
    return targets.back();
  }
  void row(const std::string& ns, const std::string& target, const std::string& name,
           const std::string& attributes) {
    store.upsert(owner(ns, target), 1,
                 {.target_namespace = ns,
                  .target_name = target,
                  .ns = ns,
                  .name = name,
                  .group = "apps",
                  .version = "v1",
                  .kind = "Deployment",
                  .uid = ns + name,
                  .attributes = attributes});
  }
  std::string page() {
    metrics::Registry registry;
    registry.on_page([&](metrics::Page& page) { series.show(page, targets); });
    return registry.text();
  }
  static std::string line(const std::string& series, double value) {
    return fmt::format(
        "kollect_custom_resource_series{{gvk=\"apps/v1/"
        "Deployment\",profile=\"apps\",series=\"{}\"}} "
        "{}\n",
        series, value);
  }
};

TEST(DomainSeries, WithoutDefinitionsEachNumericAttributeIsSummed) {
  Rows rows;
  rows.target("a", "t");
  rows.row("a", "t", "x", R"({"cpu":1.5,"image":"nginx","replicas":2,"size":"10"})");
  rows.row("a", "t", "y", R"({"cpu":null,"image":"7b","replicas":3,"size":"ten","on":true})");
  EXPECT_EQ(
      rows.page(),
      "# HELP kollect_collected_objects Rows of all targets that use the profile.\n"
      "# TYPE kollect_collected_objects gauge\n"
      "kollect_collected_objects{gvk=\"apps/v1/Deployment\",profile=\"apps\"} 2\n"
      "# HELP kollect_custom_resource_series Sum of an attribute over the rows of a profile.\n"
      "# TYPE kollect_custom_resource_series gauge\n" +
          Rows::line("cpu", 1.5) + Rows::line("object_count", 2) + Rows::line("replicas", 5) +
          Rows::line("size", 10));
}

TEST(DomainSeries, TargetsOfOneProfileAreSummedAndThoseThatGoDisappear) {
  Rows rows;
  rows.target("a", "t");
  rows.target("b", "t");
  rows.row("a", "t", "x", R"({"n":1})");
  rows.row("b", "t", "x", R"({"n":10})");
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("n", 11)));
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("object_count", 2)));
  rows.targets.pop_back();
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("n", 1)));
  rows.targets.clear();
  EXPECT_EQ(rows.page(), "");
}

TEST(DomainSeries, RowsAreReadAgainWhenTheyChangedAndTheIntervalIsOver) {
  Rows rows;
  rows.target("a", "t");
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("object_count", 0)));
  rows.row("a", "t", "x", R"({"n":1})");
  rows.clock.advance(29s);
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("object_count", 0)));
  rows.clock.advance(1s);
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("n", 1)));
  rows.targets.front().profile_version = "2";  // does not wait
  rows.targets.front().definitions = {{.labels = {}, .name = "other", .path = "n"}};
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("other", 1)));
  EXPECT_THAT(rows.page(), Not(HasSubstr("series=\"n\"")));
  rows.store.drop(Rows::owner("a", "t"));
  rows.clock.advance(30s);
  EXPECT_THAT(rows.page(), HasSubstr(Rows::line("other", 0)));
  EXPECT_EQ(rows.store.stats().tombstones, 0U);  // nothing is remembered for the page
}

TEST(DomainSeries, PlacesInTheExportedObject) {
  Rows rows;
  ShownTarget& target = rows.target("a", "t");
  target.resource_key = "whole";
  target.definitions = {
      {.labels = {}, .name = "replicas", .path = "whole.spec.replicas"},
      {.labels = {}, .name = "ports", .path = "whole['spec'].ports[*].port"},
      {.labels = {}, .name = "plain", .path = "whole.attribute"},
      {.labels = {}, .name = "other", .path = "wholesale.spec"},
  };
  rows.row("a", "t", "x",
           R"({"whole":{"spec":{"replicas":2,"ports":[{"port":1},{"port":"x"},{"port":"20"}]}}})");
  rows.row("a", "t", "y", R"({"whole":{"spec":{"replicas":3}},"whole.attribute":7})");
  rows.row("a", "t", "z", R"({"whole":"text"})");
  const std::string page = rows.page();
  for (const auto& [series, value] :
       {std::pair{"replicas", 5}, {"ports", 21}, {"plain", 7}, {"other", 0}}) {
    EXPECT_THAT(page, HasSubstr(Rows::line(series, value)));
  }
  api::Profile profile;
  profile.metadata.name = "apps";
  EXPECT_EQ(shown_target(target.target, profile).resource_key, "");
  profile.spec.export_spec.emplace().mode = "Resource";
  EXPECT_EQ(shown_target(target.target, profile).resource_key, "resource");
}

TEST(DomainSeries, LabelsGroupRowsAndOddNamesStayLabels) {
  Rows rows;
  ShownTarget& target = rows.target("a", "t");
  target.definitions = {{.labels = {"zone", "profile", "a-b"}, .name = "cost", .path = "n"}};
  rows.row("a", "t", "x", R"({"n":1,"zone":"east","profile":"p","a-b":[1,"a"]})");
  rows.row("a", "t", "y", R"({"n":"2","zone":"east","profile":"p","a-b":[1,"a"]})");
  rows.row("a", "t", "z", R"({"n":5,"zone":null})");
  rows.row("a", "t", "not", R"({"n":"many","zone":"north"})");
  const std::string page = rows.page();
  EXPECT_THAT(page, HasSubstr("kollect_custom_resource_labeled_series{a_b=\"[1,\\\"a\\\"]\","
                              "attribute_profile=\"p\",gvk=\"apps/v1/Deployment\",profile=\"apps\","
                              "series=\"cost\",zone=\"east\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("a_b=\"\",attribute_profile=\"\",gvk=\"apps/v1/Deployment\","
                              "profile=\"apps\",series=\"cost\",zone=\"\"} 5\n"));
  EXPECT_THAT(page, Not(HasSubstr("north")));
}

TEST(DomainSeries, GroupsBeyondTheBoundAreCountedNotShown) {
  Rows rows;
  rows.target("a", "t").definitions = {{.labels = {"name"}, .name = "n", .path = "n"}};
  for (int i = 0; i < 250; ++i) {
    rows.row("a", "t", fmt::format("{:03}", i), fmt::format(R"({{"n":1,"name":"{:03}"}})", i));
  }
  const std::string page = rows.page();
  EXPECT_THAT(page, HasSubstr("name=\"199\""));
  EXPECT_THAT(page, Not(HasSubstr("name=\"200\"")));
  EXPECT_THAT(page, HasSubstr("kollect_custom_resource_labeled_series_capped_total{gvk=\"apps/v1/"
                              "Deployment\",profile=\"apps\",series=\"n\"} 50\n"));
}

}  // namespace
}  // namespace kollect::manager
