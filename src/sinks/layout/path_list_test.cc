// Lists of paths and what is found out about them without having them as texts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sinks/layout/path_list.h"

namespace kollect::sinks {
namespace {

/// Paths that share starts and ends, some of them twice, in no order.
std::vector<std::string> many_paths(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::string> out;
  while (out.size() < count) {
    out.push_back(fmt::format("c/n{}{}/pod/{}-{}.yaml", random() % 50,
                              random() % 2 == 0 ? "-x" : "", std::string(random() % 200, 'a'),
                              random() % 1000));
  }
  return out;
}

PathList list_of(const std::vector<std::string>& paths) {
  PathList out;
  for (const auto& path : paths) out.add(path);
  return out;
}

std::vector<std::string> sorted_by(const PathList& list, std::vector<std::string> more) {
  std::vector<std::string> out;
  const auto visited = list.visit_sorted(std::move(more), [&](std::string_view path) {
    out.emplace_back(path);
    return base::Result<>();
  });
  EXPECT_TRUE(visited.has_value());
  return out;
}

TEST(PathList, ReadsBackWhatWasAdded) {
  auto paths = many_paths(20'000);
  paths.insert(paths.begin() + 100, {"", "a", "", std::string(200'000, 'x'), "a/a", "a", "aa"});
  const auto list = list_of(paths);
  EXPECT_EQ(list.size(), paths.size());
  EXPECT_TRUE(std::equal(paths.begin(), paths.end(), list.begin(), PathList::end()));
  EXPECT_EQ(list, list_of(paths));
  EXPECT_NE(list, list_of(many_paths(20'000)));
  EXPECT_TRUE(PathList().begin() == PathList::end());
}

TEST(PathList, VisitsInTheOrderOfBytesHoweverItWasFilled) {
  auto paths = many_paths(30'000);
  const std::vector<std::string> more = {"z", "c/n1/pod/a.yaml", "a"};
  const auto list = list_of(paths);
  auto wanted = paths;
  wanted.insert(wanted.end(), more.begin(), more.end());
  std::ranges::sort(wanted);
  EXPECT_EQ(sorted_by(list, more), wanted);
  std::ranges::sort(paths);
  EXPECT_EQ(sorted_by(list_of(paths), more), wanted);
  EXPECT_EQ(sorted_by({}, more), (std::vector<std::string>{"a", "c/n1/pod/a.yaml", "z"}));
}

TEST(PathList, AVisitEndsAtTheFirstError) {
  for (const auto& list : {list_of({"a", "b", "c"}), list_of({"b", "a", "c"})}) {
    int seen = 0;
    const auto visited = list.visit_sorted({}, [&](std::string_view path) -> base::Result<> {
      ++seen;
      if (path == "b") return base::not_found("stop", "stop");
      return {};
    });
    EXPECT_FALSE(visited.has_value());
    EXPECT_EQ(seen, 2);
  }
}

TEST(PathList, TellsWhatNoListHas) {
  const auto one = list_of({"a/b", "a/c"});
  const auto other = list_of({"d"});
  EXPECT_THAT(not_in({"x", "d", "a/c", "a", "x"}, {&one, &other}),
              ::testing::ElementsAre("a", "x", "x"));
  EXPECT_TRUE(not_in({}, {&one}).empty());
}

}  // namespace
}  // namespace kollect::sinks
