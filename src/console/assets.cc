#include "console/assets.h"

#include <algorithm>

namespace kollect::console {

const readapi::StaticFile* Files::find(std::string_view path) const {
  const auto all = assets();
  const auto found = std::ranges::find(all, path, &Asset::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace kollect::console
