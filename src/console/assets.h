// The files of the web console, part of the program (made from web/dist at build time).
#pragma once

#include <span>
#include <string_view>

namespace kollect::console {

/// One file. Lives as long as the program.
struct Asset {
  std::string_view name;  ///< below /ui/
  std::string_view content_type;
  std::string_view bytes;
  std::string_view gzip;  ///< the same, compressed (RFC 1952)
  std::string_view etag;  ///< strong, with its quotes (RFC 9110, 8.8.3); of `bytes`
  /// Its name has a hash of its content: a client may keep it for ever.
  bool immutable = false;
};

/// All of them, by name.
std::span<const Asset> assets();

/// What is at a path below /ui/ ("" is the page). The page answers for every view of the console,
/// "inventory" as well as "fleet": names without a dot and without a slash. Null: nothing.
const Asset* find(std::string_view path);

}  // namespace kollect::console
