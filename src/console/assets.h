// The files of the web console, part of the program (made from web/dist at build time).
#pragma once

#include <span>
#include <string_view>

#include "readapi/static_files.h"

namespace kollect::console {

struct Asset : readapi::StaticFile {
  std::string_view name;  ///< below /ui/
};

/// All of them, by name. They live as long as the program.
std::span<const Asset> assets();

/// The same for the read API's service.
class Files final : public readapi::StaticFiles {
 public:
  [[nodiscard]] const readapi::StaticFile* find(std::string_view path) const override;
};

}  // namespace kollect::console
