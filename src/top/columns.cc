#include "top/columns.h"

#include <algorithm>

#include "top/cells.h"

namespace kollect::top {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 10;  ///< a wide column with less room is not worth it

std::size_t sum(const std::vector<Place>& places) {
  std::size_t out = places.empty() ? 0 : (places.size() - 1) * kGap;
  for (const Place& place : places) out += place.width;
  return out;
}

std::vector<Place> natural(const Sheet& sheet) {
  std::vector<Place> out;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    std::size_t width = sheet.columns[i].head.size() + 1;  // with the mark of the order
    for (const auto& row : sheet.rows) width = std::max(width, cells(row[i].text));
    out.push_back({.column = i, .width = width});
  }
  return out;
}

}  // namespace

std::vector<Place> places_of(const Sheet& sheet, std::size_t columns) {
  std::vector<Place> places = natural(sheet);
  const auto expendable = [&](const Place& place) {
    return sheet.columns[place.column].expendable;
  };
  while (sum(places) > columns && places.size() > 1) {
    const std::size_t over = sum(places) - columns;
    const auto wide = std::ranges::find_if(
        places, [&](const Place& place) { return sheet.columns[place.column].wide; });
    if (wide != places.end() && wide->width >= over + kNarrowest) {
      wide->width -= over;
      break;
    }
    const auto next = std::ranges::max_element(places, {}, expendable);
    places.erase(expendable(*next) > 0 ? next : places.end() - 1);
  }
  if (places.size() == 1) places.front().width = std::min(places.front().width, columns);
  return places;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> out;
  while (cells(text) > columns && columns > 1) {
    // cut() ends with a mark of one column, three bytes.
    const std::size_t fits = cut(text, columns).size() - std::string_view("…").size();
    const std::size_t blank = text.substr(0, fits + 1).rfind(' ');
    const std::size_t at = blank == std::string_view::npos || blank == 0 ? fits : blank;
    if (at == 0) break;
    out.emplace_back(text.substr(0, at));
    text.remove_prefix(at);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  out.push_back(cut(text, columns));
  return out;
}

}  // namespace kollect::top
