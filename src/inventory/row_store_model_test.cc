// The store against a std::map: random writes, readers, snapshots held across writes.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "inventory/row_store.h"
#include "inventory/row_store_testing.h"

namespace kollect::inventory {
namespace {

using Row = OwnedRow;
using Rows = std::map<std::string, Row>;

/// Everything the store is to do, the plain way.
struct Model {
  struct Held {
    Row row;
    SourceId source = 0;
  };
  struct OwnerState {
    std::map<std::string, Held> rows;
    std::map<SourceId, std::set<std::string>> sweeps;  ///< running ones: uids seen
  };
  std::map<Owner, OwnerState> owners;

  void see(OwnerState& state, const std::string& uid) {
    const auto sweep = state.sweeps.find(state.rows.at(uid).source);
    if (sweep != state.sweeps.end()) sweep->second.insert(uid);
  }
  RowStore::Effect upsert(const Owner& owner, SourceId source, const Row& row) {
    OwnerState& state = owners[owner];
    const auto it = state.rows.find(row.uid);
    const bool known = it != state.rows.end();
    const bool equal = known && it->second.row == row;
    if (known && (it->second.source != source || !equal)) {
      for (auto& [unused, seen] : state.sweeps) seen.erase(row.uid);
    }
    state.rows[row.uid] = {row, source};
    see(state, row.uid);
    return equal   ? RowStore::Effect::kNone
           : known ? RowStore::Effect::kChanged
                   : RowStore::Effect::kAdded;
  }
  bool remove(const Owner& owner, const std::string& uid) {
    OwnerState& state = owners[owner];
    for (auto& [unused, seen] : state.sweeps) seen.erase(uid);
    return state.rows.erase(uid) > 0;
  }
  bool touch(const Owner& owner, const std::string& uid) {
    OwnerState& state = owners[owner];
    if (!state.rows.contains(uid)) return false;
    see(state, uid);
    return true;
  }
  std::size_t end_sweep(const Owner& owner, SourceId source) {
    OwnerState& state = owners[owner];
    const auto sweep = state.sweeps.find(source);
    if (sweep == state.sweeps.end()) return 0;
    const std::set<std::string> seen = std::move(sweep->second);
    state.sweeps.erase(sweep);
    return std::erase_if(state.rows, [&](const auto& entry) {
      return entry.second.source == source && !seen.contains(entry.first);
    });
  }
  std::size_t drop(const Owner& owner, std::optional<SourceId> source) {
    OwnerState& state = owners[owner];
    if (source) {
      state.sweeps.erase(*source);
    } else {
      state.sweeps.clear();
    }
    return std::erase_if(
        state.rows, [&](const auto& entry) { return !source || entry.second.source == *source; });
  }
  /// By owner and uid as one key.
  [[nodiscard]] Rows rows(const std::function<bool(const Owner&)>& wanted) const {
    Rows all;
    for (const auto& [owner, state] : owners) {
      if (!wanted(owner)) continue;
      for (const auto& [uid, held] : state.rows) all.emplace(key(owner, uid), held.row);
    }
    return all;
  }
  static std::string key(const Owner& owner, std::string_view uid) {
    return fmt::format("{}|{}|{}|{}", static_cast<int>(owner.owner_class), owner.ns, owner.name,
                       uid);
  }
};

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t end) { return engine_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

std::string uid(std::size_t n) {
  switch (n % 16) {
    case 0:
      return n == 0 ? "" : fmt::format("uid-{}", n);
    case 1:
      return fmt::format("0000000{}-ABCD-4000-8000-00000000{:04}", n % 10, n);
    case 2:
      return fmt::format("manifest:sha256:{:064}", n);
    default:
      return fmt::format("{:08x}-1111-4222-8333-{:012x}", n * 2654435761U % 0xffffffffU, n);
  }
}

std::string attributes(Chance& chance, std::string_view name, std::string_view ns) {
  static const std::vector<std::string> odd = {
      "{}",
      "",
      R"({"a":null})",
      R"({"a":""})",
      R"({"über":"Grüße, 世界 😀"})",
      R"({"a\"b":"c\\","d":["}",{"e":"]"}]})",
      R"({"same":"\u003cb\u003e","z":-0.5e-7})",
      R"(["not an object"])",
      R"({ "spaced": 1 })",
      R"({"broken":)",
      R"({"a":1,})",
      R"({"a":1}x)",
      "null",
  };
  if (chance.one_in(8)) return chance.of(odd);
  if (chance.one_in(200)) {
    return fmt::format(R"({{"resource":"{}","n":{}}})", std::string(100'000, 'x'), chance.below(3));
  }
  if (chance.one_in(6)) {
    std::string text = R"({"resource":{)";
    for (std::size_t i = 0; i < 40; ++i) {
      text += fmt::format(R"({}"field{}":"value {}")", i == 0 ? "" : ",", i, chance.below(50));
    }
    return text + "}}";
  }
  std::string text =
      fmt::format(R"({{"image":"registry.example/app:{}","name":"{}")", chance.below(2000), name);
  if (chance.one_in(2)) text += fmt::format(R"(,"namespace":"{}")", ns);
  text += fmt::format(R"(,"replicas":{},"version":"1.{}.0"}})", chance.below(4), chance.below(9));
  return text;
}

Row make_row(Chance& chance, const Owner& owner, std::size_t uids) {
  Row row;
  row.target_namespace = owner.ns;
  row.target_name = owner.name;
  row.ns = chance.of<std::string>({"", "shop", "payments", "lager-é"});
  row.name = fmt::format("{}{}", chance.one_in(2) ? "web-" : "a-longer-name-", chance.below(5));
  row.group = chance.of<std::string>({"", "apps"});
  row.version = "v1";
  row.kind = chance.of<std::string>({"Deployment", "ConfigMap"});
  row.uid = uid(chance.below(uids));
  row.attributes = attributes(chance, row.name, row.ns);
  return row;
}

/// What an empty text of attributes comes back as.
Row stored(Row row) {
  if (row.attributes.empty()) row.attributes = "{}";
  return row;
}

std::vector<Row> values(const Rows& rows) {
  std::vector<Row> list;
  for (const auto& [key, row] : rows) list.push_back(row);
  std::ranges::sort(list);
  return list;
}

/// The hash of the same rows in a store of their own.
std::string hash_of(const Rows& rows) {
  RowStore store;
  std::size_t n = 0;
  for (auto it = rows.rbegin(); it != rows.rend(); ++it) {
    const Row& row = it->second;
    // Rows of both classes may agree in everything: give each a class in turn.
    Owner owner{OwnerClass::kTarget, row.target_namespace, row.target_name};
    if (it->first.front() == '1') owner.owner_class = OwnerClass::kClusterTarget;
    store.upsert(owner, static_cast<SourceId>(n++), row.view());
  }
  return store.subscribe(everything)->set_hash();
}

/// The set of a snapshot beside one that is filled row by row.
void expect_same_set(const Snapshot& snapshot) {
  RowSet filled;
  EXPECT_TRUE(snapshot
                  .for_each_sorted([&](const RowView& row) -> base::Result<> {
                    filled.add(row);
                    return {};
                  })
                  .has_value());
  filled.seal();
  const RowSet set = snapshot.to_row_set();
  EXPECT_EQ(set.size(), filled.size());
  EXPECT_EQ(set.checksum(), filled.checksum());
  const auto list = [](std::vector<Row>& out) {
    return [&out](const RowView& row) -> base::Result<> {
      out.push_back(Row::copy(row));
      return {};
    };
  };
  for (const bool keys : {false, true}) {
    std::vector<Row> a;
    std::vector<Row> b;
    const std::size_t from = set.size() / 3;
    const std::size_t to = set.size() - set.size() / 4;
    EXPECT_TRUE((keys ? set.for_each_key(list(a)) : set.for_range(from, to, list(a))).has_value());
    EXPECT_TRUE(
        (keys ? filled.for_each_key(list(b)) : filled.for_range(from, to, list(b))).has_value());
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.size(), keys ? set.size() : to - from);
  }
}

/// How large, how long, and from where attributes are packed.
struct Course {
  std::uint64_t seed;
  std::size_t uids;
  int steps;
  std::size_t compress_above;
};

struct HeldSnapshot {
  Snapshot snapshot;
  Rows expected;
};

class ModelTest : public testing::TestWithParam<Course> {
 protected:
  void write(Chance& chance) {
    const Owner& owner = chance.of(owners_);
    const auto source = static_cast<SourceId>(chance.below(3));
    const std::size_t before = told_;
    bool effective = true;
    switch (chance.below(24)) {
      // Rarer in a large set, so that it stays large.
      case 0:
        if (!chance.one_in(GetParam().uids / 50)) return;
        effective = expect_equal(store_.drop_source(owner, source), model_.drop(owner, source));
        break;
      case 1:
        if (!chance.one_in(GetParam().uids / 10)) return;
        effective = expect_equal(store_.drop(owner), model_.drop(owner, std::nullopt));
        break;
      case 2:
      case 3:
        if (!chance.one_in(GetParam().uids / 50)) return;
        store_.begin_sweep(owner, source);
        model_.owners[owner].sweeps[source].clear();
        effective = false;
        break;
      case 4:
      case 5:
        if (!chance.one_in(GetParam().uids / 50)) return;
        effective = expect_equal(store_.end_sweep(owner, source), model_.end_sweep(owner, source));
        break;
      case 6:
      case 7:
      case 8: {
        const std::string id = uid(chance.below(GetParam().uids));
        effective = store_.remove(owner, id);
        EXPECT_EQ(effective, model_.remove(owner, id));
        break;
      }
      case 9: {
        const std::string id = uid(chance.below(GetParam().uids));
        EXPECT_EQ(store_.touch(owner, id), model_.touch(owner, id));
        effective = false;
        break;
      }
      case 10:
      case 11: {
        // The same again.
        const auto& rows = model_.owners[owner].rows;
        if (rows.empty()) return;
        const Row row =
            std::next(rows.begin(), static_cast<int>(chance.below(rows.size())))->second.row;
        EXPECT_EQ(store_.upsert(owner, source, row.view()), RowStore::Effect::kNone);
        EXPECT_EQ(model_.upsert(owner, source, row), RowStore::Effect::kNone);
        effective = false;
        break;
      }
      default: {
        const Row row = make_row(chance, owner, GetParam().uids);
        const auto effect = store_.upsert(owner, source, row.view());
        EXPECT_EQ(effect, model_.upsert(owner, source, stored(row)));
        effective = effect != RowStore::Effect::kNone;
      }
    }
    EXPECT_EQ(told_ - before, effective ? 1U : 0U);
  }

