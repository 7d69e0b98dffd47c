// What is wanted against what was seen, without a server.
#include "fleet/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/hash.h"

#include "fleet/json_fixture.h"

namespace kollect::fleet {
namespace {

using base::json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A component "c" of one cluster: members of the reference and of the definition.
struct Case {
  std::string reference;
  std::string definition;
};

std::string complete(const std::string& definition) {
  return R"({"id":"c","component_path":"p/1","component_version":"1.0","oci_url":"oci://r/x","oci_tag":"v1",)"
         R"("cluster_env_enabled":false,"depends_on":[])" +
         definition + "}";
}

ObservedObject object(const std::string& kind, const std::string& name,
                      const std::string& attributes, const std::string& ns = "flux-system") {
  return {.kind = kind, .ns = ns, .name = name, .attributes = parse(attributes), .since = {}};
}

const std::string kOurs = R"("set":"platform-components","ready":true)";
ObservedObject ours(const std::string& kind, const std::string& name,
                    const std::string& attributes) {
  return object(kind, name, "{" + kOurs + attributes + "}");
}

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& one : findings) {
    std::string text = fmt::format("{} {} {}/{}", name_of(one.drift), one.id, one.kind, one.name);
    if (one.drift == Drift::kDiffers) {
      text += fmt::format(" {} {}<>{}", one.field, one.observed, one.expected);
    }
    out.push_back(std::move(text));
  }
  return out;
}

std::vector<std::string> drift(const Case& said, const std::vector<ObservedObject>& objects) {
  const Value cluster = parse(R"({"id":"k","environment":"qa","namespaces":[],"rolebindings":[],)"
                              R"("platform_components":[{"id":"c","enabled":true)" +
                              said.reference + R"(},{"id":"ghost","enabled":true}]})");
  const Value definition = parse(complete(said.definition));
  return texts(drift_of(
      cluster,
      [&](Family family, std::string_view id) {
        return family == Family::kComponent && id == "c" ? &definition : nullptr;
      },
      objects));
}

