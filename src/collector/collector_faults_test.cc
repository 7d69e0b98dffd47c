// What goes wrong between collector and API server, and races between lists and watches.
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

class CollectorFaults : public ::testing::Test {
 protected:
  CollectorFaults() {
    for (const char* ns : {"a", "b", "c"}) kube_.put_namespace(ns);
    for (const char* name : {"one", "two", "three"}) kube_.put(FakeKube::config_map("a", name));
  }
  static bool is_first_page(const Received& request) {
    return FakeKube::is_list(request, "configmaps") && request.query("continue").empty();
  }
  static bool is_later_page(const Received& request) {
    return FakeKube::is_list(request, "configmaps") && !request.query("continue").empty();
  }
  FakeKube kube_;
  kube::Client client_ = kube_.client();
};

TEST_F(CollectorFaults, NoFirstListWithinTheDeadline) {  // X-2
  Gate gate;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (FakeKube::is_list(request, "configmaps")) gate.pass();
    return std::nullopt;
  });
  StepClock clock;
  CollectorOptions options = paged_options();
  options.access_reviews = false;
  Stage stage(client_, options, &clock);
  const auto slow = target_owner("slow");
  const auto quick = target_owner("quick");
  kube_.put({.plural = "nodes", .ns = {}, .name = "n1", .uid = "u-n1"});
  stage.collector.register_target(registration_of(slow, maps(), {"a", "b"}));
  TargetText nodes = maps();
  nodes.kind = {"", "v1", "Node"};
  stage.collector.register_target(registration_of(quick, nodes, {}));
  EXPECT_TRUE(gate.wait_for_arrival());
  EXPECT_TRUE(stage.settles(quick));  // nobody else waits
  EXPECT_FALSE(stage.collector.signals(slow).error.has_value());
  clock.advance(std::chrono::seconds(31));
  EXPECT_TRUE(stage.signals_hold(slow, [](const Signals& s) {
    return s.error && s.error->reason == "no-first-list" && !s.complete;
  }));
  EXPECT_THAT(stage.collector.signals(slow).error->message, HasSubstr("30s"));
  gate.open();
  // The request has seen 31 seconds without a byte as well: it is made again after a pause.
  EXPECT_TRUE(stage.signals_hold(slow, [&](const Signals& s) {
    clock.advance(std::chrono::milliseconds(100));
    return s.complete && !s.error;
  }));
  EXPECT_EQ(stage.rows(slow), "a/one a/three a/two");
}

TEST_F(CollectorFaults, AFailedListRemovesNothing) {
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  std::atomic<int> failures = 0;
  std::atomic<int> refused = 0;
  std::atomic<bool> refuse = true;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (FakeKube::is_watch(request) && refuse) {
      ++refused;
      return FakeKube::status(503, "ServiceUnavailable");
    }
    if (!is_later_page(request)) return std::nullopt;
    ++failures;
    return FakeKube::status(500, "InternalError");
  });
  kube_.cut_watches();
  EXPECT_TRUE(stage.wait([&] { return refused > 0; }));
  kube_.remove("configmaps", "a", "two");
  kube_.put(FakeKube::config_map("a", "four"));
  kube_.cut_watches(true);
  refuse = false;
  EXPECT_TRUE(stage.wait([&] { return failures >= 3; }));
  EXPECT_THAT(stage.rows(owner), HasSubstr("a/two"));
  EXPECT_TRUE(stage.collector.signals(owner).complete);
  kube_.hook(nullptr);
  EXPECT_TRUE(stage.has(owner, "a/four a/one a/three"));
}

// field-recreated-under-the-same-name: one-row, variants A and B
TEST_F(CollectorFaults, ANewUidUnderTheSameNameIsOneRow) {
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  const auto uids = [](const inventory::RowView& row) { return std::string(row.uid); };
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.has(owner, "a/one"));
  const auto recreate = [&](const std::string& uid) {
    kube_.remove("configmaps", "a", "one");
    FakeKube::Object object = FakeKube::config_map("a", "one", uid);
    object.uid = uid;
    kube_.put(object);
  };
  recreate("u2");
  EXPECT_TRUE(stage.wait([&] { return stage.texts(owner, uids) == "u2"; }));
  // The watch sees nothing of it, the next list does.
  std::atomic<bool> refuse = true;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (refuse && FakeKube::is_watch(request)) return FakeKube::status(503, "ServiceUnavailable");
    return std::nullopt;
  });
  kube_.cut_watches();
  recreate("u3");
  kube_.cut_watches(true);
  refuse = false;
  EXPECT_TRUE(stage.wait([&] { return stage.texts(owner, uids) == "u3"; }));
  EXPECT_EQ(stage.attributes(owner), R"({"value":"u3"})");
}

