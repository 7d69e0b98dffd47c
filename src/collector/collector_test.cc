// Registrations, namespaces and kinds against a scripted API server.
#include "collector/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/collector_test_support.h"
#include "support/fake_kube.h"

namespace kollect::collector {
namespace {

using ::testing::HasSubstr;
using namespace collector::testing;
using kollect::testing::FakeKube;
using kollect::testing::Gate;
using kollect::testing::Received;
using kollect::testing::Reply;

class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() {
    for (const char* ns : {"a", "b", "c"}) kube_.put_namespace(ns);
  }
  void fill() {
    for (const char* ns : {"a", "b", "c"}) {
      for (const char* name : {"one", "two", "three"}) kube_.put(FakeKube::config_map(ns, name));
    }
  }
  /// What changes before definitions are watched is no change.
  bool watches_definitions(Stage& stage) {
    return stage.wait([&] { return kube_.requests("customresourcedefinitions", true) > 0; });
  }
  /// What readers of the store are told from now on: "+ns/name" and "-ns/name".
  std::unique_ptr<inventory::Reader> follow(Stage& stage, const inventory::Owner& owner) {
    auto reader = stage.store.subscribe([=](const inventory::Owner& o) { return o == owner; });
    reader->passed(reader->snapshot().version());
    return reader;
  }
  static std::string changes(const inventory::Reader& reader) {
    std::vector<std::string> texts;
    EXPECT_TRUE(reader.changes().for_each([&](const inventory::RowChange& change) {
      texts.push_back(
          fmt::format("{}{}/{}", change.removed ? "-" : "+", change.row.ns, change.row.name));
      return base::Result<>();
    }));
    std::ranges::sort(texts);
    return base::join(texts, " ");
  }
  FakeKube kube_;
  kube::Client client_ = kube_.client();
};

TEST_F(CollectorTest, RowsFollowObjects) {
  kube_.put(FakeKube::config_map("a", "one"));
  kube_.put(FakeKube::config_map("b", "two"));
  kube_.put(FakeKube::config_map("c", "three"));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/one b/two");
  kube_.put(FakeKube::config_map("a", "more"));
  EXPECT_TRUE(stage.has(owner, "a/more a/one b/two"));
  kube_.put(FakeKube::config_map("a", "one", "other"));
  kube_.remove("configmaps", "b", "two");
  EXPECT_TRUE(stage.has(owner, "a/more a/one"));
  EXPECT_EQ(stage.attributes(owner), R"({"value":"other"} {"value":"v"})");
  EXPECT_EQ(stage.open_watches(), "configmaps@*");
  EXPECT_EQ(stage.collector.signals(owner).row_count, 2U);
  stage.collector.unregister_target(owner);
  EXPECT_EQ(stage.rows(owner), "");
  EXPECT_FALSE(stage.collector.signals(owner).registered);
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches().empty(); }));  // X-25
}

TEST_F(CollectorTest, NoNamespaceMeansNothing) {  // X-26
  fill();
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "");
  EXPECT_EQ(stage.open_watches(), "");
  EXPECT_EQ(kube_.requests("configmaps", false), 0U);
}

TEST_F(CollectorTest, WatchNamespacesLimitCollection) {  // X-12
  fill();
  CollectorOptions options = paged_options();
  options.watch_namespaces = {"b"};
  Stage stage(client_, options);
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "b/one");
  EXPECT_EQ(stage.open_watches(), "configmaps@b");
}

TEST_F(CollectorTest, TheSameRegistrationIsFree) {
  fill();
  Stage stage(client_, paged_options());
  ASSERT_TRUE(stage.knows_namespaces());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  const std::size_t lists = kube_.requests("configmaps", false);
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  const Signals signals = stage.collector.signals(owner);
  EXPECT_TRUE(signals.complete);
  EXPECT_FALSE(signals.evaluating);
  kube_.put(FakeKube::config_map("a", "after"));
  EXPECT_TRUE(stage.wait([&] { return stage.rows(owner).starts_with("a/after"); }));
  EXPECT_EQ(kube_.requests("configmaps", false), lists);
}

