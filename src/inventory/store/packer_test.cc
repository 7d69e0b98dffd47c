#include "inventory/store/packer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include <fmt/format.h>

namespace kollect::inventory {
namespace {

std::string object(int n) {
  std::string text = fmt::format(R"({{"resource":{{"metadata":{{"name":"name-{}"}},"spec":{{)", n);
  for (int i = 0; i < 30; ++i) {
    text += fmt::format(R"({}"setting-{}":"value {}")", i == 0 ? "" : ",", i * 7919, (n * i) % 91);
  }
  return text + "}}}";
}

std::string noise(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

struct Kept {
  std::string text, bytes;
  bool with_dictionary;
};

TEST(Packer, RoundTripBeforeAndAfterTraining) {
  Packer packer;
  Workbench bench;
  std::vector<Kept> kept;
  int trained_at = -1;
  for (int i = 0; i < 400; ++i) {
    const std::string text = object(i);
    const Packer::Packed packed = packer.pack(text, bench);
    ASSERT_FALSE(packed.bytes.empty());
    kept.push_back({text, std::string(packed.bytes), packed.with_dictionary});
    if (packer.wants_training()) {
      EXPECT_EQ(trained_at, -1) << "asked twice";
      trained_at = i;
      packer.train();
    }
  }
  ASSERT_GT(trained_at, 10);
  ASSERT_LT(trained_at, 300);
  EXPECT_FALSE(kept.front().with_dictionary);
  EXPECT_TRUE(kept.back().with_dictionary);
  EXPECT_LT(kept.back().bytes.size() * 3 / 2, kept.front().bytes.size());
  Workbench other;
  std::string out;
  for (const Kept& one : kept) {
    packer.unpack(one.bytes, one.text.size(), one.with_dictionary, other, out);
    EXPECT_EQ(out, one.text);
  }
}

TEST(Packer, WhatDoesNotShrinkIsLeftAlone) {
  Packer packer;
  Workbench bench;
  EXPECT_TRUE(packer.pack(noise(2'000), bench).bytes.empty());
}

TEST(Packer, GoesOnWithoutADictionaryThatCannotBeMade) {
  Packer packer;
  Workbench bench;
  for (int i = 0; i < 2'000; ++i) {
    packer.pack(noise(600 + static_cast<std::size_t>(i)), bench);
    if (packer.wants_training()) packer.train();
  }
  const std::string text = object(1);
  const Packer::Packed packed = packer.pack(text, bench);
  std::string out;
  packer.unpack(packed.bytes, text.size(), packed.with_dictionary, bench, out);
  EXPECT_EQ(out, text);
  EXPECT_LT(packer.memory_bytes(), 500'000U);
}

TEST(Packer, LargeTextsAreNoSamples) {
  Packer packer;
  Workbench bench;
  std::string large;
  for (int i = 0; i < 50; ++i) large += object(i);
  for (int i = 0; i < 500; ++i) packer.pack(large, bench);
  EXPECT_FALSE(packer.wants_training());
  EXPECT_LT(packer.memory_bytes(), 1'000U);
}

}  // namespace
}  // namespace kollect::inventory
