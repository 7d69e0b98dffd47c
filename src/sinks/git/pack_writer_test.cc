// New packs and their indexes, read by git itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "sinks/git/pack_writer.h"

namespace kollect::sinks::git {
namespace {

using ::testing::HasSubstr;

std::string git(std::vector<std::string> args, std::string in = {}) {
  base::Command command;
  command.program = "git";
  command.args = std::move(args);
  command.stdin_text = std::move(in);
  const auto result = base::run(base::Context::background(), command);
  EXPECT_TRUE(result.has_value() && result->exit_code == 0)
      << (result.has_value() ? result->err : result.error().message);
  return result.has_value() ? result->out + result->err : "";
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

TEST(PackWriter, GitReadsWhatWasInstalled) {
  const auto folder = base::TempDir::create();
  ASSERT_TRUE(folder.has_value());
  const std::string repository = (folder->path() / "r.git").string();
  git({"init", "-q", "--bare", repository});
  auto pack = PackWriter::create(folder->path() / "new.pack", [](const Oid&) { return false; });
  ASSERT_TRUE(pack.has_value());
  std::vector<std::pair<Oid, std::string>> written;
  for (int i = 0; i < 1000; ++i) {
    const std::string text(static_cast<std::size_t>(i * 7), static_cast<char>('a' + i % 26));
    const Pieces content = pieces(text);
    written.emplace_back(hash_object(ObjectType::kBlob, content), text);
    ASSERT_TRUE(pack->add(ObjectType::kBlob, written.back().first, content).has_value());
  }
  ASSERT_TRUE(pack->finish().has_value());
  ASSERT_TRUE(pack->install(repository + "/objects/pack").has_value());

  git({"-C", repository, "fsck", "--strict", "--no-dangling"});
  EXPECT_THAT(git({"-C", repository, "count-objects", "-v"}), HasSubstr("in-pack: 1000\npacks: 1"));
  for (const int i : {0, 1, 500, 999}) {
    const auto& [oid, text] = written.at(static_cast<std::size_t>(i));
    EXPECT_EQ(git({"-C", repository, "cat-file", "blob", oid.hex()}), text);
  }
}

TEST(PackIndex, OffsetsOfAllSizesAreRead) {
  const PackEntries entries = {{numbered(9, 1), 0x01020304, 5'000'000'000},
                                          {numbered(0, 1), 7, 12},
                                          {numbered(255, 3), 9, 0x7fffffff},
                                          {numbered(9, 0), 8, 0x80000000}};
  EXPECT_EQ(git({"show-index"}, pack_index(entries, numbered(1, 1))),
            "12 0000000000000000000000000000000000000001 (00000007)\n"
            "2147483648 0900000000000000000000000000000000000000 (00000008)\n"
            "5000000000 0900000000000000000000000000000000000001 (01020304)\n"
            "2147483647 ff00000000000000000000000000000000000003 (00000009)\n");
}

}  // namespace
}  // namespace kollect::sinks::git
