// The promises of row_store.h: readers, change sets, snapshots, the hash of the set.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "inventory/envelope.h"
#include "inventory/row_store.h"
#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

TEST_F(RowStoreTest, WantedIsAskedOncePerOwner) {
  put(make(1));
  std::map<std::string, int> asked;
  const auto reader = store_.subscribe([&](const Owner& owner) {
    ++asked[owner.name];
    return owner.name != "unwanted";
  });
  put(make(2));
  put(make(1), 1, target("shop", "unwanted"));
  put(make(1), 1, target("shop", "later"));
  put(make(2), 1, target("shop", "later"));
  EXPECT_EQ(asked, (std::map<std::string, int>{{"deployments", 1}, {"unwanted", 1}, {"later", 1}}));
  EXPECT_EQ(reader->row_count(), 4U);
  EXPECT_EQ(reader->snapshot().size(), 4U);
}

TEST_F(RowStoreTest, ChangesComeInOrderAndOnce) {
  for (std::size_t i = 0; i < 4; ++i) put(make(i));
  const auto reader = caught_up();
  EXPECT_TRUE(reader->changes().empty());
  put(make(1, R"({"x":1})"));
  put(make(7), 1, target("a", "a"));
  put(make(5));
  store_.remove(kShop, uuid(2));
  put(make(1, R"({"x":2})"));
  const ChangeSet changes = reader->changes();
  EXPECT_EQ(changed_uids(changes),
            (std::vector<std::string>{uuid(7), uuid(5), "-" + uuid(2), uuid(1)}));
  EXPECT_EQ(changes.row_count(), 5U);
  EXPECT_EQ(changes.set_hash(), reader->set_hash());
  // Not passed: the same again, and what came since.
  put(make(8));
  EXPECT_EQ(reader->changes().size(), 5U);
  reader->passed(changes.to());
  EXPECT_EQ(changed_uids(reader->changes()), std::vector{uuid(8)});
}

TEST_F(RowStoreTest, ARowThatCameBackIsNotRemoved) {
  put(make(1));
  const auto reader = caught_up();
  store_.remove(kShop, uuid(1));
  EXPECT_EQ(put(make(1)), Effect::kAdded);
  EXPECT_EQ(changed_uids(reader->changes()), std::vector{uuid(1)});
  EXPECT_EQ(store_.stats().tombstones, 0U);
}

TEST_F(RowStoreTest, ARemovedRowHasItsIdentityAndNoAttributes) {
  for (const std::string& attributes : {std::string(R"({"a":1})"), large(1)}) {
    put(make(1, attributes));
    const auto reader = caught_up();
    store_.remove(kShop, uuid(1));
    OwnedRow removed;
    ASSERT_TRUE(reader->changes()
                    .for_each([&](const RowChange& change) -> base::Result<> {
                      EXPECT_TRUE(change.removed);
                      removed = OwnedRow::copy(change.row);
                      return {};
                    })
                    .has_value());
    OwnedRow expected = make(1, "");
    expected.target_namespace = "shop";
    expected.target_name = "deployments";
    EXPECT_EQ(removed, expected);
  }
}

TEST_F(RowStoreTest, RemovedRowsAreRememberedUntilEveryReaderPassed) {
  put(make(1));
  put(make(2));
  EXPECT_TRUE(store_.remove(kShop, uuid(1)));
  EXPECT_EQ(store_.stats().tombstones, 0U) << "nobody reads";
  const auto first = caught_up();
  auto second = caught_up();
  auto stranger = store_.subscribe([](const Owner&) { return false; });
  EXPECT_TRUE(store_.remove(kShop, uuid(2)));
  EXPECT_EQ(store_.stats().tombstones, 1U);
  first->passed(first->changes().to());
  EXPECT_EQ(store_.stats().tombstones, 1U);
  EXPECT_EQ(second->changes().size(), 1U);
  EXPECT_TRUE(second->pending());
  const auto third = store_.subscribe(everything);  // never knew the row
  second->passed(second->changes().to());
  EXPECT_EQ(store_.stats().tombstones, 0U);
  // A reader that goes holds nothing up.
  put(make(3));
  store_.remove(kShop, uuid(3));
  first->passed(first->changes().to());
  third->passed(third->changes().to());
  EXPECT_EQ(store_.stats().tombstones, 1U);
  second.reset();
  EXPECT_EQ(store_.stats().tombstones, 0U);
}