/// A target whose registration changes while a list for it is held up in the middle.
class CollectorRaces : public CollectorFaults {
 protected:
  /// Holds the first list of namespace a; what it says was so before.
  void hold_errand() {
    kube_.hook([this](const Received& request) -> std::optional<Reply> {
      if (!is_first_page(request) || FakeKube::ns_of(request) != "a" || held_.exchange(true)) {
        return std::nullopt;
      }
      Reply reply = kube_.answer_now(request);
      gate_.pass();
      return reply;
    });
  }
  void begin(Stage& stage) {
    stage.collector.register_target(registration_of(owner_, maps("names: [one]"), {"a", "b"}));
    stage.collector.register_target(registration_of(other_, maps(), {"a", "b"}));
    EXPECT_TRUE(stage.settles(owner_));
    EXPECT_TRUE(stage.settles(other_));
    hold_errand();
    stage.collector.register_target(registration_of(owner_, maps(), {"a", "b"}));
    EXPECT_TRUE(gate_.wait_for_arrival());
  }
  const inventory::Owner owner_ = target_owner("t");
  const inventory::Owner other_ = target_owner("other");
  std::atomic<bool> held_ = false;
  Gate gate_;
};

TEST_F(CollectorRaces, TheWatchHasTheLastWord) {
  CollectorOptions options = paged_options();
  options.page_size = 100;
  Stage stage(client_, options);
  begin(stage);
  // The list that is on its way knows nothing of these.
  kube_.put(FakeKube::config_map("a", "one", "newer"));
  kube_.remove("configmaps", "a", "two");
  kube_.put(FakeKube::config_map("a", "four"));
  EXPECT_TRUE(stage.has(other_, "a/four a/one a/three"));
  gate_.open();
  EXPECT_TRUE(stage.settles(owner_));
  EXPECT_EQ(stage.rows(owner_), "a/four a/one a/three");
  EXPECT_EQ(stage.attributes(owner_), R"({"value":"newer"} {"value":"v"} {"value":"v"})");
}

TEST_F(CollectorRaces, AListOfTheWatchTakesThePlaceOfAnErrand) {
  CollectorOptions options = paged_options();
  options.page_size = 100;
  Stage stage(client_, options);
  begin(stage);
  // Deleted while nobody watches: neither an event nor the held list tells.
  std::atomic<bool> refuse = true;
  std::atomic<int> refused = 0;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (FakeKube::is_watch(request) && refuse) {
      ++refused;
      return FakeKube::status(503, "ServiceUnavailable");
    }
    return std::nullopt;
  });
  kube_.cut_watches();
  EXPECT_TRUE(stage.wait([&] { return refused > 0; }));
  kube_.remove("configmaps", "a", "two");
  kube_.cut_watches(true);
  refuse = false;
  EXPECT_TRUE(stage.has(other_, "a/one a/three"));
  EXPECT_TRUE(stage.has(owner_, "a/one a/three"));
  gate_.open();
  EXPECT_TRUE(stage.settles(owner_));
  // Had the held list counted, the deleted object would be back.
  kube_.put(FakeKube::config_map("a", "last"));
  EXPECT_TRUE(stage.has(owner_, "a/last a/one a/three"));
}

TEST_F(CollectorRaces, UnregisteredDuringAList) {
  CollectorOptions options = paged_options();
  options.page_size = 100;
  Stage stage(client_, options);
  begin(stage);
  stage.collector.unregister_target(owner_);
  EXPECT_EQ(stage.rows(owner_), "");
  gate_.open();
  kube_.put(FakeKube::config_map("a", "last"));
  EXPECT_TRUE(stage.has(other_, "a/last a/one a/three a/two"));
  EXPECT_EQ(stage.rows(owner_), "");
  // Registered again it begins anew.
  stage.collector.register_target(registration_of(owner_, maps("names: [two]"), {"a"}));
  EXPECT_TRUE(stage.settles(owner_));
  EXPECT_EQ(stage.rows(owner_), "a/two");
}

TEST_F(CollectorRaces, RegisteredAnewDuringAList) {
  CollectorOptions options = paged_options();
  options.page_size = 100;
  Stage stage(client_, options);
  begin(stage);
  stage.collector.register_target(registration_of(owner_, maps("names: [three]"), {"a", "b"}));
  gate_.open();
  EXPECT_TRUE(stage.settles(owner_));
  EXPECT_EQ(stage.rows(owner_), "a/three");
}

