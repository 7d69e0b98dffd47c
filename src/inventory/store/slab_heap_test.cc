#include "inventory/store/slab_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

namespace kollect::inventory {
namespace {

void fill(SlabHeap& heap, Ref ref, std::size_t size, std::uint8_t value) {
  std::memset(heap.at(ref), value, size);
}

bool holds(const SlabHeap& heap, Ref ref, std::size_t size, std::uint8_t value) {
  for (std::size_t i = 0; i < size; ++i) {
    if (heap.at(ref)[i] != static_cast<std::byte>(value)) return false;
  }
  return true;
}

TEST(SlabHeap, BlocksOfAllSizesDoNotOverlap) {
  SlabHeap heap;
  std::vector<std::pair<Ref, std::size_t>> blocks;
  const std::vector<std::size_t> sizes = {1,     3,     4,      60,     1000,
                                          8'000, 8'200, 33'000, 65'536, 3'000'000};
  for (int round = 0; round < 5; ++round) {
    for (const std::size_t size : sizes) {
      const Ref ref = heap.allocate(size);
      EXPECT_NE(ref, 0U);
      EXPECT_GE(heap.size_of(ref), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(heap.at(ref)) % 4, 0U);
      fill(heap, ref, size, static_cast<std::uint8_t>(blocks.size()));
      blocks.emplace_back(ref, size);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(holds(heap, blocks[i].first, blocks[i].second, static_cast<std::uint8_t>(i)));
  }
}

TEST(SlabHeap, FewBlocksTakeLittle) {
  SlabHeap heap;
  for (int i = 0; i < 5; ++i) heap.allocate(100);
  EXPECT_LT(heap.memory_bytes(), 2'500U);
}

TEST(SlabHeap, EmptySlabsGoBack) {
  SlabHeap heap;
  const std::size_t before = heap.memory_bytes();
  std::vector<Ref> refs;
  for (int i = 0; i < 100'000; ++i) refs.push_back(heap.allocate(100));
  EXPECT_GT(heap.memory_bytes(), 10'000'000U);
  for (const Ref ref : refs) heap.free(ref);
  EXPECT_LT(heap.memory_bytes(), before + 80'000);  // the list of slabs stays
}

TEST(SlabHeap, EvacuatesTheSparsestSlab) {
  SlabHeap heap;
  std::vector<Ref> refs;
  for (int i = 0; i < 10'000; ++i) refs.push_back(heap.allocate(100));
  EXPECT_FALSE(heap.fragmented(6));
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (i % 4 != 0) heap.free(refs[i]);
  }
  EXPECT_TRUE(heap.fragmented(6));
  const std::size_t full = heap.memory_bytes();
  while (heap.fragmented(6)) {
    for (const Ref ref : heap.evacuate()) {
      fill(heap, heap.allocate(100), 100, 1);
      heap.free(ref);
    }
  }
  EXPECT_LT(heap.memory_bytes(), full / 2);
}

TEST(SlabHeap, RetiredBlocksStayWhereTheyAre) {
  SlabHeap heap;
  std::vector<Ref> refs;
  for (int i = 0; i < 5'000; ++i) refs.push_back(heap.allocate(100));
  const Ref retired = refs[10];
  fill(heap, retired, 100, 42);
  heap.retire(retired);
  EXPECT_GE(heap.retired_bytes(), 100U);
  for (std::size_t i = 1; i < refs.size(); i += 2) heap.free(refs[i]);
  std::set<Ref> moved;
  while (heap.fragmented(6)) {
    for (const Ref ref : heap.evacuate()) {
      EXPECT_TRUE(moved.insert(ref).second) << "evacuated twice";
      heap.allocate(100);
      heap.free(ref);
    }
  }
  EXPECT_FALSE(moved.contains(retired));
  EXPECT_TRUE(holds(heap, retired, 100, 42));
  heap.free(retired);
  EXPECT_EQ(heap.retired_bytes(), 0U);
}

/// Random life of blocks, kept tidy as a table does it.
class SlabHeapModel : public testing::TestWithParam<int> {};

TEST_P(SlabHeapModel, KeepsContentsAndStaysDense) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  SlabHeap heap;
  struct Block {
    std::size_t size;
    std::uint8_t value;
    bool retired = false;
  };
  std::map<Ref, Block> blocks;
  std::size_t live = 0;
  const auto add = [&](Block block) {
    const Ref ref = heap.allocate(block.size);
    ASSERT_FALSE(blocks.contains(ref));
    fill(heap, ref, block.size, block.value);
    blocks[ref] = block;
    live += block.size;
  };
  const auto drop = [&](Ref ref) {
    ASSERT_TRUE(holds(heap, ref, blocks[ref].size, blocks[ref].value));
    live -= blocks[ref].size;
    blocks.erase(ref);
    heap.free(ref);
  };
  for (int step = 0; step < 30'000; ++step) {
    const bool growing = step / 5'000 % 2 == 0;
    if (random() % 8 < (growing ? 6U : 2U) || blocks.empty()) {
      const std::size_t size = random() % 50 == 0 ? random() % 40'000 : 20 + random() % 400;
      add({.size = size, .value = static_cast<std::uint8_t>(random())});
    } else {
      const auto it = blocks.lower_bound(static_cast<Ref>(random() % (blocks.rbegin()->first + 1)));
      if (random() % 10 == 0) {
        if (!it->second.retired) heap.retire(it->first);
        it->second.retired = true;
      } else {
        drop(it->first);
      }
    }
    if (!heap.fragmented(6)) continue;
    for (const Ref ref : heap.evacuate()) {
      ASSERT_FALSE(blocks.at(ref).retired);
      add(blocks.at(ref));
      drop(ref);
    }
  }
  // Retired blocks hold slabs that cannot be emptied: let them go, then what is left must be dense.
  std::erase_if(blocks, [&](const auto& entry) {
    if (!entry.second.retired) return false;
    live -= entry.second.size;
    heap.free(entry.first);
    return true;
  });
  while (heap.fragmented(6)) {
    for (const Ref ref : heap.evacuate()) {
      add(blocks.at(ref));
      drop(ref);
    }
  }
  for (const auto& [ref, block] : blocks) EXPECT_TRUE(holds(heap, ref, block.size, block.value));
  EXPECT_LT(static_cast<double>(heap.memory_bytes()), 1.3 * static_cast<double>(live) + 150'000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SlabHeapModel, testing::Range(1, 6));

}  // namespace
}  // namespace kollect::inventory