  static bool expect_equal(std::size_t got, std::size_t wanted) {
    EXPECT_EQ(got, wanted);
    return wanted > 0;
  }

  /// Canonical order, and the same rows as a set of its own.
  static void check_order(const Snapshot& snapshot, std::vector<Row> expected) {
    std::ranges::sort(expected, [](const Row& a, const Row& b) {
      return a.view().sort_key() < b.view().sort_key();
    });
    std::vector<Row> sorted;
    EXPECT_TRUE(snapshot
                    .for_each_sorted([&](const RowView& row) -> base::Result<> {
                      sorted.push_back(Row::copy(row));
                      return {};
                    })
                    .has_value());
    EXPECT_EQ(sorted, expected);
  }

  void check(Consumer& consumer, Chance& chance) {
    const Rows expected = model_.rows(consumer.wanted);
    EXPECT_EQ(consumer.reader->row_count(), expected.size());
    if (chance.one_in(10)) {
      EXPECT_EQ(consumer.reader->set_hash(), hash_of(expected));
    }
    if (!consumer.knows || chance.one_in(20)) {
      const Snapshot snapshot = consumer.reader->snapshot();
      EXPECT_EQ(rows_of(snapshot), values(expected));
      EXPECT_EQ(snapshot.set_hash(), consumer.reader->set_hash());
      check_order(snapshot, values(expected));
      consumer.take(snapshot);
      consumer.reader->passed(snapshot.version());
      EXPECT_FALSE(consumer.reader->pending());
      return;
    }
    const bool pending = consumer.reader->pending();
    const ChangeSet changes = consumer.reader->changes();
    EXPECT_EQ(pending, !changes.empty());
    EXPECT_EQ(changes.row_count(), expected.size());
    consumer.apply(changes);
    EXPECT_EQ(consumer.list(), values(expected));
    if (chance.one_in(3)) return;  // as if it had failed: it gets all of that again
    consumer.reader->passed(changes.to());
    EXPECT_FALSE(consumer.reader->pending());
    EXPECT_TRUE(consumer.reader->changes().empty());
  }

