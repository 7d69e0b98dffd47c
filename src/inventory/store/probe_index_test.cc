#include "inventory/store/probe_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kollect::inventory {
namespace {

/// A good hash, or one under which nearly everything collides.
std::uint64_t hash_of(std::uint32_t number, bool good) {
  return good ? number * 0x9e3779b97f4a7c15ULL : (number % 5) * 0x4000000000000001ULL;
}

class ProbeIndexModel : public testing::TestWithParam<bool> {};

TEST_P(ProbeIndexModel, BehavesLikeAMap) {
  const bool good = GetParam();
  const auto hash = [&](std::uint32_t number) { return hash_of(number, good); };
  std::mt19937 random(7);
  ProbeIndex index;
  std::map<std::uint32_t, bool> model;  // number: marked
  const auto find = [&](std::uint32_t number) {
    return index.find(hash(number), [&](std::uint32_t other) { return other == number; });
  };
  const unsigned numbers = good ? 20'000 : 300;
  for (int step = 0; step < 60'000; ++step) {
    const bool growing = step / 10'000 % 2 == 0;
    const auto number = static_cast<std::uint32_t>(random() % numbers);
    const std::size_t slot = find(number);
    const auto it = model.find(number);
    ASSERT_EQ(slot != ProbeIndex::kNone, it != model.end());
    if (it == model.end()) {
      if (!growing && random() % 4 != 0) continue;
      EXPECT_EQ(index.number(index.insert(hash(number), number, hash)), number);
      model[number] = false;
    } else if (random() % 4 == 0) {
      ASSERT_EQ(index.marked(slot), it->second);
      index.mark(slot, it->second = random() % 2 == 0);
    } else if (!growing || random() % 2 == 0) {
      index.erase(slot, hash);
      model.erase(it);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  std::map<std::uint32_t, bool> all;
  index.for_each(
      [&](std::uint32_t number, bool marked) { EXPECT_TRUE(all.emplace(number, marked).second); });
  EXPECT_EQ(all, model);
}

INSTANTIATE_TEST_SUITE_P(Hashes, ProbeIndexModel, testing::Bool());

TEST(ProbeIndex, GivesMemoryBack) {
  const auto hash = [](std::uint32_t number) { return hash_of(number, true); };
  ProbeIndex index;
  for (std::uint32_t i = 0; i < 100'000; ++i) index.insert(hash(i), i, hash);
  EXPECT_LT(index.memory_bytes(), 100'000U * 10);
  for (std::uint32_t i = 0; i < 99'990; ++i) {
    index.erase(index.find(hash(i), [&](std::uint32_t other) { return other == i; }), hash);
  }
  EXPECT_LT(index.memory_bytes(), 1'000U);
}

}  // namespace
}  // namespace kollect::inventory
