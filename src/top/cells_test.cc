#include "top/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "top/columns.h"
#include "top/keys.h"
#include "top/testing.h"

namespace kollect::top {
namespace {

using ::testing::ElementsAre;

TEST(Cells, NothingCommandsTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(printable("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(printable("a\xff\xc3z"), "a??z");
  EXPECT_EQ(printable("\xc2\x9b"), "?");            // CSI as one character
  EXPECT_EQ(printable("a\xe2\x80\xae z"), "a? z");  // right-to-left override
  EXPECT_EQ(printable("zoë 日本"), "zoë 日本");
}

TEST(Cells, WidthsAreColumns) {
  EXPECT_EQ(cells("zoë"), 3U);
  EXPECT_EQ(cells("日本"), 4U);
  EXPECT_EQ(cells("e\xcc\x81"), 1U);  // an accent of its own
  EXPECT_EQ(cells("🚢"), 2U);
  EXPECT_EQ(cells(""), 0U);
}

TEST(Cells, TextIsCutAndFilled) {
  EXPECT_EQ(fit("ab", 4), "ab  ");
  EXPECT_EQ(fit("ab", 4, true), "  ab");
  EXPECT_EQ(fit("abcde", 4), "abc…");
  EXPECT_EQ(fit("日本語", 4), "日… ");  // half of a wide character is no character
  EXPECT_EQ(fit("ab", 0), "");
  EXPECT_EQ(cut("ab", 2), "ab");
  EXPECT_EQ(cut("abc", 1), "…");
}

TEST(Cells, LongTextIsWrappedAtBlanks) {
  EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("abcdefgh", 4), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(wrapped("", 4), ElementsAre(""));
  EXPECT_THAT(wrapped("日本語", 3), ElementsAre("日", "本", "語"));
}

std::vector<std::string> heads(std::size_t columns) {
  const Sheet sheet = sheet_of(testing::fleet(), Tab::kInventories);
  std::vector<std::string> out;
  std::size_t width = 0;
  for (const Place& place : places_of(sheet, columns)) {
    out.emplace_back(sheet.columns[place.column].head);
    width += place.width + (out.size() > 1 ? 2 : 0);
  }
  EXPECT_LE(width, columns);
  return out;
}

TEST(Columns, WhatCountsLessGoesFirst) {
  EXPECT_THAT(heads(200), ElementsAre("INVENTORY", "NAMESPACE", "CLUSTER", "ROWS", "EXPORTED",
                                      "STATE", "REASON", "MESSAGE"));
  EXPECT_THAT(heads(100), ElementsAre("INVENTORY", "NAMESPACE", "CLUSTER", "ROWS", "EXPORTED",
                                      "STATE", "REASON", "MESSAGE"));  // a shorter message
  EXPECT_THAT(heads(80), ElementsAre("INVENTORY", "NAMESPACE", "CLUSTER", "ROWS", "EXPORTED",
                                     "STATE", "REASON"));
  EXPECT_THAT(heads(50), ElementsAre("INVENTORY", "CLUSTER", "ROWS", "EXPORTED", "STATE"));
  EXPECT_THAT(heads(28), ElementsAre("INVENTORY", "ROWS", "STATE"));
  EXPECT_THAT(heads(5), ElementsAre("INVENTORY"));
}

std::vector<KeyName> names(KeyReader& reader) {
  std::vector<KeyName> out;
  for (Key key; reader.next(key);) out.push_back(key.name);
  return out;
}

TEST(Keys, SequencesOfTerminals) {
  KeyReader reader;
  reader.take("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[Z\r\t\x7f\x1a\x0c\x1b[1;5C");
  EXPECT_THAT(
      names(reader),
      ElementsAre(KeyName::kUp, KeyName::kDown, KeyName::kPageUp, KeyName::kPageDown,
                  KeyName::kHome, KeyName::kEnd, KeyName::kBackTab, KeyName::kEnter, KeyName::kTab,
                  KeyName::kBackspace, KeyName::kSuspend, KeyName::kRedraw, KeyName::kUnknown));
}

TEST(Keys, PiecesAreWaitedFor) {
  KeyReader reader;
  reader.take("\x1b");
  EXPECT_THAT(names(reader), ElementsAre());
  reader.take("[");
  EXPECT_THAT(names(reader), ElementsAre());
  reader.take("C\xc3");
  EXPECT_THAT(names(reader), ElementsAre(KeyName::kRight));
  reader.take("\xab");
  Key key;
  ASSERT_TRUE(reader.next(key));
  EXPECT_EQ(key, (Key{.name = KeyName::kText, .text = "ë"}));
}

TEST(Keys, AnEscapeAloneIsAKey) {
  KeyReader reader;
  reader.take("\x1b");
  reader.quiet();
  EXPECT_THAT(names(reader), ElementsAre(KeyName::kEscape));
  reader.take("\x1bq");
  EXPECT_THAT(names(reader), ElementsAre(KeyName::kEscape, KeyName::kText));
  reader.quiet();
  reader.take("\x1b");  // silence before it says nothing
  EXPECT_THAT(names(reader), ElementsAre());
}

TEST(Keys, AnEndlessSequenceEnds) {
  KeyReader reader;
  reader.take("\x1b[" + std::string(100, '1'));
  Key key;
  ASSERT_TRUE(reader.next(key));
  EXPECT_EQ(key.name, KeyName::kUnknown);
  reader.take("\x1b[1");
  reader.quiet();
  while (reader.next(key)) {
  }
  reader.take("q");
  ASSERT_TRUE(reader.next(key));
  EXPECT_EQ(key.text, "q");
}

}  // namespace
}  // namespace kollect::top