TEST_F(RowStoreTest, PassedNeverGoesBackNorAhead) {
  put(make(1));
  const auto reader = store_.subscribe(everything);
  const Version version = reader->snapshot().version();
  reader->passed(version + 1000);
  put(make(2));
  EXPECT_EQ(changed_uids(reader->changes()), std::vector{uuid(2)});
  reader->passed(reader->changes().to());
  reader->passed(version);
  EXPECT_FALSE(reader->pending());
}

TEST_F(RowStoreTest, VersionsGrowWithEffectsOfAnyOwner) {
  const auto reader = store_.subscribe(everything);
  EXPECT_EQ(reader->snapshot().version(), 0U);
  EXPECT_EQ(reader->changes().to(), 0U);
  put(make(1));
  const Version one = reader->snapshot().version();
  EXPECT_GT(one, 0U);
  put(make(1), 1, target("a", "b"));
  const Version two = reader->snapshot().version();
  EXPECT_GT(two, one);
  store_.remove(kShop, uuid(1));
  EXPECT_GT(reader->changes().to(), two);
}

TEST_F(RowStoreTest, ErrorsOfTheVisitorStopAndComeBack) {
  for (std::size_t i = 0; i < 5; ++i) put(make(i));
  const auto reader = store_.subscribe(everything);
  const Snapshot snapshot = reader->snapshot();
  int calls = 0;
  const auto second_fails = [&]() -> base::Result<> {
    if (++calls == 2) return base::terminal("enough");
    return {};
  };
  for (int way = 0; way < 3; ++way) {
    calls = 0;
    const base::Result<> result =
        way == 0   ? snapshot.for_each([&](const RowView&) { return second_fails(); })
        : way == 1 ? snapshot.for_each_sorted([&](const RowView&) { return second_fails(); })
                   : reader->changes().for_each([&](const RowChange&) { return second_fails(); });
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().message, "enough");
    EXPECT_EQ(calls, 2);
  }
}

TEST_F(RowStoreTest, SnapshotsAndChangesHoldWhatTheyShow) {
  for (std::size_t i = 0; i < 100; ++i) put(i % 10 == 0 ? make(i, large(i)) : six(i));
  auto reader = store_.subscribe(everything);
  const Snapshot snapshot = reader->snapshot();
  const ChangeSet changes = reader->changes();
  const auto before = rows_of(snapshot);
  for (std::size_t i = 0; i < 100; ++i) put(six(i, 7));
  for (std::size_t i = 0; i < 100; i += 2) store_.remove(kShop, uuid(i));
  const Snapshot between = reader->snapshot();
  store_.drop(kShop);
  EXPECT_EQ(reader->row_count(), 0U);
  EXPECT_EQ(rows_of(snapshot), before);
  EXPECT_EQ(changes.size(), 100U);
  Consumer consumer;
  consumer.apply(changes);
  EXPECT_EQ(consumer.list(), before);
  EXPECT_EQ(between.size(), 50U);
  EXPECT_EQ(rows_of(between).size(), 50U);
}

TEST(RowStore, SnapshotsOutliveTheStore) {
  Snapshot snapshot;
  ChangeSet changes;
  {
    RowStore store;
    for (std::size_t i = 0; i < 300; ++i) store.upsert(kShop, 1, make(i, large(i)).view());
    const auto reader = store.subscribe(everything);
    snapshot = reader->snapshot();
    changes = reader->changes();
  }
  EXPECT_EQ(rows_of(snapshot).size(), 300U);
  EXPECT_EQ(changed_uids(changes).size(), 300U);
}

