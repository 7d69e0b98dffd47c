// What every store must do, as tests that run against each of them. Only for *test.cc files: a file
// that includes this names its stores with INSTANTIATE_TEST_SUITE_P.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/json/document.h"
#include "base/json/write.h"
#include "fleet/fleet.h"

namespace kollect::fleet::contract {

using base::json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A process at a store, and what it read when it began.
struct Opened {
  std::unique_ptr<Keeper> keeper;
  Content content;
};

/// One store; it is gone with this object.
class World {
 public:
  virtual ~World() = default;
  /// A process more, or the first one. A new store is empty.
  virtual Opened open() = 0;
};

struct Store {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};

inline void PrintTo(const Store& store, std::ostream* out) {
  *out << store.name;
}
inline std::string name_of(const ::testing::TestParamInfo<Store>& info) {
  return info.param.name;
}

inline Value parse(const std::string& text) {
  const auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return document ? base::json::to_value(document->root()) : Value();
}

class KeeperContract : public ::testing::TestWithParam<Store> {
 protected:
  KeeperContract() : world_(GetParam().make()), one_(world_->open()) {}

  static Value name_space(const std::string& id, const std::string& value = "x") {
    base::json::Object labels;
    labels.set("key", value);
    base::json::Object record;
    record.set("id", id);
    record.set("labels", std::move(labels));
    record.set("annotations", base::json::Object{});
    return record;
  }
  static Value cluster(const std::string& id, const std::string& dns) {
    return parse(
        R"({"id":")" + id + R"(","cluster_name":"N","cluster_dns":")" + dns +
        R"(","environment":"dev","platform_components":[],"namespaces":[],"rolebindings":[],"patches":{}})");
  }
  static Change change(Family family, const std::string& id, std::optional<Value> before,
                       std::optional<Value> after, std::uint64_t version = 1) {
    return {.family = family,
            .id = id,
            .before = std::move(before),
            .after = std::move(after),
            .version = version,
            .at = kTime,
            .actor = {.name = "anna",
                      .request_id = "7",
                      .source = "192.0.2.1",
                      .method = "PUT",
                      .path = "/somewhere"}};
  }
  static Change made(const std::string& id) {
    return change(Family::kNamespace, id, {}, name_space(id));
  }
  static Change buried(const std::string& id, const std::string& dns) {
    Change gone = change(Family::kCluster, id, cluster(id, dns), {});
    gone.buried = Tombstone{.dns = dns, .cluster = id, .actor = "anna", .at = kTime};
    return gone;
  }
  static base::Result<News> keep(Keeper& keeper, const std::vector<Change>& changes) {
    KL_ASSIGN(News news, keeper.begin());
    KL_TRY(keeper.keep(changes));
    return news;
  }
  static std::vector<std::string> ids(const Content& content, Family family) {
    std::vector<std::string> out;
    for (const auto& [id, record] : content.records.at(static_cast<std::size_t>(family))) {
      out.push_back(id);
    }
    return out;
  }
  static std::vector<std::string> names(const Content& content) {
    std::vector<std::string> out;
    for (const Tombstone& one : content.tombstones) out.push_back(one.dns);
    return out;
  }
  static std::vector<std::string> ids(const News& news) {
    std::vector<std::string> out;
    EXPECT_FALSE(news.content.has_value()) << "everything anew";
    for (const Change& one : news.changes) out.push_back(one.id);
    return out;
  }
  static std::vector<std::string> trail(Keeper& keeper, const AuditQuery& query) {
    std::vector<std::string> out;
    const auto entries = keeper.audit(query);
    EXPECT_TRUE(entries.has_value());
    if (!entries) return out;
    for (const Value& entry : *entries) out.emplace_back(entry.text("id"));
    return out;
  }
  static AuditQuery query(const std::function<void(AuditQuery&)>& set) {
    AuditQuery out;
    set(out);
    return out;
  }
  Keeper& keeper() { return *one_.keeper; }

  static constexpr base::WallTime kTime{std::chrono::seconds(1'800'000'000)};
  std::unique_ptr<World> world_;
  Opened one_;
};

TEST_P(KeeperContract, WhatWasKeptIsThereAfterwards) {
  ASSERT_TRUE(keep(keeper(), {made("a"), made("b"), made("c"),
                              change(Family::kCluster, "k", {}, cluster("k", "k.test"))}));
  ASSERT_TRUE(keep(
      keeper(), {change(Family::kNamespace, "c", name_space("c"), {}),
                 change(Family::kNamespace, "b", name_space("b"), name_space("b", "other"), 2)}));
  one_ = {};
  const Opened again = world_->open();
  EXPECT_THAT(ids(again.content, Family::kNamespace), ElementsAre("a", "b"));
  EXPECT_EQ(again.content.records[2].at("b").data, name_space("b", "other"));
  EXPECT_EQ(again.content.records[0].at("k").data, cluster("k", "k.test"));
  EXPECT_THAT(again.content.tombstones, IsEmpty());
}

TEST_P(KeeperContract, AnyTextIsKept) {
  const std::vector<std::string> odd = {std::string("nul\0in it", 9),
                                        std::string("nul\x01"
                                                    "0in it"),
                                        "\x01",
                                        "{\"a\",NULL}",
                                        "back\\slash\"quote'",
                                        "NULL",
                                        " blank ",
                                        "line\nbreak\ttab",
                                        "\xF0\x9F\x9A\xA2 ship",
                                        "$1",
                                        std::string(5000, 'l'),
                                        std::string(5000, 'l') + "2"};
  std::vector<Change> changes;
  for (const std::string& id : odd) {
    changes.push_back(change(Family::kNamespace, id, {}, name_space(id, id)));
    changes.back().actor.path = "/namespaces/" + id;
  }
  ASSERT_TRUE(keep(keeper(), changes));
  for (const std::string& id : odd) {
    EXPECT_THAT(trail(keeper(), query([&](AuditQuery& q) { q.id = id; })), ElementsAre(id));
  }
  const auto entry = keeper().audit(query([&](AuditQuery& q) { q.id = odd[0]; }));
  EXPECT_EQ(entry->front().text("path"), "/namespaces/" + odd[0]);
  Opened again = world_->open();
  ASSERT_EQ(again.content.records[2].size(), odd.size());
  for (const std::string& id : odd) {
    ASSERT_TRUE(again.content.records[2].contains(id));
    EXPECT_EQ(again.content.records[2].at(id).data, name_space(id, id));
    ASSERT_TRUE(keep(*again.keeper, {change(Family::kNamespace, id, name_space(id, id), {})}));
  }
  EXPECT_THAT(ids(world_->open().content, Family::kNamespace), IsEmpty());
}

TEST_P(KeeperContract, MembersKeepTheirOrder) {
  const Value binding =
      parse(R"({"id":"r","role":"view","subjects":[{"zz":1,"a":{"c":null,"b":"\u0000"}},"odd"]})");
  ASSERT_TRUE(keep(keeper(), {change(Family::kRoleBinding, "r", {}, binding)}));
  EXPECT_EQ(base::json::compact(world_->open().content.records[3].at("r").data),
            base::json::compact(binding));
}

TEST_P(KeeperContract, Tombstones) {
  ASSERT_TRUE(keep(keeper(), {change(Family::kCluster, "a", {}, cluster("a", "a.test")),
                              change(Family::kCluster, "b", {}, cluster("b", "b.test")),
                              change(Family::kCluster, "c", {}, cluster("c", "c.test"))}));
  ASSERT_TRUE(keep(keeper(), {buried("a", "a.test"), buried("b", "b.test")}));
  const Content content = world_->open().content;
  EXPECT_THAT(names(content), ElementsAre("a.test", "b.test"));
  EXPECT_EQ(content.tombstones[0].cluster, "a");
  EXPECT_EQ(content.tombstones[0].actor, "anna");
  EXPECT_EQ(content.tombstones[0].at, kTime);
  // One is dropped, one lives again, one moves to a cluster that is made in the same breath.
  Change dropped = change(Family::kCluster, "a.test", to_value(content.tombstones[0]), {});
  dropped.about = Change::About::kTombstone;
  Change back = change(Family::kCluster, "b2", {}, cluster("b2", "b.test"));
  back.unearthed = "b.test";
  Change moved = change(Family::kCluster, "c2", {}, cluster("c2", "c.test"));
  moved.unearthed = "c.test";
  ASSERT_TRUE(keep(keeper(), {buried("c", "c.test"), dropped, back, moved}));
  const Content after = world_->open().content;
  EXPECT_THAT(names(after), IsEmpty());
  EXPECT_THAT(ids(after, Family::kCluster), ElementsAre("b2", "c2"));
}

TEST_P(KeeperContract, TheTrail) {
  auto rollout = change(Family::kCluster, "r1", {}, parse(R"({"id":"r1","waves":2})"));
  rollout.about = Change::About::kRollout;
  rollout.batch = "b1";
  auto second = change(Family::kNamespace, "a", name_space("a"), name_space("a", "y"), 2);
  second.batch = "b1";
  second.actor.name = "bert";
  second.at = kTime + std::chrono::seconds(10);
  ASSERT_TRUE(keep(keeper(), {made("a")}));
  ASSERT_TRUE(keep(keeper(), {second, rollout}));
  EXPECT_THAT(trail(keeper(), {}), ElementsAre("r1", "a", "a"));
  const auto entries = keeper().audit(query([](AuditQuery& q) { q.actor = "bert"; }));
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(
      base::json::compact(entries->front()),
      R"({"seq":2,"at":"2027-01-15T08:00:10Z","actor":"bert","request_id":"7","source":"192.0.2.1",)"
      R"("method":"PUT","path":"/somewhere","family":"namespaces","id":"a",)"
      R"("before":{"id":"a","labels":{"key":"x"},"annotations":{}},)"
      R"("after":{"id":"a","labels":{"key":"y"},"annotations":{}},"version":2,"batch":"b1"})");
  EXPECT_THAT(trail(keeper(), query([](AuditQuery& q) { q.family = "rollouts"; })),
              ElementsAre("r1"));
  EXPECT_THAT(trail(keeper(), query([](AuditQuery& q) { q.batch = "b1"; })),
              ElementsAre("r1", "a"));
  EXPECT_THAT(
      trail(keeper(), query([](AuditQuery& q) { q.since = kTime + std::chrono::seconds(1); })),
      ElementsAre("a"));
  EXPECT_THAT(
      trail(keeper(), query([](AuditQuery& q) { q.until = kTime + std::chrono::seconds(1); })),
      ElementsAre("r1", "a"));
  EXPECT_THAT(trail(keeper(), query([](AuditQuery& q) { q.before = 2; })), ElementsAre("a"));
  EXPECT_THAT(trail(keeper(), query([](AuditQuery& q) { q.limit = 1; })), ElementsAre("r1"));
  EXPECT_THAT(ids(world_->open().content, Family::kNamespace), ElementsAre("a"));
}

TEST_P(KeeperContract, AnAbandonedTurnLeavesNothing) {
  ASSERT_TRUE(keeper().begin());
  keeper().abandon();
  ASSERT_TRUE(keep(keeper(), {made("a")}));
  ASSERT_TRUE(keeper().begin());
  keeper().abandon();
  EXPECT_THAT(ids(world_->open().content, Family::kNamespace), ElementsAre("a"));
  EXPECT_THAT(trail(keeper(), {}), ElementsAre("a"));
  const auto news = keeper().look();
  ASSERT_TRUE(news.has_value());
  EXPECT_THAT(ids(*news), IsEmpty()) << "one's own changes are no news";
}

/// Stores for many processes.
class SharedKeeperContract : public KeeperContract {};

TEST_P(SharedKeeperContract, OthersHearOfEveryChangeOnce) {
  Opened other = world_->open();
  ASSERT_TRUE(keep(keeper(), {made("a"), made("b")}));
  ASSERT_TRUE(keep(keeper(), {change(Family::kCluster, "k", {}, cluster("k", "k.test")),
                              change(Family::kNamespace, "b", name_space("b"), {})}));
  ASSERT_TRUE(keep(keeper(), {buried("k", "k.test")}));
  News news = other.keeper->look().value();
  EXPECT_THAT(ids(news), ElementsAre("a", "b", "k", "b", "k"));
  EXPECT_EQ(news.changes[0].after, name_space("a"));
  EXPECT_EQ(news.changes[2].family, Family::kCluster);
  EXPECT_EQ(news.changes[2].unearthed, "k.test");
  EXPECT_EQ(news.changes[3].after, std::nullopt);
  ASSERT_TRUE(news.changes[4].buried.has_value());
  EXPECT_EQ(news.changes[4].buried->dns, "k.test");
  EXPECT_EQ(news.changes[4].buried->actor, "anna");
  EXPECT_EQ(news.changes[4].buried->at, kTime);
  EXPECT_THAT(ids(*other.keeper->look()), IsEmpty());
  // Whoever has a turn begins with what came before it.
  ASSERT_TRUE(keep(keeper(), {made("c")}));
  EXPECT_THAT(ids(*keep(*other.keeper, {made("d")})), ElementsAre("c"));
  EXPECT_THAT(ids(*other.keeper->look()), IsEmpty());
  EXPECT_THAT(ids(*keeper().look()), ElementsAre("d"));
}

TEST_P(SharedKeeperContract, VersionsAreKept) {
  ASSERT_TRUE(keep(keeper(), {made("a")}));
  ASSERT_TRUE(
      keep(keeper(), {change(Family::kNamespace, "a", name_space("a"), name_space("a", "y"), 2)}));
  EXPECT_EQ(world_->open().content.records[2].at("a").version, 2U);
}

TEST_P(SharedKeeperContract, OneTurnAtATime) {
  // Every writer adds one to the number that the news tell it.
  constexpr int kWriters = 3;
  constexpr int kRounds = 30;
  std::vector<Opened> writers;
  for (int i = 0; i < kWriters; ++i) writers.push_back(world_->open());
  std::vector<std::string> problems(kWriters);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kWriters; ++i) {
      threads.emplace_back([&, i] {
        Keeper& own = *writers[i].keeper;
        int number = 0;
        for (int round = 0; round < kRounds; ++round) {
          const auto news = own.begin();
          if (!news) {
            problems[i] = news.error().message;
            return;
          }
          for (const Change& one : news->changes) number = static_cast<int>(one.version);
          ++number;
          const auto kept = own.keep(std::vector{change(
              Family::kNamespace, "n", {}, name_space("n"), static_cast<std::uint64_t>(number))});
          if (!kept) problems[i] = kept.error().message;
        }
      });
    }
  }
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
  EXPECT_EQ(world_->open().content.records[2].at("n").version, kWriters * kRounds);
}

}  // namespace kollect::fleet::contract