TEST_F(CollectorFaults, AListBesideTheWatchIsTriedAgain) {
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  std::atomic<int> failures = 0;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (!FakeKube::is_list(request, "configmaps") || failures >= 3) return std::nullopt;
    ++failures;
    return FakeKube::status(500, "InternalError");
  });
  stage.collector.register_target(registration_of(owner, maps("names: [two]"), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/two");
  EXPECT_EQ(failures, 3);
}

// ---- Discovery

TEST_F(CollectorFaults, UnreachableIsNotAbsent) {  // L-10
  StepClock clock;
  CollectorOptions options = paged_options();
  options.access_reviews = false;
  std::atomic<bool> down = true;
  kube_.hook([&](const Received&) -> std::optional<Reply> {
    if (down) return FakeKube::status(503, "ServiceUnavailable");
    return std::nullopt;
  });
  Stage stage(client_, options, &clock);
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a"}));
  EXPECT_TRUE(stage.wait(
      [&] { return stage.collector.find_kind(kConfigMap).error().reason == "transient"; }));
  EXPECT_FALSE(stage.collector.signals(owner).error.has_value());
  // Pauses begin at moments of their own: time goes on until they have passed.
  EXPECT_TRUE(stage.wait([&] {
    clock.advance(std::chrono::seconds(1));
    const Signals signals = stage.collector.signals(owner);
    return signals.error && signals.error->reason == "transient";
  }));
  down = false;
  EXPECT_TRUE(stage.wait([&] {
    clock.advance(std::chrono::seconds(1));
    return stage.rows(owner) == "a/one a/three a/two";
  }));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_EQ(stage.rows(owner), "a/one a/three a/two");
}

TEST_F(CollectorFaults, AServerThatIsAwayForLongIsTold) {
  StepClock clock;
  CollectorOptions options = paged_options();
  options.access_reviews = false;
  std::atomic<bool> down = false;
  kube_.hook([&](const Received&) -> std::optional<Reply> {
    if (down) return FakeKube::status(503, "ServiceUnavailable");
    return std::nullopt;
  });
  Stage stage(client_, options, &clock);
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a"}));
  EXPECT_TRUE(stage.settles(owner));
  down = true;
  kube_.cut_watches();
  EXPECT_TRUE(stage.wait([&] {
    clock.advance(std::chrono::milliseconds(20));  // its pauses
    const auto watches = stage.collector.stats().watches;
    return watches.size() == 1 && watches[0].status.error.has_value();
  }));
  EXPECT_FALSE(stage.collector.signals(owner).error.has_value());
  clock.advance(std::chrono::seconds(31));
  EXPECT_TRUE(stage.signals_hold(
      owner, [](const Signals& s) { return s.complete && s.error && s.row_count == 3; }));
  down = false;
  kube_.put(FakeKube::config_map("a", "four"));
  EXPECT_TRUE(stage.signals_hold(owner, [&](const Signals& s) {
    clock.advance(std::chrono::milliseconds(20));
    return !s.error;
  }));
}

// ---- Rights

TEST_F(CollectorFaults, WithoutTheRightForAllNamespacesEachIsWatched) {
  kube_.put(FakeKube::config_map("b", "one"));
  kube_.put(FakeKube::config_map("c", "one"));
  for (const bool reviews : {true, false}) {
    SCOPED_TRACE(reviews);
    std::atomic<int> allowed = 1;
    kube_.allow_if([&](const std::string& plural, const std::string& ns) {
      if (plural != "configmaps") return true;
      return ns == "a" || (ns == "b" && allowed >= 2) || allowed >= 3;
    });
    CollectorOptions options = paged_options();
    options.access_reviews = reviews;
    Stage stage(client_, options);
    const auto owner = target_owner("t");
    const auto only_b = target_owner("only-b");
    stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
    stage.collector.register_target(registration_of(only_b, maps(), {"b"}));
    EXPECT_TRUE(stage.has(owner, "a/one"));
    EXPECT_TRUE(stage.signals_hold(owner, [](const Signals& s) {
      return s.complete && !s.error && s.forbidden_namespaces == std::vector<std::string>{"b"};
    }));
    EXPECT_TRUE(stage.signals_hold(only_b, [](const Signals& s) {
      return !s.complete && s.error && s.error->reason == "forbidden" &&
             s.forbidden_namespaces.size() == 1;
    }));
    EXPECT_EQ(stage.open_watches(), "configmaps@a");
    allowed = 2;
    EXPECT_TRUE(stage.has(owner, "a/one b/one"));
    EXPECT_TRUE(stage.has(only_b, "b/one"));
    EXPECT_TRUE(stage.settles(only_b));
    EXPECT_TRUE(
        stage.signals_hold(owner, [](const Signals& s) { return s.forbidden_namespaces.empty(); }));
    // A right that goes takes the rows (X-28); a server ends watches now and then.
    allowed = 1;
    kube_.cut_watches();
    EXPECT_TRUE(stage.has(only_b, ""));
    EXPECT_TRUE(stage.has(owner, "a/one"));
    // The right for all: one watch again.
    allowed = 3;
    EXPECT_TRUE(stage.has(owner, "a/one b/one"));
    EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "configmaps@*"; }));
    allowed = 0;
    kube_.allow_if(nullptr);
  }
}