TEST(RowStore, EmptySnapshotsAndChanges) {
  const Snapshot none;
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.version(), 0U);
  EXPECT_EQ(none.set_hash(), std::string(32, '0'));
  EXPECT_TRUE(none.to_row_set().empty());
  EXPECT_TRUE(rows_of(none).empty());
  const ChangeSet unchanged;
  EXPECT_TRUE(unchanged.empty());
  EXPECT_EQ(unchanged.to(), 0U);
  EXPECT_EQ(unchanged.row_count(), 0U);
  EXPECT_EQ(unchanged.set_hash(), std::string(32, '0'));
  RowStore store;
  const auto reader = store.subscribe(everything);
  EXPECT_EQ(reader->set_hash(), std::string(32, '0'));
  EXPECT_FALSE(reader->pending());
}

TEST_F(RowStoreTest, ARowSetOfASnapshotIsTheSameDocument) {
  RowSet expected;
  for (std::size_t i = 300; i-- > 0;) {
    OwnedRow row = i % 3 == 0 ? make(i, large(i)) : six(i);
    const Owner owner = target("shop", fmt::format("target-{}", i % 4));
    put(row, 1, owner);
    row.target_namespace = owner.ns;
    row.target_name = owner.name;
    expected.add(row.view());
  }
  expected.seal();
  const RowSet rows = store_.subscribe(everything)->snapshot().to_row_set();
  EXPECT_EQ(rows.size(), 300U);
  EXPECT_EQ(rows.checksum(), expected.checksum());
}

// The store sorts names by eight bytes after the other; a set made of rows compares them whole.
TEST_F(RowStoreTest, CanonicalOrderOfNamesThatShareBeginnings) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same rows in every run
  RowSet plain;
  const std::string_view letters("ab\0", 3);
  for (std::size_t n = 0; n < 4000; ++n) {
    OwnedRow row = make(n);
    row.ns = random() % 2 == 0 ? "prod" : "dev";
    row.name = std::string((random() % 4) * 8, 'x');
    for (auto more = random() % 12; more > 0; --more) row.name += letters[random() % 3];
    if (n % 50 == 0) row.uid = fmt::format("{}-{:04}", n % 100 == 0 ? "!" : "z", n);
    put(row);
    row.target_namespace = kShop.ns;
    row.target_name = kShop.name;
    plain.add(row.view());
  }
  plain.seal();
  const RowSet sorted = store_.subscribe(everything)->snapshot().to_row_set();
  ASSERT_EQ(sorted.size(), plain.size());
  EXPECT_EQ(envelope_json(sorted, {}), envelope_json(plain, {}));
}

// The hash of the set.

TEST_F(RowStoreTest, SetHashIsTheSameInEveryProcess) {
  put(make(1));
  put(make(2, R"({"größe":"🙂"})"), 3, target("a", "b"));
  EXPECT_EQ(store_.subscribe(everything)->set_hash(), "71f5b50d2e4c7e1efe141e35f62bb414");
}

TEST_F(RowStoreTest, SetHashHasNoOrderAndNoHistory) {
  RowStore other({.compress_above = 10});
  for (std::size_t i = 0; i < 200; ++i) put(i % 2 == 0 ? six(i) : make(i, large(i)));
  for (std::size_t i = 300; i-- > 0;) other.upsert(kShop, 9, make(i, R"({"old":true})").view());
  for (std::size_t i = 200; i-- > 0;) {
    other.upsert(kShop, 2, (i % 2 == 0 ? six(i) : make(i, large(i))).view());
  }
  const auto reader = other.subscribe(everything);
  EXPECT_NE(reader->set_hash(), store_.subscribe(everything)->set_hash());
  for (std::size_t i = 200; i < 300; ++i) other.remove(kShop, uuid(i));
  EXPECT_EQ(reader->set_hash(), store_.subscribe(everything)->set_hash());
  EXPECT_EQ(reader->snapshot().set_hash(), reader->set_hash());
  other.drop(kShop);
  EXPECT_EQ(reader->set_hash(), std::string(32, '0'));
}

