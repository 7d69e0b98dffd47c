// Columns of text.
#pragma once

#include <string>
#include <vector>

namespace kollect::install {

/// Rows below their heads, columns as wide as their widest cell, an empty cell as "-".
std::string table(const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows);

}  // namespace kollect::install
