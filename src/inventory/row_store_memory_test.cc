// What the rows of a store cost, by its own account.
#include <gtest/gtest.h>

#include <optional>

#include "inventory/row_store.h"
#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

TEST_F(RowStoreTest, RowsCostLessThanTheirJson) {
  constexpr std::size_t kRows = 20'000;
  std::size_t json = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const OwnedRow row = six(i);
    json += row.attributes.size();
    put(row);
  }
  const std::size_t bytes = store_.stats().bytes;
  EXPECT_LT(bytes, json);
  // 250 MiB for a million.
  EXPECT_LT(bytes / kRows, 250U);
}

TEST_F(RowStoreTest, WholeObjectsArePackedWithWhatTheyShare) {
  constexpr std::size_t kRows = 2'000;
  std::size_t json = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    json += large(i).size();
    put(make(i, large(i)));
  }
  EXPECT_LT(store_.stats().bytes, json / 3);
  const auto rows = rows_of(store_.subscribe(everything)->snapshot());
  ASSERT_EQ(rows.size(), kRows);
  for (const OwnedRow& row : rows) {
    EXPECT_EQ(row.attributes, large(std::stoul(row.name.substr(4))));
  }
}

TEST_F(RowStoreTest, MemoryGoesBack) {
  constexpr std::size_t kRows = 20'000;
  for (std::size_t i = 0; i < kRows; ++i) put(six(i));
  const std::size_t full = store_.stats().bytes;
  // Changes leave no litter.
  for (unsigned round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kRows; ++i) put(six(i * 7919 % kRows, round));
  }
  EXPECT_LT(store_.stats().bytes, full * 13 / 10);
  // Nor does a thin rest hold the slabs of all.
  for (std::size_t i = 0; i < kRows; ++i) {
    if (i % 50 != 0) store_.remove(kShop, uuid(i));
  }
  EXPECT_EQ(store_.row_count(kShop), kRows / 50);
  EXPECT_LT(store_.stats().bytes, full / 10);
  store_.drop(kShop);
  EXPECT_LT(store_.stats().bytes, full / 10);
  EXPECT_EQ(store_.stats().owners, 0U);
}

TEST_F(RowStoreTest, ChangesOfSomeRowsLeaveNoHoles) {
  constexpr std::size_t kRows = 20'000;
  for (std::size_t i = 0; i < kRows; ++i) put(six(i));
  const std::size_t full = store_.stats().bytes;
  for (std::size_t i = 0; i < kRows; i += 3) put(six(i, 7));
  EXPECT_LT(store_.stats().bytes, full * 5 / 4);
  for (std::size_t i = 0; i < kRows; ++i) put(six(i, 7), i % 40 == 0 ? 1 : 2);
  EXPECT_EQ(store_.drop_source(kShop, 2), kRows / 40 * 39);
  EXPECT_LT(store_.stats().bytes, full / 8) << "without another write";
}

TEST_F(RowStoreTest, TheLastSnapshotTidiesUp) {
  constexpr std::size_t kRows = 20'000;
  for (std::size_t i = 0; i < kRows; ++i) put(six(i));
  const auto reader = store_.subscribe(everything);
  const std::size_t full = store_.stats().bytes;
  {
    const Snapshot held = reader->snapshot();
    for (std::size_t i = 0; i < kRows; i += 2) put(six(i, 7));
    EXPECT_GT(store_.stats().bytes, full * 4 / 3);
  }
  EXPECT_LT(store_.stats().bytes, full * 5 / 4) << "without another write";
}

TEST_F(RowStoreTest, ASnapshotHeldForEverCostsItsRowsOnce) {
  // Sparse slabs from before the snapshot, and rows that come and go after it.
  for (std::size_t i = 0; i < 200; ++i) put(six(i));
  for (std::size_t i = 160; i < 190; ++i) store_.remove(kShop, uuid(i));
  const Snapshot held = store_.subscribe(everything)->snapshot();
  std::size_t most = 0;
  for (std::size_t cycle = 0; cycle < 200; ++cycle) {
    for (std::size_t i = 1000; i < 1200; ++i) put(six(i));
    for (std::size_t i = 1000; i < 1200; ++i) {
      if (i % 10 != cycle % 10) store_.remove(kShop, uuid(i));
    }
    if (cycle == 10) most = store_.stats().bytes;
  }
  EXPECT_LT(store_.stats().bytes, most * 3 / 2);
  EXPECT_EQ(rows_of(held).size(), 170U);
}

TEST_F(RowStoreTest, MemoryOfOldStatesGoesWithTheLastSnapshot) {
  constexpr std::size_t kRows = 5'000;
  for (std::size_t i = 0; i < kRows; ++i) put(six(i));
  const auto reader = store_.subscribe(everything);
  const std::size_t full = store_.stats().bytes;
  std::optional<Snapshot> first = reader->snapshot();
  for (std::size_t i = 0; i < kRows; ++i) put(six(i, 5));
  std::optional<Snapshot> second = reader->snapshot();
  for (std::size_t i = 0; i < kRows; ++i) put(six(i, 6));
  EXPECT_GT(store_.stats().bytes, 2 * full);
  first.reset();
  EXPECT_GT(store_.stats().bytes, full * 3 / 2) << "the second is still there";
  EXPECT_EQ(rows_of(*second).size(), kRows);
  second.reset();
  EXPECT_LT(store_.stats().bytes, full * 13 / 10);
}

TEST_F(RowStoreTest, StatesNobodySawAreNotKept) {
  constexpr std::size_t kRows = 2'000;
  for (std::size_t i = 0; i < kRows; ++i) put(six(i));
  const auto reader = store_.subscribe(everything);
  const std::size_t full = store_.stats().bytes;
  const Snapshot held = reader->snapshot();
  for (unsigned round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < kRows; ++i) put(six(i, 10 + round));
    if (round % 5 == 0) {
      EXPECT_EQ(reader->snapshot().size(), kRows);
    }
  }
  EXPECT_LT(store_.stats().bytes, 4 * full);
  EXPECT_EQ(rows_of(held).size(), kRows);
}

TEST_F(RowStoreTest, ColumnsBeyondNumber) {
  // Keys that are data: shapes end somewhere, rows do not.
  for (std::size_t i = 0; i < 2'000; ++i) put(make(i, fmt::format(R"({{"key-{}":"v"}})", i)));
  for (const OwnedRow& row : rows_of(store_.subscribe(everything)->snapshot())) {
    EXPECT_EQ(row.attributes, fmt::format(R"({{"key-{}":"v"}})", row.name.substr(4)));
  }
}

}  // namespace
}  // namespace kollect::inventory
