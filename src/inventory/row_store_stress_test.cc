// Writers and readers at the same time; what readers see must be a state that was. Run by the
// thread sanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <map>
#include <thread>

#include "inventory/row_store.h"
#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 30;
#else
constexpr int kRounds = 150;
#endif

/// Row n in its state `round`: of columns, or packed.
OwnedRow state_of(std::size_t n, int round) {
  const std::string round_text = fmt::format(R"("round":{})", round);
  return make(n, n % 8 == 0 ? "{" + round_text + "," + large(n).substr(1)
                            : fmt::format(R"({{"image":"registry.example/app:{}",{},"team":"a"}})",
                                          n * 100 + static_cast<std::size_t>(round), round_text));
}

int round_of(const RowView& row) {
  constexpr std::string_view kKey = R"("round":)";
  const std::size_t at = row.attributes.find(kKey) + kKey.size();
  int round = -1;
  std::from_chars(row.attributes.data() + at, row.attributes.data() + row.attributes.size(), round);
  return round;
}

/// Runs `work` in threads and `watch` in others until the work is done, at least once each.
void run(std::vector<std::function<void()>> work, std::vector<std::function<void()>> watch) {
  std::atomic<std::size_t> left = work.size();
  std::vector<std::jthread> threads;
  for (auto& one : work) {
    threads.emplace_back([&left, &one] {
      one();
      --left;
    });
  }
  for (auto& one : watch) {
    threads.emplace_back([&left, &one] {
      do one();
      while (left.load() > 0);
    });
  }
}

TEST(RowStoreStress, SnapshotsShowAMomentOfAllOwners) {
  RowStore store;
  // One writer goes over all rows of all owners in turn, round after round: at any moment the first
  // ones are in one round, the others in the one before.
  constexpr std::size_t kOwners = 4;
  constexpr std::size_t kRows = 10;
  const auto owner_of = [](std::size_t n) { return target("x", fmt::format("t{}", n / kRows)); };
  const auto write = [&] {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t n = 0; n < kOwners * kRows; ++n) {
        store.upsert(owner_of(n), 1, state_of(n, round).view());
      }
    }
  };
  const auto check = [](const std::map<std::size_t, int>& rounds) {
    if (rounds.empty()) return;
    const int first = rounds.begin()->second;
    int last = first;
    std::size_t next = 0;
    for (const auto& [n, round] : rounds) {
      ASSERT_EQ(n, next++) << "a gap";
      ASSERT_LE(round, last);
      ASSERT_GE(round, first - 1);
      last = round;
    }
    if (rounds.size() < kOwners * kRows) {
      ASSERT_EQ(first, 0);
    }
  };
  const auto number = [](const RowView& row) {
    return std::stoul(std::string(row.name.substr(4)));
  };
  const auto from_snapshots = [&, reader = std::shared_ptr(store.subscribe(everything))] {
    const Snapshot snapshot = reader->snapshot();
    std::map<std::size_t, int> rounds;
    ASSERT_TRUE(snapshot
                    .for_each([&](const RowView& row) -> base::Result<> {
                      rounds[number(row)] = round_of(row);
                      return {};
                    })
                    .has_value());
    EXPECT_EQ(rounds.size(), snapshot.size());
    check(rounds);
  };
  const auto from_changes = [&, reader = std::shared_ptr(store.subscribe(everything)),
                             rounds = std::make_shared<std::map<std::size_t, int>>()] {
    const ChangeSet changes = reader->changes();
    ASSERT_TRUE(changes
                    .for_each([&](const RowChange& change) -> base::Result<> {
                      (*rounds)[number(change.row)] = round_of(change.row);
                      return {};
                    })
                    .has_value());
    EXPECT_EQ(rounds->size(), changes.row_count());
    check(*rounds);
    reader->passed(changes.to());
  };
  run({write}, {from_snapshots, from_changes});
}

TEST(RowStoreStress, ConsumersEndWithWhatIsThere) {
  RowStore store;
  std::atomic<std::size_t> told = 0;
  store.on_change([&](const Owner&) { ++told; });
  // Each writer has an owner of its own and one that it shares with the others; owners come and go.
  const auto writer = [&](std::size_t id) {
    return [&store, id] {
      const Owner own = target("x", fmt::format("own{}", id));
      const Owner shared = target("x", "shared");
      const Owner brief{OwnerClass::kClusterTarget, "brief", "b"};
      const auto source = static_cast<SourceId>(id);
      for (int round = 0; round < kRounds; ++round) {
        store.begin_sweep(own, source);
        for (std::size_t n = 0; n < 30; ++n) {
          if ((n + static_cast<std::size_t>(round)) % 5 == 0) continue;
          store.upsert(own, source, state_of(n, round % 3).view());
          store.upsert(shared, source, state_of(100 * id + n, round % 3).view());
        }
        if (round % 2 == 0) store.end_sweep(own, source);
        store.remove(shared, uuid(100 * id + static_cast<std::size_t>(round) % 30));
        store.upsert(brief, source, state_of(id, round).view());
        store.touch(shared, uuid(100 * id));
        if (round % 4 == 0) store.drop(brief);
        if (round % 7 == 0) store.drop_source(shared, source);
      }
    };
  };
  std::vector<Consumer> consumers(2);
  for (Consumer& consumer : consumers) consumer.reader = store.subscribe(everything);
  const auto follow = [](Consumer& consumer) {
    return [&consumer] {
      const ChangeSet changes = consumer.reader->changes();
      consumer.apply(changes);
      EXPECT_EQ(consumer.rows.size(), changes.row_count());
      consumer.reader->passed(changes.to());
    };
  };
  const auto come_and_go = [&] {
    const auto reader = store.subscribe(everything);
    const Snapshot snapshot = reader->snapshot();
    reader->passed(snapshot.version());
    EXPECT_EQ(rows_of(snapshot).size(), snapshot.size());
    (void)reader->pending();
    (void)store.stats();
    (void)store.owners();
  };
  run({writer(1), writer(2), writer(3)}, {follow(consumers[0]), follow(consumers[1]), come_and_go});
  const auto reader = store.subscribe(everything);
  const auto expected = rows_of(reader->snapshot());
  for (Consumer& consumer : consumers) {
    follow(consumer)();
    EXPECT_EQ(consumer.list(), expected);
    EXPECT_FALSE(consumer.reader->pending());
  }
  EXPECT_EQ(store.stats().tombstones, 0U) << "the last reader has nothing to learn";
  EXPECT_GT(told.load(), 0U);
}

}  // namespace
}  // namespace kollect::inventory
