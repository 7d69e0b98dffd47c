#include "sinks/layout/ledger_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/files.h"
#include "sinks/files/file_limit_testing.h"

namespace kollect::sinks {
namespace {

using Rows = std::vector<LedgerRow>;

Rows read(const LedgerRows& rows, std::size_t from = 0) {
  Rows out;
  LedgerRows::Cursor cursor(rows, from);
  for (std::size_t i = from; i < rows.size(); ++i) {
    const auto row = cursor.next();
    EXPECT_TRUE(row.has_value());
    EXPECT_NE(*row, nullptr);
    out.push_back(**row);
  }
  const auto end = cursor.next();
  EXPECT_TRUE(end.has_value());
  EXPECT_EQ(*end, nullptr);
  return out;
}

/// Lists beside plain vectors that see the same edits; all versions are kept and stay as they were.
class LedgerRowsModel : public ::testing::TestWithParam<bool> {
 protected:
  LedgerRow some() {
    ++number_;
    return {.identity = number_ * 0x9E3779B97F4A7C15ULL, .path = random_(), .size = number_};
  }

  /// Places, sorted.
  std::vector<std::size_t> places(std::size_t size, std::size_t most) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; size > 0 && i < most; ++i) out.push_back(random_() % size);
    std::ranges::sort(out);
    const auto twice = std::ranges::unique(out);
    out.erase(twice.begin(), twice.end());
    return out;
  }

  void edit(LedgerRows& rows, Rows& model) {
    // Sometimes a stretch, which leaves blocks empty or nearly.
    auto gone = places(model.size(), random_() % 12);
    if (random_() % 4 == 0 && !model.empty()) {
      gone.clear();
      for (auto at = random_() % model.size(); at < model.size() && gone.size() < 40; ++at) {
        gone.push_back(at);
      }
    }
    std::map<std::size_t, std::uint32_t> sizes;
    for (const auto place : places(model.size(), random_() % 5)) sizes[place] = ++number_;
    auto next = rows.edited(gone, sizes);
    ASSERT_TRUE(next.has_value()) << next.error().message;
    rows = std::move(*next);
    for (const auto& [place, size] : sizes) model[place].size = size;
    for (auto at = gone.rbegin(); at != gone.rend(); ++at) {
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(*at));
    }
    for (auto more = random_() % 25; more > 0; --more) {
      model.push_back(some());
      ASSERT_TRUE(rows.add(model.back()).has_value());
    }
  }

  std::mt19937_64 random_{11};  // NOLINT(cert-msc51-cpp): the same rows in every run
  std::uint32_t number_ = 0;
};

TEST_P(LedgerRowsModel, EditsAndCopies) {
  const auto folder = base::TempDir::create();
  const auto scratch = GetParam() ? folder->path() / "rows" : std::filesystem::path();
  std::vector<std::pair<LedgerRows, Rows>> versions = {{LedgerRows(scratch, 8), {}}};
  for (int step = 0; step < 200; ++step) {
    auto [rows, model] =
        versions[versions.size() - 1 - random_() % std::min<std::size_t>(3, versions.size())];
    edit(rows, model);
    ASSERT_EQ(rows.size(), model.size());
    versions.emplace_back(std::move(rows), std::move(model));
    // Places of versions that are gone are used again.
    if (versions.size() > 20) versions.erase(versions.begin() + static_cast<int>(random_() % 10));
    for (const auto& [some, expected] : versions) ASSERT_EQ(read(some), expected);
  }
  const auto& [rows, model] = versions.back();
  for (const auto from : {std::size_t{0}, model.size() / 3, model.size()}) {
    EXPECT_EQ(read(rows, from),
              Rows(model.begin() + static_cast<std::ptrdiff_t>(from), model.end()));
  }
  EXPECT_EQ(rows.empty_copy().size(), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
}

INSTANTIATE_TEST_SUITE_P(Where, LedgerRowsModel, ::testing::Bool(),
                         [](const auto& where) { return where.param ? "File" : "Memory"; });

TEST(LedgerRows, AFileThatCannotBeMadeIsAnError) {
  LedgerRows rows("/nowhere/at/all", 2);
  EXPECT_TRUE(rows.add({1, 2, 3}).has_value());
  const auto second = rows.add({2, 3, 4});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("/nowhere/at/all"), std::string::npos);
  EXPECT_EQ(read(rows), (Rows{{1, 2, 3}}));
}

// Every version stays as it was, and the next try goes on from there.
TEST(LedgerRows, AFullDiskHurtsNoVersion) {
  constexpr std::size_t kBlock = 8;
  const auto folder = base::TempDir::create();
  LedgerRows rows(folder->path() / "rows", kBlock);
  Rows model;
  std::uint32_t failed = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const LedgerRow row{i, i + 1000, i};
    // A place more than there are, now and then a part of one.
    const auto fits = i % 16 < 8 ? model.size() / kBlock * kBlock * 20 + i % 100 : 1U << 20U;
    const auto added = [&] {
      const FileLimit limit(fits);
      return rows.add(row);
    }();
    if (added.has_value()) {
      model.push_back(row);
    } else {
      ++failed;
      EXPECT_EQ(added.error().reason, "disk-full");
    }
    ASSERT_EQ(read(rows), model);
    if (i % 20 != 19) continue;
    const std::vector<std::size_t> gone = {0, model.size() / 2};
    const auto edited = [&] {
      const FileLimit limit(1);
      return rows.edited(gone, {});
    }();
    EXPECT_FALSE(edited.has_value());
    ASSERT_EQ(read(rows), model);
  }
  EXPECT_GT(failed, 10U);
}

}  // namespace
}  // namespace kollect::sinks
