#include "readapi/live/live_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "readapi/stream/hub.h"

namespace kollect::readapi {
namespace {

using namespace std::chrono_literals;
using inventory::Owner;
using inventory::OwnerClass;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Owner target(std::string ns, std::string name) {
  return {OwnerClass::kTarget, std::move(ns), std::move(name)};
}
Owner cluster_target(std::string ns, std::string name) {
  return {OwnerClass::kClusterTarget, std::move(ns), std::move(name)};
}

/// One inventory in "shop", one cluster inventory "all" that has every cluster target.
class Inventories final : public LiveInventories {
 public:
  std::vector<LiveInventory> all() const override { return {shop(), rollup()}; }
  std::optional<LiveInventory> find(bool cluster, const std::string& ns,
                                    const std::string& name) const override {
    if (cluster && name == "all") return rollup();
    if (!cluster && ns == "shop" && name == "main") return shop();
    return std::nullopt;
  }
  std::optional<LiveOwners> limit() const override {
    if (!only_shop) return std::nullopt;
    return LiveOwners{.wanted = [](const Owner& owner) { return owner.ns == "shop"; },
                      .key = "shop"};
  }
  bool only_shop = false;
  inventory::RowChoice choice = inventory::RowChoice::kAll;

 private:
  static LiveInventory shop() {
    LiveInventory out;
    out.ns = "shop";
    out.name = "main";
    out.rows = 3;
    out.wanted = [](const Owner& owner) {
      return owner.owner_class == OwnerClass::kTarget && owner.ns == "shop";
    };
    out.wanted_key = "targets of shop";
    return out;
  }
  LiveInventory rollup() const {
    LiveInventory out;
    out.cluster = true;
    out.name = "all";
    out.wanted = [](const Owner& owner) { return owner.owner_class == OwnerClass::kClusterTarget; };
    out.wanted_key = "cluster targets";
    out.choice = choice;
    return out;
  }
};

class LiveSourceTest : public ::testing::Test {
 protected:
  LiveSourceTest() {
    store_.on_change([this](const Owner& owner) { source_.rows_changed(owner); });
  }

  void put(const Owner& owner, const std::string& ns, const std::string& name,
           const std::string& attributes = "{}", const std::string& kind = "Pod",
           const std::string& uid = {}) {
    store_.upsert(owner, 1,
                  {.target_namespace = owner.ns,
                   .target_name = owner.name,
                   .ns = ns,
                   .name = name,
                   .group = "",
                   .version = "v1",
                   .kind = kind,
                   .uid = uid.empty() ? owner.ns + owner.name + ns + name : uid,
                   .attributes = attributes});
  }
  /// Some rows of two targets and a cluster target.
  void fill() {
    put(target("shop", "web"), "shop", "b", R"({"replicas":10,"team":"Blue"})");
    put(target("shop", "web"), "shop", "a", R"({"replicas":9,"team":"red"})");
    put(target("shop", "web"), "tools", "c", R"({"replicas":"many"})", "Job");
    put(target("pay", "web"), "pay", "d", R"({"nested":{"deep":"Needle"}})");
    put(cluster_target("shop", "audit"), "shop", "a");
    put(cluster_target("", "audit"), "", "node", "{}", "Node");
  }
  base::Result<std::vector<std::string>> names(const RowRequest& request) {
    KL_ASSIGN(const auto rows, source_.rows(context_, request));
    total_ = rows->total();
    std::vector<std::string> out;
    while (true) {
      KL_ASSIGN(const auto row, rows->next());
      if (!row) return out;
      out.push_back(fmt::format("{}/{}/{}/{}", row->row.target_namespace, row->row.target_name,
                                row->row.ns, row->row.name));
    }
  }
  std::vector<std::string> found(RowFilter filter, Order order = {}, Sight sight = {}) {
    const auto got =
        names({.filter = std::move(filter), .sight = std::move(sight), .order = std::move(order)});
    EXPECT_TRUE(got) << got.error().message;
    return got.value_or(std::vector<std::string>());
  }

