// The console as the service wants its files.
#pragma once

#include <map>
#include <string_view>

#include "readapi/static_files.h"

namespace kollect::serve {

class ConsoleFiles final : public readapi::StaticFiles {
 public:
  ConsoleFiles();
  [[nodiscard]] const readapi::StaticFile* find(std::string_view path) const override;

 private:
  std::map<std::string_view, readapi::StaticFile> files_;
};

}  // namespace kollect::serve
