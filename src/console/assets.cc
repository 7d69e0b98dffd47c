#include "console/assets.h"

#include <algorithm>

namespace kollect::console {

const Asset* find(std::string_view path) {
  // Views have no files of their own: the page reads its address.
  if (path.find_first_of("./") == std::string_view::npos) path = "index.html";
  const auto files = assets();
  const auto found = std::ranges::find(files, path, &Asset::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace kollect::console