  base::ManualClock clock_;
  base::Context context_{clock_, {}};
  inventory::RowStore store_;
  Inventories inventories_;
  LiveSource source_{store_, inventories_, clock_, {.small = 1000}};
  std::uint64_t total_ = 0;
};

TEST_F(LiveSourceTest, RowsOfBothClassesStandInCanonicalOrder) {
  fill();
  EXPECT_THAT(found({}), ElementsAre("/audit//node", "pay/web/pay/d", "shop/audit/shop/a",
                                     "shop/web/shop/a", "shop/web/shop/b", "shop/web/tools/c"));
  const auto page = names({.filter = {}, .sight = {}, .offset = 2, .limit = 2});
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, ElementsAre("shop/audit/shop/a", "shop/web/shop/a"));
  EXPECT_EQ(total_, 6U);
  const auto beyond = names({.filter = {}, .sight = {}, .offset = UINT64_MAX, .limit = 2});
  ASSERT_TRUE(beyond);
  EXPECT_THAT(*beyond, IsEmpty());
}

/// The rows are in memory: counting them all costs no more than finding the page.
TEST_F(LiveSourceTest, ATotalThatMayBeBoundedIsExact) {
  fill();
  RowRequest request{.filter = {.search = "a"}, .offset = 1, .limit = 2};
  const auto exact = names(request);
  ASSERT_TRUE(exact);
  EXPECT_THAT(*exact, ElementsAre("shop/audit/shop/a", "shop/web/shop/a"));
  request.bounded = true;
  total_ = 0;
  EXPECT_EQ(names(request).value(), *exact);
  EXPECT_EQ(total_, 4U);
  EXPECT_FALSE(source_.rows(context_, request).value()->at_least());
}

TEST_F(LiveSourceTest, ATargetAndAClusterTargetOfOneNameStandAmongEachOther) {
  put(target("shop", "web"), "shop", "a");
  put(target("shop", "web"), "shop", "c");
  put(cluster_target("shop", "web"), "shop", "b");
  put(cluster_target("shop", "web"), "shop", "d");
  EXPECT_THAT(found({}), ElementsAre("shop/web/shop/a", "shop/web/shop/b", "shop/web/shop/c",
                                     "shop/web/shop/d"));
  EXPECT_THAT(found({.inventory_namespace = "shop", .inventory = "main"}),
              ElementsAre("shop/web/shop/a", "shop/web/shop/c"));
}

TEST_F(LiveSourceTest, FiltersChoose) {
  fill();
  const struct {
    RowFilter filter;
    std::vector<std::string> rows;
  } cases[] = {
      {{.ns = "tools"}, {"shop/web/tools/c"}},
      {{.ns = "pay"}, {"pay/web/pay/d"}},
      {{.ns = "shop", .target = "audit"}, {"shop/audit/shop/a"}},
      {{.target = "web", .kind = "Job"}, {"shop/web/tools/c"}},
      {{.name = "a"}, {"shop/audit/shop/a", "shop/web/shop/a"}},
      {{.group = "apps"}, {}},
      {{.cluster = "other"}, {}},
      {{.search = "bLUE"}, {"shop/web/shop/b"}},
      {{.search = "needle"}, {"pay/web/pay/d"}},
      {{.search = "job"}, {"shop/web/tools/c"}},
      {{.search = "replicas"}, {}},  // names of attributes are no values
      {{.attributes = {{"replicas", "9"}}}, {"shop/web/shop/a"}},
      {{.attributes = {{"replicas", "10"}, {"team", "Blue"}}}, {"shop/web/shop/b"}},
      {{.attributes = {{"nested", R"({"deep":"Needle"})"}}}, {"pay/web/pay/d"}},
      {{.attributes = {{"none", ""}}}, {}},
      {{.inventory_namespace = "pay"}, {"pay/web/pay/d"}},
  };
  for (const auto& one : cases) EXPECT_EQ(found(one.filter), one.rows);
}

TEST_F(LiveSourceTest, AnInventoryHasItsOwnersRows) {
  fill();
  EXPECT_THAT(found({.inventory_namespace = "shop", .inventory = "main"}),
              ElementsAre("shop/web/shop/a", "shop/web/shop/b", "shop/web/tools/c"));
  EXPECT_THAT(
      found({.inventory_namespace = "cluster", .inventory = "all", .cluster_inventory = true}),
      ElementsAre("/audit//node", "shop/audit/shop/a"));
  const auto none =
      names({.filter = {.inventory_namespace = "shop", .inventory = "other"}, .sight = {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::kNotFound);
}

TEST_F(LiveSourceTest, OfOneUidTheLastOwnersRowIsShownOnce) {
  inventories_.choice = inventory::RowChoice::kLastOfUid;
  put(cluster_target("shop", "a"), "shop", "x", "{}", "Pod", "same");
  put(cluster_target("shop", "b"), "shop", "x", "{}", "Pod", "same");
  put(cluster_target("pay", "a"), "pay", "x", "{}", "Pod", "same");
  EXPECT_THAT(
      found({.inventory_namespace = "cluster", .inventory = "all", .cluster_inventory = true}),
      ElementsAre("pay/a/pay/x", "shop/b/shop/x"));
}

TEST_F(LiveSourceTest, SortsByColumnsBothWays) {
  fill();
  // What is missing comes first, then numbers by value, then texts.
  EXPECT_THAT(
      found({.target = "web"}, {.by = "attributes.replicas"}),
      ElementsAre("pay/web/pay/d", "shop/web/shop/a", "shop/web/shop/b", "shop/web/tools/c"));
  EXPECT_THAT(
      found({.target = "web"}, {.by = "name", .descending = true}),
      ElementsAre("pay/web/pay/d", "shop/web/tools/c", "shop/web/shop/b", "shop/web/shop/a"));
  // Equal ones stay in canonical order.
  EXPECT_THAT(found({.ns = "shop", .kind = "Pod"}, {.by = "kind", .descending = true}),
              ElementsAre("shop/audit/shop/a", "shop/web/shop/a", "shop/web/shop/b"));
}

TEST_F(LiveSourceTest, SightGoesBeforeEveryFilter) {
  fill();
  const Sight pay{.clusters = {}, .namespaces = std::vector<std::string>{"pay"}};
  EXPECT_THAT(found({}, {}, pay), ElementsAre("pay/web/pay/d"));
  EXPECT_THAT(found({.ns = "shop"}, {}, pay), IsEmpty());
  const Sight nothing{.clusters = {}, .namespaces = std::vector<std::string>{}};
  EXPECT_THAT(found({}, {}, nothing), IsEmpty());
  const Sight cluster{.clusters = std::vector<std::string>{"other"}, .namespaces = {}};
  EXPECT_THAT(found({}, {}, cluster), IsEmpty());
}

TEST_F(LiveSourceTest, OnlyOpenInventoriesAreShownWhereOthersAreClosed) {
  fill();
  inventories_.only_shop = true;
  EXPECT_THAT(found({}), ElementsAre("shop/audit/shop/a", "shop/web/shop/a", "shop/web/shop/b",
                                     "shop/web/tools/c"));
  EXPECT_THAT(found({.inventory_namespace = "pay"}), IsEmpty());
}

TEST_F(LiveSourceTest, GroupsAreCountedMostRowsFirst) {
  fill();
  const auto groups = source_.groups(context_, {.by = {"kind", "targetName"}, .limit = 2});
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_THAT((*groups)[0].values, ElementsAre("Pod", "web"));
  EXPECT_EQ((*groups)[0].rows, 3U);
  EXPECT_EQ((*groups)[1].rows, 1U);
}

TEST_F(LiveSourceTest, AStateChangesWithTheRowsAndNotElse) {
  fill();
  const auto state = [&] {
    const auto rows = source_.rows(context_, {.filter = {}, .sight = {}});
    return rows ? (*rows)->state() : std::string();
  };
  const std::string first = state();
  EXPECT_EQ(state(), first);
  fill();  // equal rows
  EXPECT_EQ(state(), first);
  put(target("shop", "web"), "shop", "b", R"({"replicas":11})");
  EXPECT_NE(state(), first);
  EXPECT_EQ(source_.state(context_).value_or(""), state());
}

TEST_F(LiveSourceTest, ALargeSetIsUsedForAWhile) {
  LiveSource large(store_, inventories_, clock_, {.small = 2, .pace = 1s, .idle = 1min});
  store_.on_change([&](const Owner& owner) { large.rows_changed(owner); });
  const auto rows = [&] {
    const auto got = large.rows(context_, {.filter = {}, .sight = {}});
    return got ? (*got)->total() : 0;
  };
  fill();
  EXPECT_EQ(rows(), 6U);
  put(target("shop", "web"), "shop", "new");
  EXPECT_EQ(rows(), 6U);
  clock_.advance(1s);
  EXPECT_EQ(rows(), 7U);
}

TEST_F(LiveSourceTest, ASetThatNobodyAsksForIsGivenUpWhenRowsChange) {
  fill();
  EXPECT_EQ(found({}).size(), 6U);
  clock_.advance(1min);
  const std::size_t pinned = store_.stats().bytes;
  put(target("shop", "web"), "shop", "b", R"({"replicas":12})");  // gives it up
  store_.drop(target("shop", "web"));
  EXPECT_LT(store_.stats().bytes, pinned);
  EXPECT_EQ(found({}).size(), 3U);
}

TEST_F(LiveSourceTest, AnAnswerThatIsBeingReadKeepsItsRows) {
  fill();
  const auto rows = source_.rows(context_, {.filter = {}, .sight = {}});
  ASSERT_TRUE(rows);
  store_.drop(target("shop", "web"));
  std::size_t read = 0;
  while (const auto row = (*rows)->next().value_or(std::nullopt)) ++read;
  EXPECT_EQ(read, 6U);
  EXPECT_THAT(found({.target = "web"}), ElementsAre("pay/web/pay/d"));
}

TEST_F(LiveSourceTest, ItHasNoHistory) {
  const auto past = source_.rows(context_, {.filter = {}, .sight = {}, .at = clock_.now()});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().reason, "NoHistory");
  const auto groups = source_.groups(context_, {.by = {"kind"}, .at = clock_.now()});
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().reason, "NoHistory");
  EXPECT_FALSE(source_.changes(context_, {}));
  EXPECT_FALSE(source_.versions(context_, {}, {}));
}

// ---- Feed

TEST_F(LiveSourceTest, TheFeedTellsWhatChangedSinceItWasOpened) {
  fill();
  int news = 0;
  EXPECT_TRUE(source_.on_news([&] { ++news; }));
  ASSERT_TRUE(source_.open(context_));
  std::vector<std::string> told;
  const auto poll = [&] {
    told.clear();
    return source_.poll(context_, [&](const RowNews& one) {
      told.push_back(fmt::format("{}{}{}", one.removed ? "-" : "+", one.row.row.name,
                                 one.of_cluster_target ? "*" : ""));
    });
  };
  EXPECT_EQ(poll().value_or(true), false);
  put(target("shop", "web"), "shop", "b", R"({"replicas":1})");
  put(cluster_target("shop", "audit"), "shop", "z");
  store_.remove(target("pay", "web"), "paywebpayd");
  EXPECT_EQ(poll().value_or(false), true);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("+b", "+z*", "-d"));
  EXPECT_GE(news, 3);
  EXPECT_EQ(poll().value_or(true), false);
  source_.close();
  source_.on_news(nullptr);
  put(target("shop", "web"), "shop", "later");
}