TEST_F(CollectorFaults, LosingTheRightForAllKeepsWhatIsStillAllowed) {
  kube_.put(FakeKube::config_map("b", "one"));
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
  EXPECT_TRUE(stage.has(owner, "a/one b/one"));
  EXPECT_EQ(stage.open_watches(), "configmaps@*");
  std::atomic<bool> lost = false;
  stage.store.on_change([&](const inventory::Owner& o) {
    if (!stage.rows(o).contains("a/one")) lost = true;
    stage.ring();
  });
  kube_.allow_if([&](const std::string& plural, const std::string& ns) {
    return plural != "configmaps" || ns == "a";
  });
  EXPECT_TRUE(stage.has(owner, "a/one"));
  EXPECT_TRUE(stage.settles(owner));
  EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "configmaps@a"; }));
  EXPECT_FALSE(lost);
  EXPECT_EQ(stage.refusals(), std::vector<std::string>{"b while there are a/one b/one"});
}

TEST_F(CollectorFaults, AClusterScopedKindMayBeForbidden) {
  kube_.put({.plural = "nodes", .ns = {}, .name = "n1", .uid = "u-n1"});
  std::atomic<bool> allowed = true;
  kube_.allow_if(
      [&](const std::string& plural, const std::string&) { return plural != "nodes" || allowed; });
  Stage stage(client_, paged_options());
  const auto owner = target_owner("t");
  TargetText nodes = maps();
  nodes.kind = {"", "v1", "Node"};
  stage.collector.register_target(registration_of(owner, nodes, {}));
  EXPECT_TRUE(stage.has(owner, "n1"));
  allowed = false;
  EXPECT_TRUE(stage.has(owner, ""));
  EXPECT_EQ(stage.refusals(), std::vector<std::string>{"* while there are n1"});
  EXPECT_TRUE(stage.signals_hold(
      owner, [](const Signals& s) { return s.error && s.error->reason == "forbidden"; }));
  EXPECT_THAT(stage.collector.signals(owner).error->message, HasSubstr("nodes"));
  allowed = true;
  EXPECT_TRUE(stage.has(owner, "n1"));
  EXPECT_TRUE(stage.signals_hold(owner, [](const Signals& s) { return !s.error; }));
}

TEST_F(CollectorFaults, ReviewsThatFailChangeNothing) {  // X-28, AccessCheckFailed
  StepClock clock;
  Stage stage(client_, paged_options(), &clock);
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  std::atomic<bool> broken = true;
  kube_.hook([&](const Received& request) -> std::optional<Reply> {
    if (broken && request.path().ends_with("/selfsubjectaccessreviews")) {
      return FakeKube::status(500, "InternalError");
    }
    return std::nullopt;
  });
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(stage.signals_hold(
      owner, [](const Signals& s) { return s.access_check_error && s.complete; }));
  kube_.put(FakeKube::config_map("a", "four"));
  EXPECT_TRUE(stage.has(owner, "a/four a/one a/three a/two"));
  // A target of a kind that nobody has asked about is not collected on a guess.
  const auto nodes = target_owner("nodes");
  kube_.put({.plural = "nodes", .ns = {}, .name = "n1", .uid = "u-n1"});
  TargetText text = maps();
  text.kind = {"", "v1", "Node"};
  stage.collector.register_target(registration_of(nodes, text, {}));
  EXPECT_TRUE(stage.signals_hold(
      nodes, [](const Signals& s) { return s.access_check_error && !s.complete; }));
  EXPECT_EQ(kube_.requests("nodes", false), 0U);
  broken = false;
  clock.advance(std::chrono::minutes(1));
  EXPECT_TRUE(stage.has(nodes, "n1"));
  EXPECT_TRUE(stage.signals_hold(owner, [](const Signals& s) { return !s.access_check_error; }));
}