TEST_F(CollectorTest, AChangedRegistrationChangesOnlyWhatDiffers) {
  fill();
  Stage stage(client_, paged_options());
  ASSERT_TRUE(stage.knows_namespaces());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one, two]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  const auto reader = follow(stage, owner);
  stage.collector.register_target(registration_of(owner, maps("names: [two, three]"), {"a", "b"}));
  EXPECT_TRUE(stage.collector.signals(owner).complete);
  EXPECT_TRUE(stage.collector.signals(owner).evaluating);
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/three a/two b/three b/two");
  EXPECT_EQ(changes(*reader), "+a/three +b/three -a/one -b/one");
  // The watch went on: one list of the reflector, one per namespace beside it (pages of two).
  EXPECT_EQ(kube_.requests("configmaps", false, "a"), 2U);
}

TEST_F(CollectorTest, OtherNamespacesAloneAreListedAlone) {
  fill();
  Stage stage(client_, paged_options());
  ASSERT_TRUE(stage.knows_namespaces());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  const auto reader = follow(stage, owner);
  const std::size_t everything = kube_.requests("configmaps", false);
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"b", "c"}));
  EXPECT_TRUE(stage.has(owner, "b/one c/one"));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(changes(*reader), "+c/one -a/one");
  EXPECT_EQ(kube_.requests("configmaps", false), everything);
  EXPECT_EQ(kube_.requests("configmaps", false, "b"), 0U);
  // What is no longer its own does not come back.
  kube_.put(FakeKube::config_map("a", "one", "new"));
  kube_.put(FakeKube::config_map("c", "one", "new"));
  EXPECT_TRUE(stage.wait([&] { return stage.attributes(owner).contains("new"); }));
  EXPECT_EQ(stage.rows(owner), "b/one c/one");
}

TEST_F(CollectorTest, AnotherKindDropsTheRowsOfTheFirst) {  // X-15, I5
  fill();
  kube_.put({.plural = "nodes", .ns = {}, .name = "n1", .uid = "u-n1"});
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a"}));
  EXPECT_TRUE(stage.has(owner, "a/one"));
  TargetText nodes = maps();
  nodes.kind = {"", "v1", "Node"};
  stage.collector.register_target(registration_of(owner, nodes, {"a"}));
  EXPECT_TRUE(stage.has(owner, "n1"));
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "nodes@*"; }));
}

TEST_F(CollectorTest, TargetsOfAKindShareAWatch) {
  fill();
  Stage stage(client_, paged_options());
  std::vector<inventory::Owner> owners;
  for (int i = 0; i < 20; ++i) {
    owners.push_back(target_owner(fmt::format("t{}", i)));
    stage.collector.register_target(
        registration_of(owners.back(), maps("names: [one]"), {"a", "b", "c"}));
  }
  for (const auto& owner : owners) {
    EXPECT_TRUE(stage.settles(owner));
    EXPECT_EQ(stage.rows(owner), "a/one b/one c/one");
    EXPECT_EQ(stage.collector.signals(owner).watches, 1U);
  }
  EXPECT_EQ(stage.open_watches(), "configmaps@*");
}

TEST_F(CollectorTest, OneNamespaceWidensToAllAndKeepsItsRows) {
  fill();
  Stage stage(client_, paged_options());
  const auto first = target_owner("first");
  stage.collector.register_target(registration_of(first, maps("names: [one]"), {"a"}));
  EXPECT_TRUE(stage.settles(first));
  EXPECT_EQ(stage.open_watches(), "configmaps@a");
  const auto reader = follow(stage, first);
  const auto second = target_owner("second");
  stage.collector.register_target(registration_of(second, maps("names: [two]"), {"b"}));
  EXPECT_TRUE(stage.has(second, "b/two"));
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "configmaps@*"; }));
  EXPECT_TRUE(stage.settles(first));
  EXPECT_EQ(changes(*reader), "");
  kube_.remove("configmaps", "a", "one");
  EXPECT_TRUE(stage.has(first, ""));
  // It does not narrow again.
  stage.collector.unregister_target(second);
  kube_.put(FakeKube::config_map("a", "one"));
  EXPECT_TRUE(stage.has(first, "a/one"));
  EXPECT_EQ(stage.open_watches(), "configmaps@*");
}

