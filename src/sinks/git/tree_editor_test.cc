// Trees of many folders, beside what git makes of the same files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/files.h"
#include "base/strings.h"
#include "sinks/files/file_limit_testing.h"
#include "sinks/git/git_command.h"
#include "sinks/git/tree_editor.h"

namespace kollect::sinks::git {
namespace {

std::string git(std::vector<std::string> args, std::string in = {}) {
  return std::string(base::trim(run_git(std::move(args), std::move(in)).out));
}

struct Repository {
  base::TempDir folder = *base::TempDir::create();
  std::filesystem::path path = folder.path() / "r.git";
  ObjectStore store = *ObjectStore::open(path);

  PackWriter pack() const {
    return *PackWriter::create(folder.path() / "new.pack", [](const Oid&) { return false; });
  }
  /// The name of git's own tree of these files.
  [[nodiscard]] std::string tree_of(const std::map<std::string, Oid>& files) const {
    std::string lines;
    for (const auto& [name, oid] : files) lines += fmt::format("100644 {}\t{}\n", oid.hex(), name);
    const std::string where = path.string();
    git({"-C", where, "read-tree", "--empty"});
    git({"-C", where, "update-index", "--index-info"}, lines);
    return git({"-C", where, "write-tree", "--missing-ok"});
  }
};

Oid numbered(std::uint32_t number) {
  Oid oid;
  for (unsigned i = 0; i < 4; ++i) {
    oid.bytes.at(i) = static_cast<unsigned char>(number >> (8 * i));
  }
  oid.bytes.back() = 1;
  return oid;
}

/// Names of which some start others, in `folders` folders.
std::string a_path(std::mt19937& random, unsigned folders) {
  const auto folder = random() % folders;
  const auto name = random() % 5000;
  return fmt::format("c/n{}{}/{}/app{}{}", folder, folder % 3 == 0 ? "-x" : "",
                     folder % 2 == 0 ? "pod" : "pod.v1", name, name % 4 == 0 ? ".yaml" : "");
}

/// What git gets and what the editor says are the same, before and after another edit of the tree
/// that was written.
void compare_with_git(unsigned folders, unsigned count) {
  Repository repository;
  std::mt19937 random(folders);
  std::map<std::string, Oid> files;
  std::optional<Oid> root;
  for (int round = 0; round < 2; ++round) {
    TreeEditor editor(repository.store, root);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto path = a_path(random, folders);
      if (i % 7 == 0) {
        const auto removed = editor.remove_file(path);
        ASSERT_TRUE(removed.has_value());
        ASSERT_EQ(*removed, files.erase(path) == 1);
        continue;
      }
      const auto there = editor.file(path);
      ASSERT_TRUE(there.has_value());
      ASSERT_EQ(there->has_value(), files.contains(path));
      files[path] = numbered(i);
      ASSERT_TRUE(editor.set_file(path, numbered(i)).has_value());
    }
    auto pack = repository.pack();
    const auto written = editor.write(pack);
    ASSERT_TRUE(written.has_value());
    ASSERT_EQ(written->hex(), repository.tree_of(files));
    for (const auto& [path, oid] : files) {
      const auto there = editor.file(path);
      ASSERT_TRUE(there.has_value());
      ASSERT_EQ(*there, oid) << path;
    }
    ASSERT_TRUE(pack.finish().has_value());
    ASSERT_TRUE(repository.store.take_pack(pack).has_value());
    root = *written;
  }
}

TEST(TreeEditor, ManyFoldersInAnyOrderAsGitMakesThem) {
  compare_with_git(400, 30'000);
}

TEST(TreeEditor, LargeFoldersThatTakeTurns) {
  compare_with_git(6, 40'000);
}

TEST(TreeEditor, AFileTakesThePlaceOfAFolderWithoutFiles) {
  Repository repository;
  TreeEditor editor(repository.store, {});
  std::map<std::string, Oid> files;
  const auto set = [&](const std::string& path) {
    files[path] = numbered(static_cast<std::uint32_t>(files.size()));
    return editor.set_file(path, files[path]).has_value();
  };
  const auto remove = [&](const std::string& path) {
    files.erase(path);
    const auto removed = editor.remove_file(path);
    return removed.has_value() && *removed;
  };
  ASSERT_TRUE(set("a/b/c/d.yaml") && set("a/b/e/f.yaml") && set("a/x.yaml") && set("g.yaml/h"));
  EXPECT_TRUE(remove("a/b/c/d.yaml"));
  const auto taken = editor.set_file("a/b", numbered(1));
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().reason, "path-taken");
  EXPECT_TRUE(remove("a/b/e/f.yaml"));
  EXPECT_TRUE(set("a/b"));
  EXPECT_TRUE(remove("g.yaml/h"));
  EXPECT_TRUE(set("g.yaml"));
  EXPECT_FALSE(editor.set_file("g.yaml/h", numbered(1)).has_value());
  EXPECT_TRUE(remove("g.yaml"));
  EXPECT_TRUE(set("g.yaml/i/k"));
  auto pack = repository.pack();
  const auto written = editor.write(pack);
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->hex(), repository.tree_of(files));
}

// What fails is not done, and nothing else is hurt: the same edit works when there is room.
TEST(TreeEditor, AFullDiskHurtsNoFolder) {
  Repository repository;
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same edits in every run
  TreeEditor editor(repository.store, {});
  std::map<std::string, Oid> files;
  unsigned failed = 0;
  for (std::uint32_t i = 0; i < 30'000; ++i) {
    const auto path = a_path(random, 400);
    const auto edit = [&]() -> base::Result<> {
      if (i % 7 != 0) return editor.set_file(path, numbered(i));
      KL_ASSIGN(const bool removed, editor.remove_file(path));
      EXPECT_EQ(removed, files.contains(path));
      return {};
    };
    auto done = [&] {
      const FileLimit limit(100 + i * 3);
      return edit();
    }();
    if (!done.has_value()) {
      ++failed;
      ASSERT_EQ(done.error().reason, "disk-full");
      done = edit();
    }
    ASSERT_TRUE(done.has_value());
    if (i % 7 == 0) {
      files.erase(path);
    } else {
      files[path] = numbered(i);
    }
  }
  EXPECT_GT(failed, 0U);
  auto pack = repository.pack();
  const auto written = editor.write(pack);
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->hex(), repository.tree_of(files));
}

}  // namespace
}  // namespace kollect::sinks::git
