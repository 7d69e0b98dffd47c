#include "sinks/files/place_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "base/files.h"
#include "sinks/files/file_limit_testing.h"

namespace kollect::sinks {
namespace {

TEST(PlaceFile, FilesMadeAtOnePathAtTheSameTimeAreDifferentOnes) {
  constexpr std::size_t kThreads = 4;
  const auto folder = base::TempDir::create();
  const auto path = folder->path() / "file";
  for (int round = 0; round < 100; ++round) {
    std::array<std::vector<Fd>, kThreads> files;
    std::latch all(kThreads);
    std::vector<std::jthread> threads;
    for (auto& mine : files) {
      threads.emplace_back([&] {
        all.arrive_and_wait();
        for (int i = 0; i < 20; ++i) {
          auto file = nameless_file(path);
          if (file.has_value()) mine.push_back(std::move(*file));
        }
      });
    }
    threads.clear();
    std::set<ino_t> found;
    for (const auto& mine : files) {
      for (const auto& file : mine) {
        struct stat info {};
        ASSERT_EQ(::fstat(file.get(), &info), 0);
        found.insert(info.st_ino);
      }
    }
    ASSERT_EQ(found.size(), kThreads * 20);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
}

TEST(PlaceFile, WhatIsInTheWayIsRemovedOrNamed) {
  const auto folder = base::TempDir::create();
  const auto path = folder->path() / "file";
  ASSERT_TRUE(base::write_file_atomic(path, "left over").has_value());
  auto file = nameless_file(path);
  ASSERT_TRUE(file.has_value());
  std::array<char, 1> byte{};
  EXPECT_FALSE(read_at(*file, 0, byte, "it").has_value()) << "it is empty";
  std::filesystem::create_directory(path);
  const auto none = nameless_file(path);
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find(path.string()), std::string::npos);
}

TEST(PlaceFile, AFullDiskIsAnErrorAfterWhatFitted) {
  const auto folder = base::TempDir::create();
  const auto file = nameless_file(folder->path() / "file");
  ASSERT_TRUE(file.has_value());
  const FileLimit limit(10);
  const auto written = write_at(*file, 4, "more than that", "it");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().reason, "disk-full");
  EXPECT_EQ(written.error().kind, base::ErrorKind::kRetryable);
}

}  // namespace
}  // namespace kollect::sinks
