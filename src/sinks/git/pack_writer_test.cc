// New packs and their indexes, read by git itself.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "sinks/files/file_limit_testing.h"
#include "sinks/git/git_command.h"
#include "sinks/git/pack_list.h"
#include "sinks/git/pack_writer.h"

namespace kollect::sinks::git {
namespace {

using ::testing::HasSubstr;

/// All that git printed.
std::string git(std::vector<std::string> args, std::string in = {}) {
  const auto result = run_git(std::move(args), std::move(in));
  return result.out + result.err;
}

Pieces pieces(std::string_view text) {
  Pieces out;
  out.add(text);
  return out;
}

Oid numbered(unsigned char first, unsigned char last) {
  Oid oid;
  oid.bytes.front() = first;
  oid.bytes.back() = last;
  return oid;
}

/// Bytes that nothing makes smaller.
std::string noise(std::size_t size) {
  std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): the same bytes in every run
  std::string out;
  while (out.size() < size) out += static_cast<char>(random() & 0xffU);
  return out;
}

std::string only_pack(const std::string& repository) {
  for (const auto& entry : std::filesystem::directory_iterator(repository + "/objects/pack")) {
    if (entry.path().extension() == ".pack") return entry.path().filename().string();
  }
  return "";
}

TEST(PackWriter, GitReadsWhatWasInstalled) {
  const auto folder = base::TempDir::create();
  ASSERT_TRUE(folder.has_value());
  const std::string repository = (folder->path() / "r.git").string();
  git({"init", "-q", "--bare", repository});
  auto pack = PackWriter::create(folder->path() / "new.pack", [](const Oid&) { return false; });
  ASSERT_TRUE(pack.has_value());
  std::vector<std::pair<Oid, std::string>> written;
  for (int i = 0; i < 1000; ++i) {
    std::string text(static_cast<std::size_t>(i * 7), static_cast<char>('a' + i % 26));
    if (i == 500) text = noise(5U << 20U);  // larger than what is held back before it is written
    const Pieces content = pieces(text);
    written.emplace_back(hash_object(ObjectType::kBlob, content), text);
    ASSERT_TRUE(pack->add(ObjectType::kBlob, written.back().first, content).has_value());
  }
  ASSERT_TRUE(pack->finish().has_value());
  ASSERT_TRUE(pack->install(repository + "/objects/pack").has_value());

  git({"-C", repository, "fsck", "--strict", "--no-dangling"});
  EXPECT_THAT(git({"-C", repository, "count-objects", "-v"}), HasSubstr("in-pack: 1000\npacks: 1"));
  // Git's own index of the pack has the same sums and places.
  const auto pack_file = repository + "/objects/pack/" + only_pack(repository);
  const auto again = (folder->path() / "again.idx").string();
  git({"index-pack", "-o", again, pack_file});
  EXPECT_EQ(base::read_file(again).value(),
            base::read_file(std::filesystem::path(pack_file).replace_extension(".idx")).value());
  for (const int i : {0, 1, 500, 999}) {
    const auto& [oid, text] = written.at(static_cast<std::size_t>(i));
    EXPECT_EQ(git({"-C", repository, "cat-file", "blob", oid.hex()}), text);
  }
}

/// What git reads in the index of a pack with these objects.
std::string index_of(const std::vector<PackEntry>& entries) {
  const auto folder = base::TempDir::create();
  auto list = PackList::create(folder->path() / "new.list");
  EXPECT_TRUE(list.has_value());
  for (const PackEntry& entry : entries) {
    EXPECT_FALSE(*list->contains(entry.oid));
    EXPECT_TRUE(list->add(entry).has_value());
  }
  for (const PackEntry& entry : entries) EXPECT_TRUE(*list->contains(entry.oid));
  const auto path = folder->path() / "pack-1.idx";
  EXPECT_TRUE(list->write_index(path, numbered(1, 1)).has_value());
  for (const auto& left : std::filesystem::directory_iterator(folder->path())) {
    EXPECT_EQ(left.path(), path);
  }
  return git({"show-index"}, base::read_file(path).value());
}

TEST(PackList, OffsetsOfAllSizesAreRead) {
  EXPECT_EQ(index_of({{numbered(9, 1), 0x01020304, 5'000'000'000},
                      {numbered(0, 1), 7, 12},
                      {numbered(255, 3), 9, 0x7fffffff},
                      {numbered(9, 0), 8, 0x80000000}}),
            "12 0000000000000000000000000000000000000001 (00000007)\n"
            "2147483648 0900000000000000000000000000000000000000 (00000008)\n"
            "5000000000 0900000000000000000000000000000000000001 (01020304)\n"
            "2147483647 ff00000000000000000000000000000000000003 (00000009)\n");
}

// Several runs with and without a rest, and names that begin alike.
TEST(PackList, ManyObjects) {
  for (const std::uint32_t count : {8'191U, 8'192U, 16'384U, 40'000U}) {
    std::vector<PackEntry> entries;
    std::vector<std::string> lines;
    for (std::uint32_t i = 0; i < count; ++i) {
      Oid oid = hash_object(ObjectType::kBlob, pieces(std::to_string(i / 2)));
      oid.bytes.back() = static_cast<unsigned char>(i % 2);
      entries.push_back({oid, i, std::uint64_t{i} * 100});
      lines.push_back(fmt::format("{} {} ({:08x})\n", i * 100, oid.hex(), i));
    }
    std::ranges::sort(lines, {},
                      [](const std::string& line) { return line.substr(line.find(' ')); });
    EXPECT_EQ(index_of(entries), fmt::format("{}", fmt::join(lines, "")));
  }
}

/// Objects that take less room in a pack than in its index.
PackWriter many_small(const std::filesystem::path& path) {
  auto pack = PackWriter::create(path, [](const Oid&) { return false; });
  for (int i = 0; i < 1000; ++i) {
    const Pieces content = pieces(std::to_string(i));
    EXPECT_TRUE(pack->add(ObjectType::kBlob, hash_object(ObjectType::kBlob, content), content));
  }
  EXPECT_TRUE(pack->finish().has_value());
  return std::move(*pack);
}

TEST(PackWriter, ADiskThatIsTooFullForTheIndexIsLeftAsItWas) {
  const auto folder = base::TempDir::create();
  const auto packs = folder->path() / "packs";
  std::filesystem::create_directory(packs);
  {
    auto pack = many_small(folder->path() / "new.pack");
    const auto installed = [&] {
      const FileLimit limit(20'000);
      return pack.install(packs);
    }();
    ASSERT_FALSE(installed.has_value());
    EXPECT_EQ(installed.error().reason, "disk-full");
    EXPECT_TRUE(std::filesystem::is_empty(packs));
  }
  EXPECT_TRUE(many_small(folder->path() / "new.pack").install(packs).has_value());
}

TEST(PackWriter, AFullDiskIsAnErrorOfTheObject) {
  const auto folder = base::TempDir::create();
  auto pack = PackWriter::create(folder->path() / "new.pack", [](const Oid&) { return false; });
  ASSERT_TRUE(pack.has_value());
  const Pieces content = pieces(noise(3U << 20U));
  const FileLimit limit(100'000);
  const auto added = pack->add(ObjectType::kBlob, hash_object(ObjectType::kBlob, content), content);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().reason, "disk-full");
}

TEST(PackList, AFullDiskIsAnErrorOfTheRun) {
  const auto folder = base::TempDir::create();
  auto list = PackList::create(folder->path() / "new.list");
  ASSERT_TRUE(list.has_value());
  const FileLimit limit(300'000);  // a run and a part
  std::uint32_t added = 0;
  base::Result<> last;
  for (; added < 20'000 && last.has_value(); ++added) {
    last = list->add({hash_object(ObjectType::kBlob, pieces(std::to_string(added))), 1, 2});
  }
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().reason, "disk-full");
  EXPECT_EQ(added, 16'384U);
}

TEST(PackWriter, AnObjectIsWrittenOnce) {
  const auto folder = base::TempDir::create();
  auto pack = PackWriter::create(folder->path() / "new.pack", [](const Oid&) { return false; });
  ASSERT_TRUE(pack.has_value());
  for (const char* text : {"one", "two", "one"}) {
    const Pieces content = pieces(text);
    ASSERT_TRUE(pack->add(ObjectType::kBlob, hash_object(ObjectType::kBlob, content), content));
  }
  EXPECT_EQ(pack->count(), 2U);
}

}  // namespace
}  // namespace kollect::sinks::git
