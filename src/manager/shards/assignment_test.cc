#include "manager/shards/assignment.h"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "manager/cluster_inventory_controller.h"

namespace kollect::manager {
namespace {

using Holders = std::vector<std::string>;
using Members = std::set<std::string>;

TEST(Parts, ANamespaceHasOneForEver) {
  // Of every version and machine: what these say must never change.
  EXPECT_EQ(part_of("default", 3), 0U);
  EXPECT_EQ(part_of("kube-system", 3), 1U);
  EXPECT_EQ(part_of("team-a", 64), 51U);
  EXPECT_EQ(part_of("team-b", 64), 48U);
  for (const std::size_t parts : {0U, 1U}) EXPECT_EQ(part_of("team-a", parts), 0U);
}

TEST(Parts, TheFirstHasWhatHasNoNamespace) {
  for (const std::size_t parts : {2U, 3U, 64U}) {
    EXPECT_EQ(part_of("", parts), 0U);
    EXPECT_EQ(part_of(ClusterInventoryController::kPlace, parts), 0U);
  }
}

TEST(Parts, NamespacesSpread) {
  std::vector<int> count(8);
  for (int i = 0; i < 8000; ++i) ++count[part_of(fmt::format("team-{}", i), count.size())];
  EXPECT_GT(std::ranges::min(count), 900);
  EXPECT_LT(std::ranges::max(count), 1100);
}

TEST(Assign, Cases) {
  const Members abc = {"a", "b", "c"};
  EXPECT_EQ(assign({}, {"a", ""}), (Holders{"", ""}));
  EXPECT_EQ(assign({"a"}, {"", "", ""}), (Holders{"a", "a", "a"}));
  EXPECT_EQ(assign(abc, {"", "", ""}), (Holders{"a", "b", "c"}));
  // One joins: one part moves to it, from who has most.
  EXPECT_EQ(assign(abc, {"a", "b", "a"}), (Holders{"a", "b", "c"}));
  EXPECT_EQ(assign(abc, {"a", "a", "b", "b"}), (Holders{"a", "a", "b", "c"}));
  // One is gone: its part alone moves.
  EXPECT_EQ(assign({"a", "c"}, {"c", "b", "a"}), (Holders{"c", "a", "a"}));
  // More members than parts: those who have one keep it.
  EXPECT_EQ(assign(abc, {"c", ""}), (Holders{"c", "a"}));
}

TEST(PartsToHave, WhatCameLastGoesFirst) {
  using Parts = std::set<std::size_t>;
  EXPECT_EQ(parts_to_have({"a", "b", "a"}, "a", {}), (Parts{0, 2}));
  EXPECT_EQ(parts_to_have({"a", "b", "a"}, "a", {2}), (Parts{0, 2}));
  EXPECT_EQ(parts_to_have({"a", "b", "c"}, "a", {1, 0}), (Parts{1}));
  EXPECT_EQ(parts_to_have({"b", "b", "b"}, "a", {1, 0}), (Parts{}));
  EXPECT_EQ(parts_to_have({"a", "a", "b"}, "a", {1, 0}), (Parts{0, 1}));
}

/// As many as there must be: what nobody has, and what is beyond the shares.
std::size_t moves_needed(const Members& members, const Holders& holders) {
  std::vector<std::size_t> loads;
  for (const auto& member : members) {
    loads.push_back(static_cast<std::size_t>(std::ranges::count(holders, member)));
  }
  std::ranges::sort(loads, std::greater<>());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const std::size_t quota =
        holders.size() / loads.size() + (i < holders.size() % loads.size() ? 1 : 0);
    kept += std::min(loads[i], quota);
  }
  return holders.size() - kept;
}

TEST(Assign, IsFairAndMovesOnlyWhatItMust) {
  std::minstd_rand random(7);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    Members members;
    for (std::size_t i = below(6) + 1; i > 0; --i) members.insert(fmt::format("m{}", below(9)));
    Holders holders(below(20) + members.size());
    for (auto& holder : holders) holder = below(4) == 0 ? "" : fmt::format("m{}", below(9));
    const Holders next = assign(members, holders);
    std::map<std::string, std::size_t> loads;
    std::size_t moved = 0;
    for (std::size_t part = 0; part < next.size(); ++part) {
      ++loads[next[part]];
      moved += next[part] == holders[part] ? 0 : 1;
    }
    ASSERT_EQ(loads.size(), members.size());
    const auto [least, most] = std::ranges::minmax_element(
        loads, [](const auto& a, const auto& b) { return a.second < b.second; });
    ASSERT_LE(most->second - least->second, 1U);
    ASSERT_EQ(moved, moves_needed(members, holders));
    ASSERT_EQ(assign(members, next), next) << "it does not come to rest";
  }
}

/// Replicas act one by one on what they see: who has too much gives one up, who has too little
/// takes one that is free.
TEST(Assign, ComesToRestStepByStep) {
  std::minstd_rand random(11);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    Members members;
    for (std::size_t i = below(6) + 1; i > 0; --i) members.insert(fmt::format("m{}", below(9)));
    Holders holders(below(20) + members.size());
    for (auto& holder : holders) holder = fmt::format("m{}", below(9));
    const std::size_t needed = moves_needed(members, holders);
    std::size_t taken = 0;
    for (int step = 0; assign(members, holders) != holders; ++step) {
      ASSERT_LT(step, 2000);
      const std::size_t part = below(holders.size());
      const std::string wanted = assign(members, holders)[part];
      if (wanted == holders[part]) continue;
      const bool free = !members.contains(holders[part]);
      holders[part] = free ? wanted : std::string();
      taken += free ? 1 : 0;
    }
    ASSERT_EQ(taken, needed);
  }
}

}  // namespace
}  // namespace kollect::manager
