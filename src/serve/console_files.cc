#include "serve/console_files.h"

#include "console/assets.h"

namespace kollect::serve {

ConsoleFiles::ConsoleFiles() {
  for (const console::Asset& asset : console::assets()) {
    files_.emplace(asset.name, readapi::StaticFile{.bytes = asset.bytes,
                                                   .gzip = asset.gzip,
                                                   .content_type = asset.content_type,
                                                   .etag = asset.etag,
                                                   .immutable = asset.immutable});
  }
}

const readapi::StaticFile* ConsoleFiles::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace kollect::serve