TEST_F(RowStoreTest, SetHashKnowsTheTarget) {
  put(make(1), 1, target("a", "bc"));
  RowStore other;
  other.upsert(target("ab", "c"), 1, make(1).view());
  EXPECT_NE(store_.subscribe(everything)->set_hash(), other.subscribe(everything)->set_hash());
}

// Of a target and a cluster target of one name always the same row counts, wherever both lie; with
// names of all lengths and borders of namespaces, read in ranges that begin and end anywhere.
TEST(SortedRows, OfTwoOwnersOneCountsInAnyOrderOfTheirRows) {
  const Owner cluster{OwnerClass::kClusterTarget, kShop.ns, kShop.name};
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same rows in every run
  std::vector<std::pair<Owner, OwnedRow>> rows;
  for (std::size_t i = 0; i < 400; ++i) {
    OwnedRow row = make(i, R"({"of":"target"})");
    row.ns = fmt::format("{}", i % 5 == 4 ? std::string() : std::string(1 + i % 5, 'n'));
    row.name = std::string(i % 19, 'w') + (i % 3 == 0 ? "" : std::to_string(i % 7));
    rows.emplace_back(i % 50 == 0 ? target("shop", "alone") : kShop, row);
    row.attributes = R"({"of":"cluster target"})";
    if (i % 4 != 0) rows.emplace_back(cluster, row);
  }
  const auto key = [](const OwnedRow& row) {
    return std::tie(row.target_namespace, row.target_name, row.ns, row.name, row.uid);
  };
  std::vector<OwnedRow> expected;
  for (auto [owner, row] : rows) {
    row.target_namespace = owner.ns;
    row.target_name = owner.name;
    const auto same = std::ranges::find_if(
        expected, [&](const OwnedRow& other) { return key(other) == key(row); });
    if (same == expected.end()) {
      expected.push_back(row);
    } else {
      *same = row;  // the cluster target's comes later
    }
  }
  std::ranges::sort(expected, {}, key);
  for (int round = 0; round < 20; ++round) {
    RowStore store;
    std::ranges::shuffle(rows, random);
    for (const auto& [owner, row] : rows) store.upsert(owner, 1, row.view());
    const auto reader = store.subscribe(everything);
    const Snapshot snapshot = reader->snapshot();
    std::vector<OwnedRow> all;
    ASSERT_TRUE(snapshot
                    .for_each_sorted([&](const RowView& row) -> base::Result<> {
                      all.push_back(OwnedRow::copy(row));
                      return {};
                    })
                    .has_value());
    ASSERT_EQ(all.size(), rows.size());
    ASSERT_TRUE(std::ranges::is_sorted(all, {}, key));
    const RowSet set = snapshot.to_row_set();
    ASSERT_EQ(set.size(), expected.size());
    std::vector<OwnedRow> found;
    while (found.size() < expected.size()) {
      const auto last = found.size() + random() % 90;
      ASSERT_TRUE(set.for_range(found.size(), last,
                                [&](const RowView& row) -> base::Result<> {
                                  found.push_back(OwnedRow::copy(row));
                                  return {};
                                })
                      .has_value());
      ASSERT_EQ(found.size(), std::min(last, expected.size()));
    }
    ASSERT_EQ(found, expected);
    // Whoever walks over all of them and takes the last of equal ones gets the same.
    std::vector<OwnedRow> lasts;
    for (const OwnedRow& row : all) {
      if (!lasts.empty() && key(lasts.back()) == key(row)) lasts.pop_back();
      lasts.push_back(row);
    }
    ASSERT_EQ(lasts, expected);
  }
}

}  // namespace
}  // namespace kollect::inventory
