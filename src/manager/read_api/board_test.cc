#include "manager/read_api/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::manager {
namespace {

using base::json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Value json(const std::string& text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? base::json::to_value(document->root()) : Value();
}

TEST(ReadBoard, SpecsAreShownWithoutSecrets) {
  const std::string shown = base::json::compact(without_secrets(
      json(R"({"endpoint":"https://user:hunter2@git.example/a.git","secretRef":{"name":"git"},)"
           R"("options":{"sasl.password":"p4ss","access-key":"k3y","region":"eu","note":"a@b"},)"
           R"("kafka":{"brokers":["kafka://x:y1@a:9092"]},"databaseRef":{"name":"dsn"}})")));
  for (const char* hidden : {"hunter2", "p4ss", "k3y", "y1@"}) {
    EXPECT_THAT(shown, Not(HasSubstr(hidden)));
  }
  for (const char* part :
       {R"("endpoint":"https://***@git.example/a.git")", R"("secretRef":{"name":"git"})",
        R"("region":"eu")", R"("note":"a@b")", R"("databaseRef":{"name":"dsn"})"}) {
    EXPECT_THAT(shown, HasSubstr(part));
  }
}

/// A board over objects that a test gives.
struct Board {
  void add(const std::string& kind, const std::string& text) {
    auto document = base::json::Document::parse(text);
    ASSERT_TRUE(document);
    kube::ObjectReceiver& feed = *feeds.at(kind);
    feed.object(document->root());
  }

  ObjectCache<api::Profile> profiles{"KollectProfile"};
  ObjectCache<api::Target> targets{"KollectTarget"};
  ObjectCache<api::Scope> scopes{"KollectScope"};
  ObjectCache<api::Inventory> inventories{"KollectInventory"};
  ObjectCache<api::ClusterTarget> cluster_targets{"KollectClusterTarget"};
  ObjectCache<api::ClusterScope> cluster_scopes{"KollectClusterScope"};
  ObjectCache<api::ClusterInventory> cluster_inventories{"KollectClusterInventory"};
  ObjectCache<api::SnapshotSink> snapshot{"KollectSnapshotSink"};
  ObjectCache<api::DatabaseSink> database{"KollectDatabaseSink"};
  ObjectCache<api::EventSink> event{"KollectEventSink"};
  std::map<std::string, kube::ObjectReceiver*> feeds = {
      {"KollectTarget", &targets.feed("")},
      {"KollectInventory", &inventories.feed("")},
      {"KollectClusterInventory", &cluster_inventories.feed("")},
      {"KollectDatabaseSink", &database.feed("")}};
  base::ManualClock clock;
  inventory::RowStore store;
  exporter::Exporter exporter{store, clock, nullptr};
  ClusterTargetBoard cluster_board;
  BoardParts parts{.profiles = profiles,
                   .targets = targets,
                   .scopes = scopes,
                   .inventories = inventories,
                   .cluster_targets = cluster_targets,
                   .cluster_scopes = cluster_scopes,
                   .cluster_inventories = cluster_inventories,
                   .sinks = {.snapshot = snapshot, .database = database, .event = event},
                   .exporter = exporter,
                   .cluster_board = cluster_board,
                   .namespaces = [] {
                     return collector::KnownNamespaces{
                         .all = std::make_shared<const select::Namespaces>(),
                         .known = true,
                         .error = std::nullopt};
                   }};
};

constexpr const char* kInventory =
    R"({"metadata":{"name":"inv","namespace":"shop","uid":"1","generation":3},)"
    R"("spec":{"databaseSinkRefs":["pg","new"],"eventSinkRefs":[{"name":"bus"}],)"
    R"("snapshotSinkRefs":["git"],"httpEndpoint":{"enabled":true}},)"
    R"("status":{"itemCount":7,"lastExportTime":"2026-01-01T00:00:00Z","sinkExports":[)"
    R"({"name":"database/pg","lastChecksum":"set:x","lastExportTime":"2026-01-01T00:00:00Z",)"
    R"("conditions":[{"type":"Synced","status":"True","reason":"Exported","message":"7 rows"}]},)"
    R"({"name":"event/bus","conditions":[{"type":"Synced","status":"False","reason":"Debounced",)"
    R"("message":"later"}]},)"
    R"({"name":"snapshot/git","conditions":[{"type":"Synced","status":"False",)"
    R"("reason":"ExportTransient","message":"refused"}]}]}})";

TEST(ReadBoard, ABindingSaysHowItStandsByItsOwnName) {  // X-51
  Board board;
  board.add("KollectInventory", kInventory);
  const ReadBoard read(board.parts, false);
  std::vector<std::string> told;
  for (const Value& one : read.exports(false, "shop", "inv")) {
    told.push_back(std::string(one.text("sinkName")) + " " + std::string(one.text("status")));
  }
  EXPECT_THAT(told, ElementsAre("git degraded", "pg ok", "new unknown", "bus debounced"));
  EXPECT_TRUE(read.exports(false, "shop", "none").empty());
  EXPECT_TRUE(read.exports(true, "", "inv").empty());
}

TEST(ReadBoard, ObjectsAreShownWithTheirState) {
  Board board;
  board.add("KollectInventory", kInventory);
  board.add("KollectTarget",
            R"({"metadata":{"name":"t","namespace":"shop"},"spec":{"profileRef":"p"},)"
            R"("status":{"collectedCount":5,"observedGeneration":2,"conditions":[]}})");
  board.add("KollectDatabaseSink",
            R"({"metadata":{"name":"pg","namespace":"shop"},"spec":{"type":"postgres",)"
            R"("postgres":{"databaseRef":{"name":"dsn"}}}})");
  const ReadBoard read(board.parts, false);
  const auto inventories = read.statuses("KollectInventory", "shop");
  ASSERT_EQ(inventories.size(), 1U);
  EXPECT_EQ(inventories[0].find("itemCount")->as_int(), 7);
  EXPECT_THAT(base::json::compact(*inventories[0].find("sinkExports")),
              HasSubstr(R"({"sink":"database/pg","type":"postgres","status":"ok")"));
  const auto targets = read.statuses("KollectTarget", "");
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].find("itemCount")->as_int(), 5);
  EXPECT_EQ(targets[0].find("observedGeneration")->as_int(), 2);
  const auto sinks = read.statuses("KollectDatabaseSink", "shop");
  ASSERT_EQ(sinks.size(), 1U);
  EXPECT_EQ(base::json::compact(*sinks[0].find("usedBy")), R"(["shop/inv"])");
  EXPECT_TRUE(read.statuses("KollectTarget", "other").empty());
}

TEST(ReadBoard, OnlyOpenInventoriesWhereTheyHaveToBe) {  // X-48
  Board board;
  board.add("KollectInventory", kInventory);
  board.add("KollectInventory", R"({"metadata":{"name":"inv","namespace":"pay"},"spec":{}})");
  const ReadBoard all(board.parts, false);
  EXPECT_EQ(all.all().size(), 2U);
  EXPECT_FALSE(all.limit());
  const ReadBoard open(board.parts, true);
  ASSERT_EQ(open.all().size(), 1U);
  EXPECT_EQ(open.all()[0].ns, "shop");
  EXPECT_TRUE(open.find(false, "shop", "inv"));
  EXPECT_FALSE(open.find(false, "pay", "inv"));
  const auto limit = open.limit();
  ASSERT_TRUE(limit);
  using inventory::OwnerClass;
  EXPECT_TRUE(limit->wanted({.owner_class = OwnerClass::kTarget, .ns = "shop", .name = "t"}));
  EXPECT_FALSE(limit->wanted({.owner_class = OwnerClass::kTarget, .ns = "pay", .name = "t"}));
  EXPECT_FALSE(
      limit->wanted({.owner_class = OwnerClass::kClusterTarget, .ns = "shop", .name = "t"}));
}

}  // namespace
}  // namespace kollect::manager
