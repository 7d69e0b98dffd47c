// A picture as tables: columns, order, filter. Nothing of a terminal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "top/picture.h"

namespace kollect::top {

enum class Tab : std::uint8_t { kInventories, kClusters, kSinks, kProblems };
inline constexpr std::array kTabs = {Tab::kInventories, Tab::kClusters, Tab::kSinks,
                                     Tab::kProblems};
std::string_view title_of(Tab tab);

enum class Tone : std::uint8_t { kPlain, kGood, kWarning, kBad, kDim };
/// How a word of install/state.h is shown.
Tone tone_of(std::string_view state);

struct Cell {
  std::string text;  ///< printable
  double order = 0;  ///< of numeric columns
  Tone tone = Tone::kPlain;
};

struct Column {
  std::string_view head;
  bool numeric = false;  ///< right-aligned and ordered by Cell::order
  /// Those with the highest number go first where there is no room; 0 stays.
  int expendable = 0;
  bool wide = false;  ///< takes the room that is left, and gives it first
};

struct Sheet {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// In the order of the picture.
Sheet sheet_of(const Picture& picture, Tab tab);
/// Keeps the rows that have `filter` in one of their cells, upper case or lower.
void keep(Sheet& sheet, std::string_view filter);
/// By a column, equal ones as they were.
void sort(Sheet& sheet, std::size_t column, bool descending);
/// Names a row whatever is changed in it: its texts that tell what it is.
std::string key_of(const Sheet& sheet, std::size_t row);

/// All tables as plain text, for pipes and files.
std::string plain_text(const Picture& picture);
/// "clusters 2 · inventories 3 · rows 1,200 · targets 4 · sinks 2 (1 failing) · problems 1"
std::string counts_text(const Picture& picture);

}  // namespace kollect::top
