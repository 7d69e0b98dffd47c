// What every store of changes must do with many changes at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "fleet/seed.h"
#include "fleet/sqlite_keeper.h"

namespace kollect::fleet {
namespace {

using base::json::Value;

Change made(const std::string& id, std::string batch = {}) {
  base::json::Object record;
  record.set("id", id);
  record.set("labels", base::json::Object{});
  record.set("annotations", base::json::Object{});
  return {.family = Family::kNamespace,
          .id = id,
          .after = Value(std::move(record)),
          .batch = std::move(batch)};
}

class KeepersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::create();
    ASSERT_TRUE(folder.has_value());
    folder_ = std::make_unique<base::TempDir>(*std::move(folder));
    sqlite_ = reopened();
    ASSERT_NE(sqlite_, nullptr);
  }
  std::filesystem::path file() const { return folder_->path() / "fleet.db"; }
  std::unique_ptr<SqliteKeeper> reopened() const {
    auto keeper = SqliteKeeper::open(file(), true);
    EXPECT_TRUE(keeper.has_value()) << keeper.error().message;
    return keeper ? *std::move(keeper) : nullptr;
  }
  static base::Result<> keep(Keeper& keeper, const std::vector<Change>& changes) {
    KL_ASSIGN(const News news, keeper.begin());
    (void)news;
    return keeper.keep(changes);
  }
  /// "id batch" of the entries of a query, newest first.
  static std::vector<std::string> trail(Keeper& keeper, const AuditQuery& query) {
    std::vector<std::string> out;
    const auto entries = keeper.audit(query);
    EXPECT_TRUE(entries.has_value());
    if (!entries) return out;
    for (const Value& entry : *entries) {
      out.push_back(std::string(entry.text("id")) + " " +
                    base::json::compact(*entry.find("batch")));
    }
    return out;
  }
  static void keeps_batches(Keeper& keeper) {
    ASSERT_TRUE(keep(keeper, {made("a", "b1"), made("b", "b1")}));
    ASSERT_TRUE(keep(keeper, {made("c")}));
    using ::testing::ElementsAre;
    EXPECT_THAT(trail(keeper, {}), ElementsAre("c null", R"(b "b1")", R"(a "b1")"));
    AuditQuery query;
    query.batch = "b1";
    EXPECT_THAT(trail(keeper, query), ElementsAre(R"(b "b1")", R"(a "b1")"));
  }

  std::unique_ptr<base::TempDir> folder_;
  std::unique_ptr<SqliteKeeper> sqlite_;
};

TEST_F(KeepersTest, ABatchIsInTheTrailOfSqlite) {
  keeps_batches(*sqlite_);
}

TEST_F(KeepersTest, ABatchIsInTheTrailOfTheSeedFile) {
  SeedKeeper seed(folder_->path() / "seed.json", {});
  keeps_batches(seed);
  EXPECT_EQ(read_seed(folder_->path() / "seed.json")->records[2].size(), 3U);
}

TEST_F(KeepersTest, AnotherProcessSeesABatchInOneLook) {
  const auto other = reopened();
  ASSERT_TRUE(other->load(nullptr));
  ASSERT_TRUE(keep(*sqlite_, {made("a", "b1"), made("b", "b1")}));
  const auto news = other->look();
  ASSERT_TRUE(news.has_value());
  EXPECT_EQ(news->changes.size(), 2U);
}

TEST_F(KeepersTest, ARolloutIsAnEntryAndNothingElse) {
  Change rollout = made("r1", "r1");
  rollout.about = Change::About::kRollout;
  SeedKeeper seed(folder_->path() / "seed.json", {});
  const auto other = reopened();
  ASSERT_TRUE(other->load(nullptr));
  for (Keeper* keeper : {static_cast<Keeper*>(sqlite_.get()), static_cast<Keeper*>(&seed)}) {
    ASSERT_TRUE(keep(*keeper, {made("a", "r1"), rollout}));
    AuditQuery query;
    query.family = "rollouts";
    EXPECT_THAT(trail(*keeper, query), ::testing::ElementsAre(R"(r1 "r1")"));
  }
  EXPECT_EQ(reopened()->load(nullptr)->records[2].size(), 1U);
  EXPECT_EQ(read_seed(folder_->path() / "seed.json")->records[2].size(), 1U);
  const auto news = other->look();
  ASSERT_EQ(news->changes.size(), 2U);
  EXPECT_EQ(news->changes[1].about, Change::About::kRollout);
}

TEST_F(KeepersTest, OfABatchThatCannotBeWrittenNothingIs) {
  auto database =
      dbfile::Database::open(file(), dbfile::Database::Mode::kReadWrite, std::chrono::seconds(5));
  ASSERT_TRUE(database.has_value());
  ASSERT_TRUE(
      database->execute("CREATE TRIGGER no BEFORE INSERT ON namespaces WHEN new.id = 'bad' "
                        "BEGIN SELECT raise(ABORT, 'no'); END"));
  EXPECT_FALSE(keep(*sqlite_, {made("a", "b1"), made("bad", "b1")}));
  EXPECT_THAT(trail(*sqlite_, {}), ::testing::IsEmpty());
  EXPECT_EQ(reopened()->load(nullptr)->records[2].size(), 0U);
  ASSERT_TRUE(keep(*sqlite_, {made("c")})) << "the store goes on";
}

TEST_F(KeepersTest, WhatTheSeedFileRefusesIsTakenBack) {
  const auto place = folder_->path() / "gone";
  SeedKeeper seed(place / "seed.json", {});
  std::filesystem::create_directory(place);
  ASSERT_TRUE(keep(seed, {made("a")}));
  std::filesystem::rename(place, folder_->path() / "away");
  base::write_file_atomic(place, "a file where a folder was", 0644).value();
  Change gone{.family = Family::kNamespace, .id = "a"};
  EXPECT_FALSE(keep(seed, {gone, made("b")}));
  std::filesystem::remove(place);
  std::filesystem::rename(folder_->path() / "away", place);
  ASSERT_TRUE(keep(seed, {made("c")}));
  const auto records = read_seed(place / "seed.json")->records[2];
  EXPECT_TRUE(records.contains("a") && records.contains("c") && !records.contains("b"));
}

TEST_F(KeepersTest, AFileWithoutBatchesGetsThem) {
  ASSERT_TRUE(keep(*sqlite_, {made("a")}));
  sqlite_.reset();
  {
    auto database =
        dbfile::Database::open(file(), dbfile::Database::Mode::kReadWrite, std::chrono::seconds(5));
    ASSERT_TRUE(database.has_value());
    ASSERT_TRUE(
        database->execute("DROP INDEX fleet_audit_batch; "
                          "ALTER TABLE fleet_audit DROP COLUMN batch"));
  }
  sqlite_ = reopened();
  ASSERT_TRUE(keep(*sqlite_, {made("b", "b1")}));
  EXPECT_THAT(trail(*sqlite_, {}), ::testing::ElementsAre(R"(b "b1")", "a null"));
  EXPECT_NE(reopened(), nullptr) << "a second time changes nothing";
}

}  // namespace
}  // namespace kollect::fleet
