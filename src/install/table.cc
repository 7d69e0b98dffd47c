#include "install/table.h"

#include <algorithm>

namespace kollect::install {

std::string table(const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::string& head : heads) widths.push_back(head.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string& cell = row[i].empty() ? "-" : row[i];
      text += cell;
      if (i + 1 < row.size()) text.append(widths[i] - cell.size() + 2, ' ');
    }
    text += '\n';
  };
  add(heads);
  for (const auto& row : rows) add(row);
  return text;
}

}  // namespace kollect::install
