#include "base/hash_beside.h"

#include <gtest/gtest.h>

namespace kollect::base {
namespace {

std::string text_of(std::size_t size) {
  std::string out;
  while (out.size() < size) out += std::to_string(out.size() * 7919);
  out.resize(size);
  return out;
}

TEST(Sha256Beside, TextsInTheirOrder) {
  for (const std::size_t texts : {0U, 1U, 2U, 5U, 300U}) {
    Sha256Beside beside;
    std::string all;
    for (std::size_t i = 0; i < texts; ++i) {
      std::string& room = beside.room();
      EXPECT_TRUE(room.empty());
      room = text_of(i * 97 % 5000);
      beside.hand_over();
      all += room;  // may still be read
    }
    EXPECT_EQ(beside.finish_hex(), sha256_hex(all)) << texts;
  }
}

TEST(Sha256Beside, CopiedBytes) {
  const auto text = text_of(1'000'003);
  for (const std::size_t step : {1'000U, 65'536U, 400'000U, 2'000'000U}) {
    Sha256Beside beside;
    for (std::size_t at = 0; at < text.size(); at += step) {
      std::string piece = text.substr(at, step);
      beside.update(piece);
      piece.assign(piece.size(), '#');
    }
    EXPECT_EQ(beside.finish_hex(), sha256_hex(text)) << step;
  }
}

TEST(Sha256Beside, MayBeGivenUp) {
  Sha256Beside beside;
  for (int i = 0; i < 3; ++i) {
    beside.room() = text_of(100'000);
    beside.hand_over();
  }
}

}  // namespace
}  // namespace kollect::base
