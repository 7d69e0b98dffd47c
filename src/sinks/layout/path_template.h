// Path templates: "{cluster}/{kind}/{sourceName}{extension}" (spec: sinks 4.3).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kollect::sinks {

/// A template cut into literal text and placeholders. Immutable.
class PathTemplate {
 public:
  struct Piece {
    bool placeholder = false;
    std::string text;  ///< literal, or the placeholder's name without braces
  };

  /// Placeholders are the words of `names`; everything else in braces stays text.
  PathTemplate(std::string_view text, const std::vector<std::string_view>& names);

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] bool uses(std::string_view name) const;
  /// Text with each placeholder replaced once; values are not looked at again.
  [[nodiscard]] std::string expand(
      const std::function<std::string_view(std::string_view name)>& value) const;

 private:
  std::vector<Piece> pieces_;
};

/// Placeholders of document and index templates, and of row templates.
const std::vector<std::string_view>& document_placeholders();
const std::vector<std::string_view>& row_placeholders();

struct CheckedPath {
  std::string path;
  bool altered = false;  ///< a segment was changed to be portable
};
/// Backslashes become slashes, segments are trimmed, empty ones dropped, each made portable. Error
/// (terminal): a segment "." or "..", ".git", or nothing left.
base::Result<CheckedPath> check_path(std::string_view raw, std::string_view extension);

/// `path` with `suffix` before `extension` (at the end when the path does not end with it), segment
/// cut to 255 bytes.
std::string with_suffix(std::string_view path, std::string_view suffix, std::string_view extension);

}  // namespace kollect::sinks