TEST_F(CollectorTest, TheOldWatchServesUntilTheWiderOneIsComplete) {
  fill();
  Gate gate;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (FakeKube::is_list(request, "configmaps") && FakeKube::ns_of(request).empty()) gate.pass();
    return std::nullopt;
  });
  Stage stage(client_, paged_options());
  const auto first = target_owner("first");
  stage.collector.register_target(registration_of(first, maps("names: [one]"), {"a"}));
  EXPECT_TRUE(stage.settles(first));
  const auto second = target_owner("second");
  stage.collector.register_target(registration_of(second, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(gate.wait_for_arrival());
  kube_.put(FakeKube::config_map("a", "one", "fresh"));
  EXPECT_TRUE(stage.wait([&] { return stage.attributes(first) == R"({"value":"fresh"})"; }));
  EXPECT_FALSE(stage.collector.signals(second).complete);
  EXPECT_EQ(stage.open_watches(), "configmaps@* configmaps@a");
  gate.open();
  EXPECT_TRUE(stage.settles(second));
  EXPECT_EQ(stage.rows(second), "a/one b/one");
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "configmaps@*"; }));
  EXPECT_EQ(stage.attributes(first), R"({"value":"fresh"})");
}

// ---- Cluster targets

TEST_F(CollectorTest, ClusterTargetsHaveAnOwnerPerNamespace) {  // T1, T3, T4
  fill();
  Stage stage(client_, paged_options());
  const auto target = cluster_owner("images");
  stage.collector.register_target(registration_of(target, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(target));
  EXPECT_EQ(stage.rows(cluster_owner("images", "a")), "a/one");
  EXPECT_EQ(stage.rows(cluster_owner("images", "b")), "b/one");
  EXPECT_EQ(stage.collector.signals(target).row_count, 2U);
  stage.collector.register_target(registration_of(target, maps("names: [one]"), {"b", "c"}));
  EXPECT_TRUE(stage.has(cluster_owner("images", "c"), "c/one"));
  EXPECT_TRUE(stage.has(cluster_owner("images", "a"), ""));
  // T5: a KollectTarget of the same name is somebody else.
  const auto tenant = target_owner("images", "b");
  stage.collector.register_target(registration_of(tenant, maps("names: [two]"), {"b"}));
  EXPECT_TRUE(stage.has(tenant, "b/two"));
  stage.collector.unregister_target(target);
  EXPECT_EQ(stage.rows(cluster_owner("images", "b")), "");
  EXPECT_EQ(stage.rows(cluster_owner("images", "c")), "");
  EXPECT_EQ(stage.rows(tenant), "b/two");
}

TEST_F(CollectorTest, ClusterScopedKindsOfClusterTargetsHaveTheEmptyNamespace) {  // T6, L-6
  kube_.put({.plural = "nodes", .ns = {}, .name = "n1", .uid = "u-n1"});
  kube_.put(FakeKube::config_map("a", "one"));
  Stage stage(client_, paged_options());
  const auto target = cluster_owner("all");
  TargetText text = maps(
      "resourceRules: [{gvk: {version: v1, kind: Node}}, {gvk: {version: v1, kind: ConfigMap}}]");
  stage.collector.register_target(registration_of(target, text, {"a", "b"}));
  EXPECT_TRUE(stage.settles(target));
  EXPECT_EQ(stage.rows(cluster_owner("all", "")), "n1");
  EXPECT_EQ(stage.rows(cluster_owner("all", "a")), "a/one");
  EXPECT_EQ(stage.open_watches(), "configmaps@* nodes@*");
  EXPECT_EQ(stage.collector.signals(target).row_count, 2U);
}

// ---- Namespaces

TEST_F(CollectorTest, LabelsOfANamespaceCountAtOnce) {  // L-5
  kube_.put(FakeKube::config_map("a", "one"));
  kube_.put(FakeKube::config_map("b", "one"));
  Stage stage(client_, paged_options());
  EXPECT_TRUE(stage.wait([&] { return stage.collector.namespaces().known; }));
  const auto all = target_owner("all");
  const auto opted = target_owner("opted");
  const auto zoned = target_owner("zoned");
  stage.collector.register_target(registration_of(all, maps(), {"a", "b"}));
  stage.collector.register_target(registration_of(opted, maps("watchMode: OptIn"), {"a", "b"}));
  stage.collector.register_target(registration_of(
      zoned,
      maps("resourceRules: [{gvk: {version: v1, kind: ConfigMap}, namespaceSelector: "
           "{matchLabels: {zone: east}}}]"),
      {"a", "b"}));
  EXPECT_TRUE(stage.has(all, "a/one b/one"));
  EXPECT_TRUE(stage.has(opted, ""));
  EXPECT_TRUE(stage.has(zoned, ""));
  kube_.put_namespace("a", {{"zone", "east"}}, {{"kollect.dev/namespace-watch", "enabled"}});
  EXPECT_TRUE(stage.has(opted, "a/one"));
  EXPECT_TRUE(stage.has(zoned, "a/one"));
  kube_.put_namespace("a", {{"kollect.dev/watch", "disabled"}});
  EXPECT_TRUE(stage.has(all, "b/one"));
  EXPECT_TRUE(stage.has(opted, ""));
  EXPECT_TRUE(stage.has(zoned, ""));
  kube_.put_namespace("a", {{"zone", "west"}});
  EXPECT_TRUE(stage.has(all, "a/one b/one"));
}

TEST_F(CollectorTest, OtherAnnotationsOfANamespaceCostNothing) {
  kube_.put(FakeKube::config_map("a", "one"));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  EXPECT_TRUE(stage.wait([&] { return stage.collector.namespaces().known; }));
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  const auto before = stage.collector.stats().lists_beside_watches;
  kube_.put_namespace("a", {}, {{"example.test/beat", "1"}});
  kube_.put_namespace("b", {{"zone", "east"}});
  EXPECT_TRUE(
      stage.wait([&] { return !stage.collector.namespaces().all->at("b").labels.empty(); }));
  EXPECT_TRUE(
      stage.wait([&] { return stage.collector.stats().lists_beside_watches == before + 1; }));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(kube_.requests("configmaps", false, "a"), 0U);
  EXPECT_EQ(kube_.requests("configmaps", false, "b"), 1U);
}

TEST_F(CollectorTest, ManyRelabelledNamespacesAreOneList) {
  std::vector<std::string> namespaces;
  for (int i = 0; i < 30; ++i) {
    namespaces.push_back(fmt::format("n{:02}", i));
    kube_.put_namespace(namespaces.back());
    kube_.put(FakeKube::config_map(namespaces.back(), "one"));
  }
  CollectorOptions options = paged_options();
  options.page_size = 500;
  Stage stage(client_, options);
  EXPECT_TRUE(stage.wait([&] { return stage.collector.namespaces().known; }));
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("watchMode: OptIn"), namespaces));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "");
  Gate gate;
  std::atomic<bool> held = false;
  // One relabelled namespace holds the others up, so that they come together.
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (FakeKube::is_list(request, "configmaps") && !held.exchange(true)) gate.pass();
    return std::nullopt;
  });
  for (const std::string& ns : namespaces)
    kube_.put_namespace(ns, {{"kollect.dev/watch", "enabled"}});
  EXPECT_TRUE(gate.wait_for_arrival());
  EXPECT_TRUE(stage.wait([&] {
    const auto known = stage.collector.namespaces();
    return std::ranges::all_of(*known.all, [](const auto& item) {
      return !item.first.starts_with("n") || !item.second.labels.empty();
    });
  }));
  gate.open();
  EXPECT_TRUE(stage.wait([&] { return stage.collector.signals(owner).row_count == 30; }));
  EXPECT_LT(stage.collector.stats().lists_beside_watches, 12U);
}