TEST_F(LiveSourceTest, TheFeedKnowsWhichRowsAnInventoryHas) {
  const auto shop = source_.rows_of({.inventory_namespace = "shop", .inventory = "main"});
  ASSERT_TRUE(shop);
  const RowNews web{.row = {.cluster = {},
                            .inventory_namespace = {},
                            .inventory = {},
                            .exported_at = {},
                            .row = {.target_namespace = "shop",
                                    .target_name = "web",
                                    .ns = "shop",
                                    .name = "a",
                                    .group = {},
                                    .version = "v1",
                                    .kind = "Pod",
                                    .uid = "u",
                                    .attributes = "{}"}}};
  RowNews audit = web;
  audit.of_cluster_target = true;
  EXPECT_TRUE((*shop)(web));
  EXPECT_FALSE((*shop)(audit));
  EXPECT_FALSE(source_.rows_of({.inventory_namespace = "shop", .inventory = "none"}));
  EXPECT_FALSE(*source_.rows_of({}));  // everything
}

TEST_F(LiveSourceTest, AHubFollowsTheStore) {
  Hub hub(source_, clock_, nullptr, {});
  int woken = 0;
  const auto listener = hub.listen([&] { ++woken; });
  const std::uint64_t before = hub.newest();
  put(target("shop", "web"), "shop", "a", R"({"x":"<&\"attributes\":{}"})");
  hub.turn();
  EXPECT_EQ(woken, 1);
  const auto batch = hub.after(before, 1 << 20);
  ASSERT_EQ(batch.events.size(), 1U);
  EXPECT_EQ(batch.events[0]->news().row.row.name, "a");
  EXPECT_EQ(batch.events[0]->news().row.row.attributes, R"({"x":"<&\"attributes\":{}"})");
  EXPECT_EQ(hub.number_of(hub.state(batch.events[0]->number())), hub.newest());
}

}  // namespace
}  // namespace kollect::readapi
