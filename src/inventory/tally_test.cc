// Shards, tallies, and one row of each uid.
#include <gmock/gmock.h>

#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Owner platform(std::string ns, std::string name) {
  return {OwnerClass::kClusterTarget, std::move(ns), std::move(name)};
}

class TallyTest : public RowStoreTest {
 protected:
  void put_at(const std::string& ns, const std::string& name, std::size_t n,
              std::string attributes = "{}") {
    OwnedRow row = make(n, std::move(attributes));
    row.ns = ns;
    put(row, 1, platform(ns, name));
  }
  /// "atlas 2/1": rows and targets.
  static std::vector<std::string> texts(const std::vector<Shard>& shards) {
    std::vector<std::string> texts;
    for (const Shard& shard : shards) {
      texts.push_back(fmt::format("{} {}/{}", shard.ns, shard.rows, shard.targets));
    }
    return texts;
  }
  static std::vector<std::string> keys(const Snapshot& snapshot) {
    std::vector<std::string> keys;
    EXPECT_TRUE(snapshot.for_each_sorted([&](const RowView& row) -> base::Result<> {
      keys.push_back(fmt::format("{}/{}: {}", row.target_namespace, row.target_name, row.name));
      return {};
    }));
    return keys;
  }
};

TEST_F(TallyTest, CountsByNamespaceWhatItsOwnersHold) {
  const auto tally = store_.tally(
      [](const Owner& owner) { return owner.owner_class == OwnerClass::kClusterTarget; });
  EXPECT_EQ(tally->row_count(), 0U);
  EXPECT_THAT(tally->shards(), IsEmpty());
  put_at("atlas", "images", 1);
  put_at("atlas", "scan", 1);
  put_at("boreas", "scan", 2);
  put_at("", "nodes", 3);
  put(make(4), 1, target("atlas", "images"));  // of the other class
  EXPECT_EQ(tally->row_count(), 4U);
  EXPECT_THAT(texts(tally->shards()), ElementsAre(" 1/1", "atlas 2/2", "boreas 1/1"));
  store_.drop(platform("boreas", "scan"));
  EXPECT_THAT(texts(tally->shards()), ElementsAre(" 1/1", "atlas 2/2"));
}

TEST_F(TallyTest, AShardHasTheHashOfItsRows) {
  const auto tally = store_.tally(everything);
  put_at("atlas", "images", 1);
  put_at("atlas", "scan", 2);
  const auto before = tally->shards();
  const auto alone = store_.subscribe(everything);
  EXPECT_EQ(before.front().set_hash, alone->set_hash());
  put_at("atlas", "scan", 2, R"({"replicas":2})");
  EXPECT_NE(tally->shards(), before);
  put_at("atlas", "scan", 2);
  EXPECT_EQ(tally->shards(), before);
}

TEST_F(TallyTest, MakesTheStoreRememberNothing) {
  const auto tally = store_.tally(everything);
  put_at("atlas", "images", 1);
  store_.remove(platform("atlas", "images"), uuid(1));
  EXPECT_EQ(store_.stats().tombstones, 0U);
  EXPECT_EQ(tally->row_count(), 0U);
}

// A2: the row of the target whose name sorts last.
TEST_F(TallyTest, OneRowOfEachUidAndNamespace) {
  const auto reader = store_.subscribe(everything, RowChoice::kLastOfUid);
  const auto tally = store_.tally(everything, RowChoice::kLastOfUid);
  put_at("atlas", "scan", 1, R"({"image":"a"})");
  put_at("atlas", "images", 1, R"({"replicas":1})");
  put_at("atlas", "images", 2);
  put_at("boreas", "images", 1);  // the uid again, elsewhere
  Snapshot snapshot = reader->snapshot();
  EXPECT_THAT(keys(snapshot),
              ElementsAre("atlas/images: web-2", "atlas/scan: web-1", "boreas/images: web-1"));
  EXPECT_EQ(snapshot.size(), 3U);
  EXPECT_EQ(snapshot.to_row_set().size(), 3U);
  EXPECT_THAT(texts(tally->shards()), ElementsAre("atlas 2/2", "boreas 1/1"));
  // The other one comes when the last goes.
  store_.remove(platform("atlas", "scan"), uuid(1));
  snapshot = reader->snapshot();
  EXPECT_THAT(keys(snapshot),
              ElementsAre("atlas/images: web-1", "atlas/images: web-2", "boreas/images: web-1"));
  EXPECT_THAT(texts(tally->shards()), ElementsAre("atlas 2/1", "boreas 1/1"));
}

TEST_F(TallyTest, TheHashIsThatOfTheChosenRows) {
  const auto choosing = store_.subscribe(everything, RowChoice::kLastOfUid);
  const auto tally = store_.tally(everything, RowChoice::kLastOfUid);
  const auto last = store_.subscribe([](const Owner& owner) { return owner.name == "scan"; });
  for (std::size_t n = 0; n < 50; ++n) {
    put_at("atlas", "images", n, large(n));
    put_at("atlas", "names", n, large(n + 50));
    put_at("atlas", "scan", n, large(n + 100));
  }
  EXPECT_EQ(choosing->snapshot().set_hash(), last->snapshot().set_hash());
  EXPECT_EQ(tally->shards().front().set_hash, last->snapshot().set_hash());
  EXPECT_EQ(rows_of(choosing->snapshot()), rows_of(last->snapshot()));
}

TEST_F(TallyTest, UidsThatAreNoUuidsAreToldApart) {
  const auto reader = store_.subscribe(everything, RowChoice::kLastOfUid);
  for (std::size_t n = 0; n < 300; ++n) {
    OwnedRow row = make(n);
    row.uid = fmt::format("uid-{}", n);
    put(row, 1, platform("atlas", n % 2 == 0 ? "a" : "b"));
    put(row, 1, platform("atlas", "c"));
  }
  EXPECT_EQ(reader->snapshot().size(), 300U);
}

}  // namespace
}  // namespace kollect::inventory