// ---- Kinds

TEST_F(CollectorTest, AMissingKindIsFoundWhenItComes) {
  kube_.put(FakeKube::config_map("a", "one"));
  Stage stage(client_, paged_options());
  const auto boats = target_owner("boats");
  const auto others = target_owner("others");
  TargetText text = maps();
  text.kind = {"harbour.example", "v1", "Boat"};
  stage.collector.register_target(registration_of(boats, text, {"a"}));
  stage.collector.register_target(registration_of(others, maps(), {"a"}));
  EXPECT_TRUE(stage.settles(others));
  EXPECT_TRUE(stage.signals_hold(boats, [](const Signals& s) {
    return s.error && s.error->reason == "gvk-not-found" && !s.complete;
  }));
  EXPECT_EQ(stage.collector.find_kind(text.kind).error().reason, "gvk-not-found");
  kube_.put({.plural = "boats", .ns = "a", .name = "ark", .uid = "u-ark"});
  kube_.serve({"harbour.example", "v1", "Boat", "boats", true, {"list", "watch"}});
  EXPECT_TRUE(stage.has(boats, "a/ark"));
  EXPECT_TRUE(stage.signals_hold(boats, [](const Signals& s) { return s.complete && !s.error; }));
  EXPECT_TRUE(stage.collector.find_kind(text.kind).has_value());
}

