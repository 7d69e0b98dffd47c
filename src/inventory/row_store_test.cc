// The promises of row_store.h: rows, sweeps, the listener.
#include "inventory/row_store.h"

#include <gtest/gtest.h>

#include <random>

#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

TEST_F(RowStoreTest, TargetFieldsAreTheOwners) {
  OwnedRow row = make(1);
  row.target_namespace = "elsewhere";
  row.target_name = "other";
  put(row);
  const auto rows = rows_of(store_.subscribe(everything)->snapshot());
  ASSERT_EQ(rows.size(), 1U);
  row.target_namespace = "shop";
  row.target_name = "deployments";
  EXPECT_EQ(rows[0], row);
}

TEST_F(RowStoreTest, EffectsOfUpsert) {
  const auto reader = store_.subscribe(everything);
  EXPECT_FALSE(reader->pending());
  EXPECT_EQ(put(make(1)), Effect::kAdded);
  EXPECT_TRUE(reader->pending());
  EXPECT_EQ(put(make(1, R"({"replicas":2})")), Effect::kChanged);
  const Version version = reader->snapshot().version();
  const std::string hash = reader->set_hash();
  EXPECT_EQ(put(make(1, R"({"replicas":2})")), Effect::kNone);
  EXPECT_EQ(put(make(1, R"({"replicas":2})"), 7), Effect::kNone) << "the source is no content";
  EXPECT_EQ(reader->snapshot().version(), version);
  EXPECT_EQ(reader->set_hash(), hash);
}

TEST_F(RowStoreTest, EveryFieldCounts) {
  put(make(1));
  for (std::string OwnedRow::*field :
       {&OwnedRow::ns, &OwnedRow::name, &OwnedRow::group, &OwnedRow::version, &OwnedRow::kind,
        &OwnedRow::attributes}) {
    OwnedRow row = make(1);
    row.*field = field == &OwnedRow::attributes ? R"({"replicas":"1"})" : "changed";
    EXPECT_EQ(put(row), Effect::kChanged);
    row.target_namespace = "shop";
    row.target_name = "deployments";
    EXPECT_EQ(rows_of(store_.subscribe(everything)->snapshot()), std::vector{row});
    EXPECT_EQ(put(make(1)), Effect::kChanged);
  }
}

TEST_F(RowStoreTest, EveryFieldOfAPackedRowCounts) {
  OwnedRow first = make(1, large(1));
  put(first);
  EXPECT_EQ(put(first), Effect::kNone);
  OwnedRow renamed = first;
  renamed.name = "other";
  EXPECT_EQ(put(renamed), Effect::kChanged);
  OwnedRow changed = renamed;
  changed.attributes[changed.attributes.size() / 2] ^= 1;
  EXPECT_EQ(put(changed), Effect::kChanged);
  EXPECT_EQ(rows_of(store_.subscribe(everything)->snapshot()).at(0).attributes, changed.attributes);
}

TEST_F(RowStoreTest, AttributesComeBackByteForByte) {
  std::mt19937_64 random(5);
  std::string noise = R"({"noise":")";
  while (noise.size() < 300'000) noise += fmt::format("{:x}", random());
  noise += "\"}";
  const std::vector<std::string> texts = {
      "{}",
      R"({"a":null,"b":true,"c":[],"d":{},"e":"","f":-0.5e-7,"g":18446744073709551616})",
      R"({"name":"web-3","namespace":"prod","other":"prod"})",
      R"({"Größe":"groß","世界":"\u003c😀\u003e","quote\"":"\\"})",
      R"({"name":"web\\n"})",
      large(6),
      noise,
      "{\"text\":\"" + std::string(3'000'000, 'a') + "\"}",
      R"({ "odd" : 1 })",
  };
  for (std::size_t i = 0; i < texts.size(); ++i) put(make(i, texts[i]));
  const Snapshot snapshot = store_.subscribe(everything)->snapshot();
  ASSERT_EQ(snapshot.size(), texts.size());
  std::size_t i = 0;
  ASSERT_TRUE(snapshot
                  .for_each_sorted([&](const RowView& row) -> base::Result<> {
                    EXPECT_TRUE(row.attributes == texts.at(i)) << i;
                    ++i;
                    return {};
                  })
                  .has_value());
}

