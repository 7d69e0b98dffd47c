// Cuts a YAML stream into its documents before anything is parsed, so that a broken one does not
// spoil the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::base::yaml {

/// One document's text, its "---" line and directives included.
struct Piece {
  std::string_view text;
  std::uint32_t line = 1;  ///< of its first byte in the stream, from 1
  bool marked = false;     ///< begins with a "---" line: counts as document even when empty
};

/// Pieces in order; pieces of white space and comments alone are left out unless they are marked. A
/// line that begins with "---" or "..." is a document mark wherever it stands (YAML 1.2, 9.1.2):
/// text at column 0 of a block string cannot look like that.
std::vector<Piece> split_stream(std::string_view text);

/// UTF-16 with a byte order mark as UTF-8 (shells on Windows write such files); everything else
/// unchanged, without its byte order mark. `buffer` holds the converted text.
std::string_view as_utf8(std::string_view text, std::string& buffer);

/// End of the JSON object or array that begins `text`, by its brackets; npos when it does not end.
std::size_t json_end(std::string_view text);

}  // namespace kollect::base::yaml