// field-crd-deleted-and-recreated: three, one-watch, found-again
TEST_F(CollectorTest, AKindThatGoesTakesItsRows) {
  const kube::Resource boat{"harbour.example", "v1", "Boat", "boats", true, {"list", "watch"}};
  kube_.serve(boat);
  for (const char* name : {"one", "two", "three"}) {
    kube_.put({.plural = "boats", .ns = "a", .name = name, .uid = std::string("u-") + name});
  }
  Stage stage(client_, paged_options());
  const auto owner = target_owner("boats");
  TargetText text = maps();
  text.kind = {"harbour.example", "v1", "Boat"};
  stage.collector.register_target(registration_of(owner, text, {"a", "b"}));
  EXPECT_TRUE(stage.has(owner, "a/one a/three a/two"));
  ASSERT_TRUE(watches_definitions(stage));
  const auto crd = [&](const std::string& value) {
    kube_.put({.plural = "customresourcedefinitions",
               .ns = {},
               .name = "boats.harbour.example",
               .uid = "crd",
               .value = value});
  };
  for (int round = 0; round < 4; ++round) {
    kube_.stop_serving("boats");
    if (round % 2 == 0) {
      kube_.cut_watches();
    } else {
      crd("gone");  // the server leaves the watch of the objects open and says nothing on it
    }
    EXPECT_TRUE(stage.has(owner, ""));
    EXPECT_TRUE(stage.signals_hold(owner, [](const Signals& s) {
      return s.error && s.error->reason == "gvk-not-found" && s.watches == 0;
    }));
    EXPECT_TRUE(stage.wait([&] { return stage.open_watches().empty(); }));
    kube_.serve(boat);
    crd(fmt::format("{}", round));
    EXPECT_TRUE(stage.has(owner, "a/one a/three a/two"));
    EXPECT_EQ(stage.open_watches(), "boats@*");
  }
}

TEST_F(CollectorTest, AnotherVersionIsReadAndSaid) {  // L-1
  kube_.serve({"harbour.example", "v1beta1", "Boat", "boats", true, {"list", "watch"}});
  kube_.put({.plural = "boats", .ns = "a", .name = "ark", .uid = "u-ark"});
  Stage stage(client_, paged_options());
  const auto owner = target_owner("boats");
  TargetText text = maps();
  text.kind = {"harbour.example", "v1", "Boat"};
  stage.collector.register_target(registration_of(owner, text, {"a"}));
  ASSERT_TRUE(watches_definitions(stage));
  EXPECT_TRUE(stage.settles(owner));
  const auto version = [](const inventory::RowView& row) { return std::string(row.version); };
  EXPECT_EQ(stage.texts(owner, version), "v1beta1");
  ASSERT_EQ(stage.collector.signals(owner).notes.size(), 1U);
  EXPECT_THAT(stage.collector.signals(owner).notes.front(),
              ::testing::AllOf(HasSubstr("version v1,"), HasSubstr("v1beta1")));
  // The asked version comes: its rows replace the others, and none is missing on the way.
  std::atomic<bool> empty = false;
  stage.store.on_change([&](const inventory::Owner& o) {
    if (o == owner && stage.store.row_count(o) == 0) empty = true;
    stage.ring();
  });
  kube_.serve({"harbour.example", "v1", "Boat", "boats", true, {"list", "watch"}});
  kube_.put({.plural = "customresourcedefinitions", .ns = {}, .name = "boats", .uid = "crd"});
  EXPECT_TRUE(stage.wait([&] { return stage.texts(owner, version) == "v1"; }));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_FALSE(empty);
  EXPECT_TRUE(stage.collector.signals(owner).notes.empty());
}