TEST_F(RowStoreTest, NoAttributesAreAnEmptyObject) {
  put(make(1, ""));
  EXPECT_EQ(put(make(1, "{}")), Effect::kNone);
  EXPECT_EQ(rows_of(store_.subscribe(everything)->snapshot()).at(0).attributes, "{}");
}

TEST_F(RowStoreTest, UidsOfAllKinds) {
  const std::vector<std::string> uids = {"",
                                         "1",
                                         uuid(1),
                                         "5F0C1E2D-0000-4000-8000-000000000001",
                                         "5f0c1e2d-0000-4000-8000-00000000000",
                                         "5f0c1e2d000040008000000000000001",
                                         "5f0c1e2d-0000-4000-8000-00000000000g",
                                         std::string(1000, 'u'),
                                         "größe"};
  for (const std::string& uid : uids) {
    OwnedRow row = make(1);
    row.uid = uid;
    EXPECT_EQ(put(row), Effect::kAdded) << uid;
    EXPECT_EQ(put(row), Effect::kNone) << uid;
  }
  const auto reader = caught_up();
  std::set<std::string> seen;
  for (const OwnedRow& row : rows_of(reader->snapshot())) seen.insert(row.uid);
  EXPECT_EQ(seen, std::set<std::string>(uids.begin(), uids.end()));
  for (const std::string& uid : uids) {
    EXPECT_TRUE(store_.touch(kShop, uid)) << uid;
    EXPECT_TRUE(store_.remove(kShop, uid)) << uid;
    EXPECT_FALSE(store_.remove(kShop, uid)) << uid;
    EXPECT_FALSE(store_.touch(kShop, uid)) << uid;
  }
  std::vector<std::string> removed;
  for (const std::string& uid : uids) removed.push_back("-" + uid);
  EXPECT_EQ(changed_uids(reader->changes()), removed);
}

TEST_F(RowStoreTest, OwnersOfBothClassesAndEqualNamesAreTwo) {
  const Owner cluster{OwnerClass::kClusterTarget, kShop.ns, kShop.name};
  put(make(1), 1, kShop);
  put(make(1, R"({"replicas":9})"), 1, cluster);
  EXPECT_EQ(store_.row_count(kShop), 1U);
  EXPECT_EQ(store_.row_count(cluster), 1U);
  const auto reader = store_.subscribe(
      [](const Owner& owner) { return owner.owner_class == OwnerClass::kClusterTarget; });
  EXPECT_EQ(rows_of(reader->snapshot()).at(0).attributes, R"({"replicas":9})");
  EXPECT_EQ(store_.drop(cluster), 1U);
  EXPECT_EQ(store_.row_count(kShop), 1U);
}

TEST_F(RowStoreTest, OwnersAndCounts) {
  EXPECT_EQ(store_.row_count(kShop), 0U);
  EXPECT_TRUE(store_.owners().empty());
  put(make(1));
  put(make(2));
  put(make(1), 1, target("shop", "other"));
  EXPECT_EQ(store_.row_count(kShop), 2U);
  EXPECT_EQ(store_.owners().size(), 2U);
  const auto reader = caught_up();
  store_.remove(kShop, uuid(1));
  store_.drop(target("shop", "other"));
  const RowStoreStats stats = store_.stats();
  EXPECT_EQ(stats.rows, 1U);
  EXPECT_EQ(stats.owners, 1U);
  EXPECT_EQ(stats.tombstones, 2U);
  EXPECT_GT(stats.bytes, 0U);
  EXPECT_EQ(store_.owners(), std::vector{kShop});
}

// Sweeps.

TEST_F(RowStoreTest, ASweepRemovesWhatNobodyMentioned) {
  for (std::size_t i = 0; i < 6; ++i) put(make(i), 1);
  put(make(6), 2);
  const auto reader = caught_up();
  store_.begin_sweep(kShop, 1);
  put(make(0), 1);                // equal
  put(make(1, R"({"x":1})"), 1);  // changed
  EXPECT_TRUE(store_.touch(kShop, uuid(2)));
  put(make(7), 1);  // new
  EXPECT_EQ(store_.end_sweep(kShop, 1), 3U);
  EXPECT_EQ(store_.row_count(kShop), 5U);
  EXPECT_EQ(reader->changes().size(), 5U);
  EXPECT_EQ(store_.end_sweep(kShop, 1), 0U) << "ended already";
}

