#include "sinks/layout/path_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "sinks/layout.h"

namespace kollect::sinks {

const std::vector<std::string_view>& document_placeholders() {
  static const std::vector<std::string_view> kNames = {"cluster", "namespace", "name", "generation",
                                                       "extension"};
  return kNames;
}

const std::vector<std::string_view>& row_placeholders() {
  static const std::vector<std::string_view> kNames = {
      "cluster",    "namespace",       "name",       "generation", "extension", "targetNamespace",
      "targetName", "sourceNamespace", "sourceName", "group",      "kind",      "uid"};
  return kNames;
}

PathTemplate::PathTemplate(std::string_view text, const std::vector<std::string_view>& names) {
  std::string literal;
  while (!text.empty()) {
    if (text.front() == '{') {
      const auto end = text.find('}');
      const auto word =
          end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
      if (!word.empty() && std::find(names.begin(), names.end(), word) != names.end()) {
        if (!literal.empty()) pieces_.push_back({false, std::move(literal)});
        literal.clear();
        pieces_.push_back({true, std::string(word)});
        text.remove_prefix(end + 1);
        continue;
      }
    }
    literal += text.front();
    text.remove_prefix(1);
  }
  if (!literal.empty()) pieces_.push_back({false, std::move(literal)});
}

bool PathTemplate::uses(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const Piece& piece) { return piece.placeholder && piece.text == name; });
}

std::string PathTemplate::expand(
    const std::function<std::string_view(std::string_view name)>& value) const {
  std::string out;
  for (const auto& piece : pieces_) out += piece.placeholder ? value(piece.text) : piece.text;
  return out;
}

base::Result<CheckedPath> check_path(std::string_view raw, std::string_view extension) {
  std::string slashed(raw);
  std::replace(slashed.begin(), slashed.end(), '\\', '/');
  const auto parts = base::split(slashed, '/');
  std::vector<std::string_view> segments;
  for (const auto part : parts) {
    const auto segment = base::trim(part);
    if (segment.empty()) continue;
    if (segment == "." || segment == "..") {
      return base::terminal(fmt::format("path \"{}\" leaves its folder", slashed), "bad-path");
    }
    segments.push_back(segment);
  }
  CheckedPath out;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    auto segment = portable_segment(segments[i], last ? extension : std::string_view());
    if (segment.empty()) {
      out.altered = true;
      continue;
    }
    out.altered = out.altered || segment != segments[i];
    if (!out.path.empty()) out.path += '/';
    out.path += segment;
  }
  if (out.path.empty()) {
    return base::terminal(fmt::format("path template gives no path (\"{}\")", slashed), "bad-path");
  }
  return out;
}

std::string with_suffix(std::string_view path, std::string_view suffix,
                        std::string_view extension) {
  if (!path.ends_with(extension)) extension = {};
  const auto slash = path.rfind('/');
  const auto folder =
      slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1);
  auto stem = path.substr(folder.size(), path.size() - folder.size() - extension.size());
  stem = base::cut_utf8(stem, 255 - extension.size() - suffix.size());
  return fmt::format("{}{}{}{}", folder, stem, suffix, extension);
}

}  // namespace kollect::sinks
