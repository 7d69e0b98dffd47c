// Files of the web console, made at build time.
#pragma once

#include <string>
#include <string_view>

namespace kollect::readapi {

/// One file. Its bytes live as long as the program.
struct StaticFile {
  std::string_view bytes;
  std::string_view gzip;          ///< the same, packed; empty: not worth it
  std::string_view content_type;  ///< "text/html; charset=utf-8"
  std::string_view etag;          ///< with its quotes
  bool immutable = false;         ///< its name changes with its content
};

/// Thread-safe.
class StaticFiles {
 public:
  virtual ~StaticFiles() = default;
  /// By the path below /ui/ ("index.html", "assets/app-1f2e.js"); null: there is none.
  [[nodiscard]] virtual const StaticFile* find(std::string_view path) const = 0;
};

}  // namespace kollect::readapi
