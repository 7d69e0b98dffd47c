// Which columns of a sheet fit beside each other, and text in lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "top/sheet.h"

namespace kollect::top {

struct Place {
  std::size_t column = 0;
  std::size_t width = 0;
};

/// Columns with two blanks between them in at most `columns` columns: the wide one gives room
/// first, then expendable ones go, then the first one is cut.
std::vector<Place> places_of(const Sheet& sheet, std::size_t columns);

/// At blanks where there are some; at least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace kollect::top