TEST_F(CollectorFaults, NamespacesThatMayNotBeListed) {  // L-12
  std::atomic<bool> allowed = false;
  kube_.allow_if([&](const std::string& plural, const std::string&) {
    return plural != "namespaces" || allowed;
  });
  Stage stage(client_, paged_options());
  EXPECT_TRUE(stage.wait([&] {
    const KnownNamespaces known = stage.collector.namespaces();
    return !known.known && known.error && known.error->reason == "forbidden";
  }));
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a"}));
  EXPECT_TRUE(stage.has(owner, "a/one"));
  allowed = true;
  EXPECT_TRUE(stage.wait([&] {
    const KnownNamespaces known = stage.collector.namespaces();
    return known.known && !known.error && known.all->size() == 3;
  }));
}

TEST_F(CollectorFaults, TenantModeAsksForNothingClusterWide) {  // X-1
  kube_.put(FakeKube::config_map("b", "one"));
  CollectorOptions options = paged_options();
  options.tenant_mode = true;
  {
    Stage stage(client_, options);
    EXPECT_EQ(stage.collector.namespaces().error->reason, "tenant-mode");
    const auto owner = target_owner("t");
    stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"a", "b"}));
    EXPECT_TRUE(stage.has(owner, "a/one b/one"));
    EXPECT_TRUE(stage.settles(owner));
    EXPECT_EQ(stage.open_watches(), "configmaps@a configmaps@b");
    EXPECT_EQ(stage.collector.signals(owner).watches, 2U);
    stage.collector.register_target(registration_of(owner, maps("names: [one]"), {"b"}));
    EXPECT_TRUE(stage.has(owner, "b/one"));
    EXPECT_TRUE(stage.wait([&] { return stage.open_watches() == "configmaps@b"; }));
  }
  for (const char* plural : {"configmaps", "namespaces", "customresourcedefinitions"}) {
    EXPECT_EQ(kube_.requests(plural, false), 0U) << plural;
    EXPECT_EQ(kube_.requests(plural, true), 0U) << plural;
  }
}

TEST_F(CollectorFaults, NothingIsAskedWhileNothingChanges) {
  StepClock clock;
  Stage stage(client_, paged_options(), &clock);
  ASSERT_TRUE(stage.knows_namespaces());
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  kube_.put(FakeKube::config_map("a", "four"));
  EXPECT_TRUE(stage.has(owner, "a/four a/one a/three a/two"));
  const std::size_t lists = kube_.requests("configmaps", false);
  const auto count = [&](const std::string& ending) {
    return std::ranges::count_if(kube_.received(), [&](const Received& request) {
      return request.path().ends_with(ending);
    });
  };
  const auto discoveries = count("/apis");
  const auto reviews = count("/selfsubjectaccessreviews");
  clock.advance(std::chrono::seconds(1));  // the decision expires
  EXPECT_TRUE(stage.wait([&] {
    if (count("/selfsubjectaccessreviews") == reviews + 1) return true;
    clock.advance(std::chrono::milliseconds(1));  // whoever began to wait only now wakes up, too
    return false;
  }));
  kube_.put(FakeKube::config_map("a", "five"));
  EXPECT_TRUE(stage.has(owner, "a/five a/four a/one a/three a/two"));
  EXPECT_EQ(kube_.requests("configmaps", false), lists);
  EXPECT_EQ(count("/apis"), discoveries);
  EXPECT_EQ(count("/selfsubjectaccessreviews"), reviews + 1);
}

TEST_F(CollectorFaults, EverythingIsLookedAtAnewNowAndThen) {  // --informer-resync-period
  StepClock clock;
  CollectorOptions options = paged_options();
  options.access_reviews = false;
  Stage stage(client_, options, &clock);
  const auto owner = target_owner("t");
  stage.collector.register_target(registration_of(owner, maps(), {"a", "b"}));
  EXPECT_TRUE(stage.settles(owner));
  // Somebody else's row, and one that went missing.
  stage.store.remove(owner, "uid-a-one");
  EXPECT_EQ(stage.rows(owner), "a/three a/two");
  clock.advance(std::chrono::hours(12) + std::chrono::seconds(1));
  EXPECT_TRUE(stage.has(owner, "a/one a/three a/two"));
}

}  // namespace
}  // namespace kollect::collector
