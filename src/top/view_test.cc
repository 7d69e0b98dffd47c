#include "top/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "top/cells.h"
#include "top/testing.h"

namespace kollect::top {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Size kWide{.columns = 140, .lines = 20};

std::string plain(const std::string& line) {
  static const std::regex kSgr("\x1b\\[[0-9;]*m");
  return std::regex_replace(line, kSgr, "");
}

class ViewTest : public ::testing::Test {
 protected:
  ViewTest() { view_.show(testing::fleet()); }

  std::vector<std::string> draw(Size size = kWide) {
    std::vector<std::string> lines = view_.draw(size, testing::now());
    EXPECT_EQ(lines.size(), size.lines);
    for (std::string& line : lines) {
      line = plain(line);
      EXPECT_LE(cells(line), size.columns) << line;
      EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
    return lines;
  }
  /// First words of the rows that are shown.
  std::vector<std::string> rows(Size size = kWide) {
    std::vector<std::string> out;
    const auto lines = draw(size);
    for (std::size_t i = 4; i + 1 < lines.size() && !lines[i].empty(); ++i) {
      out.push_back(lines[i].substr(0, lines[i].find(' ')));
    }
    return out;
  }
  Wish press(std::string_view letters) {
    Wish wish = Wish::kNone;
    for (const char letter : letters) {
      wish = view_.take({.name = KeyName::kText, .text = std::string(1, letter)}, kWide);
    }
    return wish;
  }
  Wish press(KeyName name) { return view_.take({.name = name, .text = {}}, kWide); }
  /// The line that is marked.
  std::string selected() {
    for (const std::string& line : view_.draw(kWide, testing::now())) {
      if (line.starts_with("\x1b[7m") && line.find("Inventories") == std::string::npos) {
        return plain(line);
      }
    }
    return {};
  }

  View view_{true};
};

TEST_F(ViewTest, AnOverviewAtAGlance) {
  const auto lines = draw();
  EXPECT_THAT(lines[0], AllOf(StartsWith("kollect top  cluster oslo"), HasSubstr("0s ago")));
  EXPECT_EQ(
      lines[1],
      "clusters 2 · inventories 3 · rows 1,297 · targets 2 · sinks 2 (1 failing) · problems 2");
  EXPECT_EQ(lines[2], " Inventories 3  Clusters 2  Sinks 2  Problems 2 ");
  EXPECT_THAT(lines[3], StartsWith("INVENTORY   NAMESPACE   CLUSTER    ROWS   EXPORTED  STATE"));
  EXPECT_THAT(lines[4], StartsWith("images      shop        oslo      1,200        30s  Ready"));
  EXPECT_THAT(lines[5],
              AllOf(StartsWith("all         pay         rome          7         5h  Degraded"),
                    HasSubstr("connection refused")));
  EXPECT_THAT(lines[6], HasSubstr("never"));
  EXPECT_THAT(lines.back(), HasSubstr("q quit"));
}

TEST_F(ViewTest, TablesAreTurned) {
  press(KeyName::kRight);
  EXPECT_THAT(rows(), ElementsAre("oslo", "rome"));
  press("3");
  EXPECT_THAT(rows(), ElementsAre("database/pay/pg", "snapshot/shop/git"));
  press(KeyName::kTab);
  EXPECT_THAT(rows(), ElementsAre("KollectInventory", "KollectTarget"));
  press(KeyName::kRight);
  EXPECT_THAT(rows(), ElementsAre("images", "all", "rollup"));
  press(KeyName::kLeft);
  EXPECT_THAT(rows(), ElementsAre("KollectInventory", "KollectTarget"));
}

TEST_F(ViewTest, OrderByAnyColumn) {
  press("s");
  EXPECT_THAT(rows(), ElementsAre("all", "images", "rollup"));
  press("o");
  EXPECT_THAT(rows(), ElementsAre("rollup", "images", "all"));
  press("osss");  // ROWS, as numbers
  EXPECT_THAT(rows(), ElementsAre("all", "rollup", "images"));
  EXPECT_THAT(draw()[3], HasSubstr("ROWS▲"));
  press("s");  // EXPORTED: never is the oldest
  EXPECT_THAT(rows(), ElementsAre("images", "all", "rollup"));
  press("SSSSS");
  EXPECT_THAT(rows(), ElementsAre("images", "all", "rollup"));
  EXPECT_THAT(draw()[3], Not(HasSubstr("▲")));
}

TEST_F(ViewTest, AFilterIsTyped) {
  press("/ROMEq");
  EXPECT_THAT(draw().back(), "filter: ROMEq_");
  press(KeyName::kBackspace);
  EXPECT_THAT(rows(), ElementsAre("all"));
  press(KeyName::kEnter);
  EXPECT_THAT(draw().back(), StartsWith("filter \"ROME\": 1 rows"));
  press("/x");
  EXPECT_THAT(draw()[4], "nothing has this text");
  press(KeyName::kEscape);
  EXPECT_EQ(rows().size(), 3U);
  press("/");
  view_.take({.name = KeyName::kText, .text = "ë"}, kWide);
  EXPECT_EQ(draw().back(), "filter: ë_");
  press(KeyName::kBackspace);
  EXPECT_EQ(draw().back(), "filter: _");
}

TEST_F(ViewTest, TheSelectedRowStaysSelectedWhereverItGoes) {
  EXPECT_THAT(selected(), StartsWith("images"));
  press("j");
  EXPECT_THAT(selected(), StartsWith("all"));
  press("s");  // now it is the first
  EXPECT_THAT(selected(), StartsWith("all"));
  Picture picture = testing::fleet();
  picture.inventories[1].rows = 99999;
  picture.inventories[1].state = "Ready";
  view_.show(std::move(picture));
  EXPECT_THAT(selected(), AllOf(StartsWith("all"), HasSubstr("99,999")));
  picture = testing::fleet();
  picture.inventories.erase(picture.inventories.begin() + 1);
  view_.show(std::move(picture));
  EXPECT_THAT(selected(), StartsWith("images"));
  press(KeyName::kEnd);
  EXPECT_THAT(selected(), StartsWith("rollup"));
  press(KeyName::kDown);
  EXPECT_THAT(selected(), StartsWith("rollup"));
  press("g");
  press(KeyName::kUp);
  EXPECT_THAT(selected(), StartsWith("images"));
}

TEST_F(ViewTest, LongTablesScroll) {
  Picture picture = testing::fleet();
  for (int i = 0; i < 200; ++i) {
    Inventory more = picture.inventories.front();
    more.name = "n" + std::to_string(i);
    picture.inventories.push_back(std::move(more));
  }
  view_.show(std::move(picture));
  EXPECT_EQ(rows().size(), 15U);
  press(KeyName::kPageDown);
  EXPECT_THAT(selected(), StartsWith("n12"));
  press("G");
  EXPECT_EQ(rows().back(), "n199");
  EXPECT_THAT(selected(), StartsWith("n199"));
  press("k");
  EXPECT_EQ(rows().back(), "n199");
  EXPECT_EQ(rows({.columns = 140, .lines = 8}).back(), "n198");
  press("/n7");
  EXPECT_EQ(rows().front(), "n7");
}

TEST_F(ViewTest, EverythingOfARow) {
  press("j");
  press(KeyName::kEnter);
  const auto lines = draw({.columns = 40, .lines = 30});
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  EXPECT_THAT(all,
              HasSubstr("\nMESSAGE      database/pg: connection\n             refused: nobody"));
  EXPECT_THAT(all, HasSubstr("\nREASON       ExportFailed\n"));
  press(KeyName::kEscape);
  EXPECT_THAT(draw()[8], "");
}

TEST_F(ViewTest, AnyTerminalIsLargeEnough) {
  press("j");
  for (const bool detail : {false, true}) {
    if (detail) press(KeyName::kEnter);
    for (std::size_t lines = 1; lines < 14; ++lines) {
      for (std::size_t columns = 1; columns < 100; ++columns) {
        draw({.columns = columns, .lines = lines});
      }
    }
  }
}

TEST_F(ViewTest, AFailureStandsAboveWhatWasSeenLast) {
  view_.show_error("unreachable:\x1b[2J\nno route");
  EXPECT_EQ(draw()[1], "unreachable:?[2J no route");
  EXPECT_EQ(rows().size(), 3U);
  EXPECT_EQ(draw({.columns = 60, .lines = 5})[1], "unreachable:?[2J no route");
  view_.show(testing::fleet());
  EXPECT_THAT(draw()[1], StartsWith("clusters"));
}

TEST_F(ViewTest, NothingYet) {
  View fresh(true);
  const auto lines = fresh.draw(kWide, testing::now());
  EXPECT_THAT(plain(lines[0]), HasSubstr("reading"));
  EXPECT_EQ(fresh.take({.name = KeyName::kDown, .text = {}}, kWide), Wish::kNone);
  EXPECT_EQ(fresh.take({.name = KeyName::kText, .text = "s"}, kWide), Wish::kNone);
  fresh.show({});
  EXPECT_EQ(plain(fresh.draw(kWide, testing::now())[4]), "nothing");
}

TEST_F(ViewTest, ColoursAreLeftOut) {
  const auto coloured = view_.draw(kWide, testing::now());
  EXPECT_THAT(coloured[5], HasSubstr("\x1b[31m"));
  View grey(false);
  grey.show(testing::fleet());
  for (const std::string& line : grey.draw(kWide, testing::now())) {
    EXPECT_THAT(line, Not(::testing::ContainsRegex("\x1b\\[[0-9]*[23][0-9]*m"))) << line;
  }
}

TEST_F(ViewTest, WhatTheLoopHasToDo) {
  EXPECT_EQ(press("q"), Wish::kQuit);
  EXPECT_EQ(press("r"), Wish::kRefresh);
  EXPECT_EQ(press(KeyName::kSuspend), Wish::kSuspend);
  EXPECT_EQ(press(KeyName::kRedraw), Wish::kRedraw);
  EXPECT_EQ(press("/q"), Wish::kNone);
}

TEST(Sheet, PipesGetAllTables) {
  const std::string text = plain_text(testing::fleet());
  EXPECT_THAT(text, StartsWith("cluster oslo  2026-11-29T01:00:00Z\nclusters 2 · inventories 3"));
  for (const char* head : {"\n\nINVENTORY", "\n\nCLUSTER", "\n\nSINK", "\n\nKIND"}) {
    EXPECT_THAT(text, HasSubstr(head));
  }
  EXPECT_THAT(text, HasSubstr("connection refused: nobody listens there\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Sheet, DatabasesKnowNoStates) {
  Picture picture = testing::fleet();
  picture.targets.reset();
  EXPECT_EQ(counts_text(picture), "clusters 2 · inventories 3 · rows 1,297");
}

}  // namespace
}  // namespace kollect::top
