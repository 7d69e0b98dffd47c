#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iterator>

namespace kollect::base {
namespace {

namespace fs = std::filesystem;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Files, WriteAndRead) {
  const auto dir = TempDir::create();
  const fs::path file = dir->path() / "a" / "b" / std::string(250, 'n');
  ASSERT_TRUE(write_file_atomic(file, "one").has_value());
  EXPECT_EQ(*read_file(file), "one");
  ASSERT_TRUE(write_file_atomic(file, std::string(1'000'000, 'x'), 0600).has_value());
  EXPECT_EQ(read_file(file)->size(), 1'000'000U);
  EXPECT_EQ(entries(file.parent_path()), 1U);
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(read_file(file, 1'000'000)->size(), 1'000'000U);
  EXPECT_EQ(read_file(file, 999'999).error().reason, "too-large");
  EXPECT_GT(read_file("/proc/self/status")->size(), 100U);  // size 0 by stat(2)
}

TEST(Files, Errors) {
  const auto dir = TempDir::create();
  const fs::path none = dir->path() / "none";
  EXPECT_EQ(read_file(none).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read_file(none).error().message,
            "cannot read " + none.string() + ": No such file or directory");
  EXPECT_FALSE(read_file(dir->path()).has_value());
  ASSERT_TRUE(write_file_atomic(dir->path() / "file", "x").has_value());
  EXPECT_FALSE(write_file_atomic(dir->path() / "file" / "below", "x").has_value());
  fs::create_directory(dir->path() / "folder");
  EXPECT_FALSE(write_file_atomic(dir->path() / "folder", "x").has_value());
  EXPECT_EQ(entries(dir->path()), 2U);
}

TEST(Files, FailedWriteLeavesTheOldContent) {
  const auto dir = TempDir::create();
  const fs::path file = dir->path() / "file";
  ASSERT_TRUE(write_file_atomic(file, "old").has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    // A limit on file sizes fails writes in the middle, as a full disk does.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(write_file_atomic(file, std::string(100'000, 'x')).has_value() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*read_file(file), "old");
  EXPECT_EQ(entries(dir->path()), 1U);
}

TEST(Files, TempDirGoesWithItsOwner) {
  fs::path path;
  {
    auto dir = TempDir::create("x-");
    path = dir->path();
    const TempDir moved = std::move(*dir);
    ASSERT_TRUE(write_file_atomic(moved.path() / "a" / "b", "x").has_value());
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace kollect::base
