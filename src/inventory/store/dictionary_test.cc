#include "inventory/store/dictionary.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include <fmt/format.h>

namespace kollect::inventory {
namespace {

std::string image(int n) {
  return fmt::format("\"registry.example/team/service:{:06}\"", n);
}

TEST(Dictionary, EachTextOnce) {
  Dictionary values;
  const std::uint32_t a = values.take("\"aaaa\"");
  const std::uint32_t b = values.take("\"bbbb\"");
  EXPECT_NE(a, b);
  EXPECT_EQ(values.take("\"aaaa\""), a);
  EXPECT_EQ(values.offer("\"aaaa\""), a);
  EXPECT_EQ(values.text(a), "\"aaaa\"");
  EXPECT_EQ(values.text(b), "\"bbbb\"");
  EXPECT_EQ(values.distinct(), 2U);
  EXPECT_EQ(values.text(values.take("")), "");
}

TEST(Dictionary, ForgetsWhatNobodyUses) {
  Dictionary values;
  const std::uint32_t a = values.take("text");
  values.take("text");
  values.retain(a);
  values.release(a);
  values.release(a);
  EXPECT_EQ(values.text(a), "text");
  values.release(a);
  EXPECT_EQ(values.distinct(), 0U);
  // Its number serves the next.
  EXPECT_EQ(values.take("other"), a);
  EXPECT_EQ(values.text(a), "other");
}

TEST(Dictionary, TakesAllOfAFewThatRepeat) {
  Dictionary values;
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(values.offer(image(i % 500)));
  EXPECT_TRUE(values.takes_all());
  EXPECT_EQ(values.distinct(), 500U);
}

TEST(Dictionary, LeavesAloneWhatNeverRepeats) {
  Dictionary values;
  const auto often = values.offer("\"the one that everybody has\"");
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += values.offer(image(i)) ? 1 : 0;
  EXPECT_FALSE(values.takes_all());
  EXPECT_LT(taken, 1'500);
  EXPECT_GT(taken, 600);  // the first ones and the sample
  // What it holds already costs nothing more.
  EXPECT_EQ(values.offer("\"the one that everybody has\""), often);
  EXPECT_LT(values.memory_bytes(), 200'000U);
}

TEST(Dictionary, TakesAllAgainWhenTextsRepeat) {
  Dictionary values;
  for (int i = 0; i < 5'000; ++i) values.offer(image(i));
  ASSERT_FALSE(values.takes_all());
  // The list goes on with images that all rows share.
  for (int i = 0; i < 20'000; ++i) values.offer(image(1'000'000 + i % 100));
  EXPECT_TRUE(values.takes_all());
}

TEST(Dictionary, TakesWhatItMustWhetherItPaysOrNot) {
  Dictionary values;
  for (int i = 0; i < 5'000; ++i) values.take(image(i));
  EXPECT_EQ(values.distinct(), 5'000U);
}

TEST(Dictionary, CountsLikeAMap) {
  std::mt19937 random(3);
  Dictionary values;
  std::multimap<std::uint32_t, std::string> uses;
  for (int step = 0; step < 40'000; ++step) {
    if (random() % 3 != 0 || uses.empty()) {
      const std::string text = image(static_cast<int>(random() % (step < 20'000 ? 5'000 : 300)));
      if (const auto number = values.offer(text)) uses.emplace(*number, text);
    } else {
      auto it = uses.lower_bound(static_cast<std::uint32_t>(random() % (uses.rbegin()->first + 1)));
      ASSERT_EQ(values.text(it->first), it->second);
      values.release(it->first);
      uses.erase(it);
    }
  }
  for (const auto& [number, text] : uses) EXPECT_EQ(values.text(number), text);
  for (const auto& [number, text] : uses) values.release(number);
  EXPECT_EQ(values.distinct(), 0U);
}

}  // namespace
}  // namespace kollect::inventory