TEST_F(RowStoreTest, AFailedSweepRemovesNothingAndANewOneStartsOver) {
  for (std::size_t i = 0; i < 4; ++i) put(make(i));
  store_.begin_sweep(kShop, 1);
  put(make(0));
  put(make(1));
  // It failed: no end. The next list sees other rows.
  store_.begin_sweep(kShop, 1);
  put(make(1));
  put(make(2));
  EXPECT_EQ(store_.end_sweep(kShop, 1), 2U);
  EXPECT_EQ(store_.row_count(kShop), 2U);
}

TEST_F(RowStoreTest, ASweepWithoutRowsOrOwner) {
  store_.begin_sweep(kShop, 1);
  EXPECT_EQ(store_.end_sweep(kShop, 1), 0U);
  put(make(1));
  EXPECT_EQ(store_.end_sweep(kShop, 1), 0U) << "never begun for this row";
  store_.begin_sweep(kShop, 1);
  EXPECT_EQ(store_.end_sweep(kShop, 1), 1U) << "an empty list empties the source";
}

TEST_F(RowStoreTest, ARowThatMovedToAnotherSourceIsThatOnes) {
  put(make(1), 1);
  put(make(2), 1);
  store_.begin_sweep(kShop, 1);
  store_.begin_sweep(kShop, 2);
  put(make(1), 1);
  put(make(1), 2);
  EXPECT_EQ(store_.end_sweep(kShop, 1), 1U);
  EXPECT_EQ(store_.end_sweep(kShop, 2), 0U);
  EXPECT_EQ(store_.drop_source(kShop, 2), 1U);
}

TEST_F(RowStoreTest, SweepsWithoutNumber) {
  // Row 1 was seen by one sweep long ago; all later ones failed but the last.
  for (int failed = 250; failed < 260; ++failed) {
    put(make(1));
    put(make(2));
    store_.begin_sweep(kShop, 1);
    put(make(1));
    for (int i = 0; i < failed; ++i) {
      store_.begin_sweep(kShop, 1);
      put(make(2));
    }
    EXPECT_EQ(store_.end_sweep(kShop, 1), 1U) << failed;
    EXPECT_EQ(rows_of(store_.subscribe(everything)->snapshot()).at(0).uid, uuid(2));
    store_.drop(kShop);
  }
  put(make(2));
  for (int i = 0; i < 600; ++i) {
    store_.begin_sweep(kShop, 1);
    put(make(2));
    ASSERT_EQ(store_.end_sweep(kShop, 1), 0U);
  }
}

TEST_F(RowStoreTest, DroppingAnOwnerOrASource) {
  for (std::size_t i = 0; i < 6; ++i) put(make(i), static_cast<SourceId>(i % 2));
  const auto reader = caught_up();
  EXPECT_EQ(store_.drop_source(kShop, 5), 0U);
  EXPECT_EQ(store_.drop_source(kShop, 0), 3U);
  EXPECT_EQ(reader->changes().size(), 3U);
  EXPECT_EQ(store_.drop(kShop), 3U);
  EXPECT_EQ(reader->changes().size(), 6U);
  EXPECT_EQ(store_.drop(kShop), 0U);
  EXPECT_EQ(store_.drop(target("no", "body")), 0U);
}

// The listener.

TEST_F(RowStoreTest, TheListenerHearsEffectsOnlyAndMayUseTheStore) {
  std::vector<std::string> heard;
  store_.on_change([&](const Owner& owner) {
    heard.push_back(fmt::format("{} {}", owner.name, store_.row_count(owner)));
    store_.touch(owner, uuid(1));
  });
  put(make(1));
  put(make(1));
  put(make(2));
  store_.touch(kShop, uuid(1));
  store_.remove(kShop, uuid(9));
  store_.remove(kShop, uuid(1));
  store_.begin_sweep(kShop, 1);
  store_.end_sweep(kShop, 1);
  store_.drop(kShop);
  EXPECT_EQ(heard, (std::vector<std::string>{"deployments 1", "deployments 2", "deployments 1",
                                             "deployments 0"}));
}

}  // namespace
}  // namespace kollect::inventory
