// What small objects are packed into, read by zlib.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "sinks/git/deflater.h"

namespace kollect::sinks::git {
namespace {

/// The text; empty with a test failure when zlib does not take the stream to its very end.
std::string inflated(const std::string& packed, std::size_t size) {
  std::string out(size + 1, '\0');
  auto length = static_cast<uLongf>(out.size());
  auto taken = static_cast<uLong>(packed.size());
  const int code = ::uncompress2(reinterpret_cast<Bytef*>(out.data()), &length,
                                 reinterpret_cast<const Bytef*>(packed.data()), &taken);
  EXPECT_EQ(code, Z_OK);
  EXPECT_EQ(taken, packed.size());
  out.resize(code == Z_OK ? length : 0);
  return out;
}

class SmallDeflaterTest : public ::testing::Test {
 protected:
  void expect_whole(const std::string& text) {
    std::string packed = "before";
    deflater_.run(text, packed);
    ASSERT_EQ(packed.substr(0, 6), "before");
    packed.erase(0, 6);
    EXPECT_EQ(inflated(packed, text.size()), text);
    EXPECT_LE(packed.size(), text.size() + 11);
    // What was packed before leaves no trace.
    std::string alone;
    SmallDeflater().run(text, alone);
    EXPECT_EQ(packed, alone);
  }

  static constexpr std::size_t kSome = 1024;
  SmallDeflater deflater_;
};

TEST_F(SmallDeflaterTest, EveryLengthOfRunsAndEveryByte) {
  for (std::size_t size = 0; size <= kSome; ++size) {
    expect_whole(std::string(size, 'x'));
    expect_whole(std::string(size, '\xff'));
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  expect_whole(all);
  expect_whole(all + all + all + all);
}

TEST_F(SmallDeflaterTest, EveryDistance) {
  std::mt19937 random(1);
  std::string filler(SmallDeflater::kMost - 5, '\0');
  for (auto& c : filler) c = static_cast<char>('a' + random() % 26);
  for (std::size_t distance = 5; distance < filler.size(); distance += 1 + distance / 64) {
    expect_whole("ABCDE" + filler.substr(0, distance - 5) + "ABCDE");
  }
}

TEST_F(SmallDeflaterTest, TextsOfAllKinds) {
  std::mt19937 random(2);
  for (int i = 0; i < 10'000; ++i) {
    std::string text(random() % (i % 100 == 0 ? SmallDeflater::kMost + 1 : kSome), '\0');
    const auto letters = 1 + random() % 256;
    for (auto& c : text) c = static_cast<char>(random() % letters);
    expect_whole(text);
  }
}

TEST_F(SmallDeflaterTest, ARowGetsSmaller) {
  const std::string row =
      "attributes:\n  images: [registry.example/web/app-000001:1]\n  partOf: team-1\n"
      "  serviceAccount: app-000001\ngroup: apps\nkind: Deployment\nname: app-000001\n"
      "namespace: load-0000\ntarget: deployments\ntargetNamespace: bench\n";
  expect_whole(row);
  std::string packed;
  deflater_.run(row, packed);
  EXPECT_LT(packed.size(), row.size() * 85 / 100);
}

TEST(DeflaterTest, SmallAndLargeObjects) {
  Deflater deflater;
  ASSERT_TRUE(deflater.ok());
  for (const std::size_t size :
       {0UL, 1024UL, 1025UL, SmallDeflater::kMost, SmallDeflater::kMost + 1, 2'000'000UL, 7UL}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23 + i % 7);
    Pieces content;
    content.add(text);
    for (const auto type : {ObjectType::kBlob, ObjectType::kTree, ObjectType::kCommit}) {
      std::string packed;
      deflater.run(type, content, packed);
      EXPECT_EQ(inflated(packed, size), text);
    }
  }
}

}  // namespace
}  // namespace kollect::sinks::git
