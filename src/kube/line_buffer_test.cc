#include "kube/line_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::kube {
namespace {

using ::testing::ElementsAre;

TEST(LineBuffer, LinesHoweverTheyAreCut) {
  const std::string text = "one\n\n \t\r\ntwo\r\nthree";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LineBuffer buffer;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += size) {
      std::string piece = text.substr(at, size);
      buffer.add(piece);
      EXPECT_TRUE(piece.empty());
      while (const auto line = buffer.next()) lines.emplace_back(*line);
    }
    EXPECT_THAT(lines, ElementsAre("one", "two\r")) << size;
    EXPECT_EQ(buffer.left(), 5U);
    buffer.shrink();
    EXPECT_EQ(buffer.take_rest(), "three");
    EXPECT_EQ(buffer.left(), 0U);
    EXPECT_FALSE(buffer.next());
  }
}

TEST(LineBuffer, MemoryOfABurstIsGivenBack) {
  LineBuffer buffer;
  std::string burst(1U << 20U, 'x');
  burst += "\nrest";
  buffer.add(burst);
  EXPECT_EQ(buffer.next()->size(), 1U << 20U);
  buffer.shrink();
  std::string more = " of it\n";
  buffer.add(more);
  EXPECT_EQ(buffer.next(), "rest of it");
  std::string empty;
  buffer.shrink();
  buffer.add(empty);
  EXPECT_LT(empty.capacity(), 1U << 10U) << "no large memory is left to be swapped out";
}

}  // namespace
}  // namespace kollect::kube
