#include "sinks/rows/rows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <fmt/format.h>

namespace kollect::sinks::rows {
namespace {

// Of each key one row counts, whichever owners have it: none is left out for one that never comes.
TEST(Duplicates, OfATargetAndAClusterTargetOfOneNameOneRowOfEachObjectCounts) {
  using inventory::OwnerClass;
  const std::vector<inventory::Owner> owners = {{OwnerClass::kTarget, "shop", "pods"},
                                                {OwnerClass::kClusterTarget, "shop", "pods"},
                                                {OwnerClass::kTarget, "team", "pods"}};
  inventory::RowStore store;
  for (std::size_t owner = 0; owner < owners.size(); ++owner) {
    for (std::size_t i = owner; i < 40; i += owner + 1) {
      const auto name = fmt::format("pod-{}", i);
      const auto uid = fmt::format("5f0c1e2d-0000-4000-8000-{:012x}", i);
      const auto attributes = fmt::format(R"({{"owner":{}}})", owner);
      inventory::RowView row;
      row.ns = "prod";
      row.name = name;
      row.version = "v1";
      row.kind = "Pod";
      row.uid = uid;
      row.attributes = attributes;
      store.upsert(owners[owner], 1, row);
    }
  }
  const auto reader = store.subscribe([](const inventory::Owner&) { return true; });
  const auto snapshot = reader->snapshot();
  const auto set = snapshot.to_row_set();
  for (const Source& source : {Source(snapshot), Source(set)}) {
    auto duplicates = Duplicates::find(source);
    ASSERT_TRUE(duplicates.has_value());
    std::map<std::string, std::string> counted;
    const auto visited =
        source.for_each_sorted([&](const inventory::RowView& row) -> base::Result<> {
          if (duplicates->superseded(key_hash(row.target_name, source_uid(row)))) return {};
          EXPECT_TRUE(counted.emplace(row.name, row.attributes).second);
          return {};
        });
    ASSERT_TRUE(visited.has_value());
    ASSERT_EQ(counted.size(), 40U);
    for (std::size_t i = 0; i < 40; ++i) {
      const int last = i >= 2 && i % 3 == 2 ? 2 : i % 2;
      EXPECT_EQ(counted[fmt::format("pod-{}", i)], fmt::format(R"({{"owner":{}}})", last));
    }
  }
}

}  // namespace
}  // namespace kollect::sinks::rows