TEST(Drift, ChartsOfRegistries) {
  const auto release = ours("HelmRelease", "platform-c", R"(,"chartRef":"charts-c")");
  const auto source = [](const std::string& more) {
    return ours("OCIRepository", "charts-c", R"(,"url":"oci://r/x/p/1")" + more);
  };
  EXPECT_THAT(drift({}, {release, source(R"(,"tag":"v1")")}), IsEmpty());
  EXPECT_THAT(drift({R"(,"oci_tag":"v2")", ""}, {release, source(R"(,"tag":"v1")")}),
              ElementsAre("differs c OCIRepository/charts-c tag v1<>v2"));
  EXPECT_THAT(drift({"", R"(,"oci_tag":"latest")"}, {release, source(R"(,"tag":"1.0")")}),
              IsEmpty());
  EXPECT_THAT(drift({R"(,"oci_tag":"")", ""}, {release, source(R"(,"tag":"1.0")")}), IsEmpty());
  const Case newest{"", R"(,"oci_tag":"latest","component_version":"latest")"};
  EXPECT_THAT(drift(newest, {release, source(R"(,"semver":"*")")}), IsEmpty());
  EXPECT_THAT(drift(newest, {release, source(R"(,"tag":"1.0")")}),
              ElementsAre("differs c OCIRepository/charts-c tag 1.0<>",
                          "differs c OCIRepository/charts-c semver <>*"));
  EXPECT_THAT(drift({}, {release, source(R"(,"tag":"v1","digest":"sha256:1")")}),
              ElementsAre("differs c OCIRepository/charts-c digest sha256:1<>"));
  EXPECT_THAT(drift({R"(,"component_path":"/q/")", ""}, {release, source(R"(,"tag":"v1")")}),
              ElementsAre("differs c OCIRepository/charts-c url oci://r/x/p/1<>oci://r/x/q"));
  EXPECT_THAT(drift({"", R"(,"oci_url":"oci://r/x/")"}, {release, source(R"(,"tag":"v1")")}),
              IsEmpty());
  EXPECT_THAT(drift({}, {release}), ElementsAre("missing c OCIRepository/charts-c"));
  EXPECT_THAT(drift({}, {source(R"(,"tag":"v1")")}),
              ElementsAre("missing c /platform-c", "extra c OCIRepository/charts-c"));
}

TEST(Drift, ChartsOfRepositories) {
  const Case said{"", R"(,"oci_url":"https://x","cluster_env_enabled":true)"};
  const auto release = [](const std::string& chart, const std::string& more) {
    return ours("HelmRelease", "platform-c",
                R"(,"repository":"charts-c","chart":")" + chart + '"' + more);
  };
  const auto source = ours("HelmRepository", "charts-c", R"(,"url":"https://x")");
  EXPECT_THAT(drift(said, {release("p/1/qa", R"(,"chartVersion":"v1")"), source}), IsEmpty());
  EXPECT_THAT(drift(said, {release("p/1", ""), source}),
              ElementsAre("differs c HelmRelease/platform-c chart p/1<>p/1/qa",
                          "differs c HelmRelease/platform-c version *<>v1"));
  const Case newest{R"(,"oci_tag":"latest")",
                    R"(,"oci_url":"https://x","component_version":"latest")"};
  EXPECT_THAT(drift(newest, {release("p/1", ""), source}), IsEmpty());
  EXPECT_THAT(drift(newest, {release("p/1", R"(,"chartVersion":"*")"), source}), IsEmpty());
  // A component that moved to a registry.
  EXPECT_THAT(drift({}, {release("p/1", R"(,"chartVersion":"v1")"), source}),
              ElementsAre("differs c HelmRelease/platform-c chart_source <>charts-c",
                          "missing c OCIRepository/charts-c", "extra c HelmRepository/charts-c"));
}

TEST(Drift, Kustomizations) {
  const auto source = [](const std::string& tag) {
    return ours("OCIRepository", "platform-c", R"(,"url":"oci://r/x","tag":")" + tag + '"');
  };
  const auto kustomization = [](const std::string& path) {
    return ours("Kustomization", "platform-c", R"(,"source":"platform-c","path":")" + path + '"');
  };
  EXPECT_THAT(drift({}, {kustomization("./p/1"), source("v1")}), IsEmpty());
  EXPECT_THAT(
      drift({"", R"(,"cluster_env_enabled":true)"}, {kustomization("./p/1/qa"), source("v1")}),
      IsEmpty());
  EXPECT_THAT(drift({"", R"(,"cluster_env_enabled":true,"component_path":"")"},
                    {kustomization("./qa"), source("v1")}),
              IsEmpty());
  EXPECT_THAT(drift({R"(,"oci_tag":"")", ""}, {kustomization("./p/1"), source("latest")}),
              IsEmpty());
  EXPECT_THAT(drift({R"(,"component_path":"./p//2/")", ""}, {kustomization("./p/1"), source("v0")}),
              ElementsAre("differs c Kustomization/platform-c path ./p/1<>./p//2",
                          "differs c OCIRepository/platform-c tag v0<>v1"));
}

TEST(Drift, DisabledSuspendedNotReady) {
  EXPECT_THAT(
      drift(
          {},
          {ours("HelmRelease", "platform-c", R"(,"chartRef":"charts-c","suspended":true)"),
           object(
               "OCIRepository", "charts-c",
               R"({"set":"platform-components","ready":false,"url":"oci://r/x/p/1","tag":"v1"})")}),
      ElementsAre("suspended c HelmRelease/platform-c", "not_ready c OCIRepository/charts-c"));
  const Value cluster = parse(R"({"platform_components":[{"id":"c","enabled":false}]})");
  const Value definition = parse(complete(""));
  EXPECT_THAT(
      texts(drift_of(
          cluster, [&](Family, std::string_view) { return &definition; },
          {ours("Kustomization", "platform-c", ""), ours("OCIRepository", "platform-c", ""),
           ours("OCIRepository", "charts-c", ""), ours("HelmRepository", "charts-c", "")})),
      ElementsAre("disabled c Kustomization/platform-c", "disabled c OCIRepository/platform-c",
                  "disabled c OCIRepository/charts-c", "disabled c HelmRepository/charts-c"));
}

TEST(Drift, WhatIsOurs) {
  // Of two objects of one name the one that our set made counts.
  EXPECT_THAT(
      drift({}, {object("HelmRelease", "platform-c", R"({"ready":true})", "a"),
                 ours("HelmRelease", "platform-c", R"(,"chartRef":"charts-c")"),
                 ours("OCIRepository", "charts-c", R"(,"url":"oci://r/x/p/1","tag":"v1")"),
                 object("HelmRelease", "platform-d", R"({"set":"another"})"),
                 object("OCIRepository", "charts-d", "{}"), object("Namespace", "platform-n", "{}"),
                 object("Namespace", "left", R"({"set":"namespaces"})", ""),
                 object("Namespace", "default", R"({"set":"namespaces","kept":true})", ""),
                 object("ClusterRoleBinding", "left", R"({"set":"rolebindings"})", "")}),
      ElementsAre("extra left ClusterRoleBinding/left", "extra c HelmRelease/platform-c",
                  "extra left Namespace/left"));
}

TEST(Drift, OfRowsOfOneObjectTheYoungestCounts) {
  auto old = ours("HelmRelease", "platform-c", R"(,"chartRef":"wrong")");
  auto young = ours("HelmRelease", "platform-c", R"(,"chartRef":"charts-c")");
  old.since = base::WallTime(std::chrono::seconds(1));
  young.since = base::WallTime(std::chrono::seconds(2));
  const auto source = ours("OCIRepository", "charts-c", R"(,"url":"oci://r/x/p/1","tag":"v1")");
  EXPECT_THAT(drift({}, {old, young, source}), IsEmpty());
  EXPECT_THAT(drift({}, {young, old, source}), IsEmpty());
}

TEST(Drift, NamespacesAndRoleBindings) {
  const Value cluster = parse(
      R"({"platform_components":[],"namespaces":[{"id":"n"},{"id":"Big"}],"rolebindings":[{"id":"team:a"}]})");
  const Value some = parse(R"({"id":"n"})");
  const Value binding = parse(
      R"({"role":"view","subjects":[{"kind":"User","name":"b"},{"kind":"ServiceAccount","name":"s","namespace":"n"},
          {"kind":"ServiceAccount","name":"nowhere"},{"name":"no kind"},"odd",{"kind":"Group","name":"g","apiGroup":"x"}]})");
  const AnyDefinition definition = [&](Family family, std::string_view) {
    return family == Family::kNamespace ? &some : &binding;
  };
  const std::string hash = base::sha256_hex("Big").substr(0, 8);
  EXPECT_THAT(texts(drift_of(cluster, definition, {})),
              ElementsAre("missing n Namespace/n", "missing Big Namespace/*-" + hash,
                          "missing team:a ClusterRoleBinding/team:a"));
  const auto bound = [](const std::string& subjects) {
    return object("ClusterRoleBinding", "team:a",
                  R"({"set":"rolebindings","role":"view","subjects":)" + subjects + "}", "");
  };
  const std::vector<ObservedObject> spaces = {
      object("Namespace", "n", R"({"set":"namespaces","phase":"Active"})", ""),
      object("Namespace", "big-" + hash, R"({"set":"namespaces"})", "")};
  auto objects = spaces;
  objects.push_back(bound(
      R"([{"kind":"Group","name":"g"},{"kind":"ServiceAccount","name":"s","namespace":"n"},{"kind":"User","name":"b","apiGroup":"rbac"}])"));
  EXPECT_THAT(texts(drift_of(cluster, definition, objects)), IsEmpty());
  objects = spaces;
  objects.push_back(bound("[]"));
  EXPECT_THAT(texts(drift_of(cluster, definition, objects)),
              ElementsAre("differs team:a ClusterRoleBinding/team:a subjects <>"
                          "Group g, ServiceAccount n/s, User b"));
}

TEST(RenderedNames, AreThoseOfTheTemplates) {
  const auto hash = [](const std::string& id) { return base::sha256_hex(id).substr(0, 8); };
  const auto component = [](const std::string& id) {
    return RenderedName::of_component("platform-", id);
  };
  EXPECT_TRUE(component("certs").fits("platform-certs"));
  EXPECT_FALSE(component("certs").fits("platform-certs2"));
  EXPECT_FALSE(component("certs").fits("certs"));
  EXPECT_FALSE(component("certs").fits("platform-x-" + hash("certs")));
  for (const std::string id : {"a/b", "A", "a--b", "-a", "", "日本", "a.b"}) {
    EXPECT_TRUE(component(id).fits("platform-any-" + hash(id))) << id;
    EXPECT_TRUE(component(id).fits("platform-" + hash(id))) << id;
    EXPECT_FALSE(component(id).fits("charts-any-" + hash(id))) << id;
    EXPECT_FALSE(component(id).fits("platform-any" + hash(id))) << id;
    EXPECT_EQ(component(id).shown(), "platform-*-" + hash(id));
  }
  EXPECT_EQ(component(std::string(53, 'x')).shown(), "platform-" + std::string(53, 'x'));
  EXPECT_NE(component(std::string(54, 'x')).shown(), "platform-" + std::string(54, 'x'));
  EXPECT_EQ(RenderedName::of_namespace(std::string(63, 'x')).shown(), std::string(63, 'x'));
  EXPECT_NE(RenderedName::of_namespace(std::string(64, 'x')).shown(), std::string(64, 'x'));
  EXPECT_TRUE(RenderedName::of_role_binding("Team:A b").fits("Team:A b"));
  EXPECT_TRUE(RenderedName::of_role_binding("a/b").fits("a-b-" + hash("a/b")));
}

TEST(Observed, Settings) {
  const auto lite = read_observed_settings("sqlite:///var/x.db?mode=ro", "");
  ASSERT_TRUE(lite.has_value());
  EXPECT_FALSE(lite->postgres);
  EXPECT_EQ(lite->url.reveal(), "/var/x.db");
  EXPECT_EQ(lite->table, "inventory");
  const auto post = read_observed_settings("postgresql://u:p@h/d", "cmdb.Rows.x");
  ASSERT_TRUE(post.has_value());
  EXPECT_TRUE(post->postgres);
  EXPECT_EQ(post->schema, "cmdb");
  EXPECT_EQ(post->table, "Rows.x");
  for (const char* url : {"", "sqlite://", "sqlite://?mode=ro", "mysql://u:p@h/d", "/var/x.db"}) {
    const auto refused = read_observed_settings(url, "");
    ASSERT_FALSE(refused.has_value()) << url;
    EXPECT_EQ(refused.error().message.find("u:p"), std::string::npos);
  }
}

TEST(Observed, NamesOfFindings) {
  for (std::size_t i = 0; i < kDrifts; ++i) {
    const auto drift = static_cast<Drift>(i);
    EXPECT_EQ(drift_named(name_of(drift)), drift);
  }
  EXPECT_EQ(drift_named("none"), std::nullopt);
}

}  // namespace
}  // namespace kollect::fleet