  const std::vector<Owner> owners_ = {{OwnerClass::kTarget, "x", "a"},
                                      {OwnerClass::kTarget, "x", "b"},
                                      {OwnerClass::kTarget, "y", "a"},
                                      {OwnerClass::kClusterTarget, "x", "a"},
                                      {OwnerClass::kClusterTarget, "", "all"}};
  std::size_t told_ = 0;
  RowStore store_{{.compress_above = GetParam().compress_above}};
  Model model_;
};

TEST_P(ModelTest, BehavesLikeAMap) {
  const Course& course = GetParam();
  Chance chance(course.seed);
  const auto often = static_cast<std::size_t>(course.steps) / 150;
  store_.on_change([this](const Owner&) { ++told_; });
  std::vector<Consumer> consumers;
  const auto subscribe = [&](std::function<bool(const Owner&)> wanted) {
    consumers.push_back({.wanted = wanted, .reader = store_.subscribe(wanted), .rows = {}});
  };
  subscribe([](const Owner& o) { return o.owner_class == OwnerClass::kTarget; });
  subscribe([](const Owner& o) { return o.owner_class == OwnerClass::kClusterTarget; });
  subscribe([](const Owner& o) { return o == Owner{OwnerClass::kTarget, "x", "a"}; });
  auto all = store_.subscribe(everything);
  std::vector<HeldSnapshot> held;
  for (int step = 0; step < course.steps && !HasFailure(); ++step) {
    SCOPED_TRACE(fmt::format("seed {} step {}", course.seed, step));
    write(chance);
    if (chance.one_in(often)) check(consumers[chance.below(consumers.size())], chance);
    if (chance.one_in(2 * often)) held.push_back({all->snapshot(), model_.rows(everything)});
    if (chance.one_in(4 * often)) all->passed(all->snapshot().version());
    if (chance.one_in(2 * often) && !held.empty()) {
      const std::size_t at = chance.below(held.size());
      EXPECT_EQ(rows_of(held[at].snapshot), values(held[at].expected));
      EXPECT_EQ(held[at].snapshot.size(), held[at].expected.size());
      expect_same_set(held[at].snapshot);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (step == course.steps / 2) consumers.pop_back();
  }
  EXPECT_EQ(store_.stats().rows, model_.rows(everything).size());
  for (const HeldSnapshot& one : held) {
    EXPECT_EQ(rows_of(one.snapshot), values(one.expected));
    EXPECT_EQ(one.snapshot.set_hash(), hash_of(one.expected));
  }
  held.clear();
  consumers.clear();
  all.reset();
  EXPECT_EQ(store_.stats().tombstones, 0U);
  for (const Owner& owner : owners_) store_.drop(owner);
  EXPECT_TRUE(store_.owners().empty());
}

std::vector<Course> runs() {
  std::vector<Course> runs;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    runs.push_back({.seed = seed, .uids = 60, .steps = 3000, .compress_above = 512});
  }
  runs.push_back({.seed = 13, .uids = 60, .steps = 3000, .compress_above = 30});
  runs.push_back({.seed = 14, .uids = 600, .steps = 8'000, .compress_above = 512});
  runs.push_back({.seed = 15, .uids = 600, .steps = 8'000, .compress_above = 90});
  return runs;
}

INSTANTIATE_TEST_SUITE_P(RowStore, ModelTest, testing::ValuesIn(runs()));

}  // namespace
}  // namespace kollect::inventory