TEST_F(CollectorTest, AKindMayChangeItsScope) {
  kube_.serve({"harbour.example", "v1", "Boat", "boats", true, {"list", "watch"}});
  kube_.put({.plural = "boats", .ns = "a", .name = "ark", .uid = "u-1"});
  Stage stage(client_, paged_options());
  const auto target = cluster_owner("boats");
  TargetText text = maps();
  text.kind = {"harbour.example", "v1", "Boat"};
  stage.collector.register_target(registration_of(target, text, {"a"}));
  EXPECT_TRUE(stage.has(cluster_owner("boats", "a"), "a/ark"));
  ASSERT_TRUE(watches_definitions(stage));
  kube_.remove("boats", "a", "ark");
  kube_.serve({"harbour.example", "v1", "Boat", "boats", false, {"list", "watch"}});
  kube_.put({.plural = "boats", .ns = {}, .name = "ark", .uid = "u-2"});
  kube_.put({.plural = "customresourcedefinitions", .ns = {}, .name = "boats", .uid = "crd"});
  EXPECT_TRUE(stage.has(cluster_owner("boats", ""), "ark"));
  EXPECT_TRUE(stage.has(cluster_owner("boats", "a"), ""));
}

// ---- What objects do wrong

TEST_F(CollectorTest, FailingObjectsAreCountedAndHaveNoRow) {
  kube_.put(FakeKube::config_map("a", "good"));
  kube_.put(FakeKube::config_map("a", "bad", ""));
  kube_.put(FakeKube::config_map("b", "worse", ""));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  TargetText text = maps();
  text.attribute = {"value", "cel:object.data.value"};
  stage.collector.register_target(registration_of(owner, text, {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/good");
  Signals signals = stage.collector.signals(owner);
  EXPECT_EQ(signals.extraction_failures, 2U);
  EXPECT_THAT(signals.last_extraction_error, HasSubstr("/"));
  EXPECT_THAT(signals.last_extraction_error, HasSubstr("value: cel"));
  // One that fails from now on loses its row at once.
  kube_.put(FakeKube::config_map("a", "good", ""));
  EXPECT_TRUE(stage.has(owner, ""));
  EXPECT_TRUE(
      stage.signals_hold(owner, [](const Signals& s) { return s.extraction_failures == 3; }));
  EXPECT_THAT(stage.collector.signals(owner).last_extraction_error, HasSubstr("a/good: "));
  kube_.put(FakeKube::config_map("a", "bad", "mended"));
  EXPECT_TRUE(stage.has(owner, "a/bad"));
  kube_.remove("configmaps", "b", "worse");
  EXPECT_TRUE(
      stage.signals_hold(owner, [](const Signals& s) { return s.extraction_failures == 1; }));
  kube_.put(FakeKube::config_map("a", "good", "again"));
  EXPECT_TRUE(stage.signals_hold(owner, [](const Signals& s) {
    return s.extraction_failures == 0 && s.last_extraction_error.empty();
  }));
  EXPECT_EQ(stage.rows(owner), "a/bad a/good");
}

TEST_F(CollectorTest, FailuresThatWentUnseenAreForgottenByTheNextList) {
  kube_.put(FakeKube::config_map("a", "bad", ""));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  TargetText text = maps();
  text.attribute = {"value", "cel:object.data.value"};
  stage.collector.register_target(registration_of(owner, text, {"a", "b"}));
  EXPECT_TRUE(
      stage.signals_hold(owner, [](const Signals& s) { return s.extraction_failures == 1; }));
  kube_.remove("configmaps", "a", "bad");
  kube_.cut_watches(true);
  EXPECT_TRUE(
      stage.signals_hold(owner, [](const Signals& s) { return s.extraction_failures == 0; }));
}

}  // namespace
}  // namespace kollect::collector
