// Text of objects as names of files.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "sinks/layout.h"

namespace kollect::sinks {

namespace {

constexpr std::size_t kMaxSegment = 255;

bool is_separator(unsigned char c) {
  return c == '/' || c == '\\' || c == ':';
}

/// Characters that some system refuses in names.
bool is_refused(unsigned char c) {
  return c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '|' || c == '?' || c == '*' ||
         c == '"';
}

/// Nothing in it that one of the rules below could be about.
bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string_view trim_dots_and_dashes(std::string_view text) {
  const auto first = text.find_first_not_of(".-");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(".-") - first + 1);
}

/// Every run of the characters that `pick` chooses, at least `least` long, becomes a dash.
template <class Pick>
std::string replace_runs(std::string_view text, std::size_t least, Pick pick) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && pick(static_cast<unsigned char>(text[end]))) ++end;
    if (end - i >= least) {
      out += '-';
    } else if (end > i) {
      out += text.substr(i, end - i);
    } else {
      out += text[end++];
    }
    i = end;
  }
  return out;
}

/// Names that Windows keeps for devices, whatever the extension.
bool is_device_name(std::string_view base_name) {
  static constexpr std::array<std::string_view, 7> kNames = {"con",    "prn",     "aux",   "nul",
                                                             "conin$", "conout$", "clock$"};
  if (base_name.size() > 7) return false;
  const auto name = base::to_lower(base_name);
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  if (name.size() < 4 || (!name.starts_with("com") && !name.starts_with("lpt"))) return false;
  const std::string_view digit = std::string_view(name).substr(3);
  if (digit.size() == 1) return digit[0] >= '0' && digit[0] <= '9';
  return digit == "\u00b9" || digit == "\u00b2" || digit == "\u00b3";
}

/// Drops the invisible characters that a Mac's file system ignores in comparisons.
std::string without_ignorable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    const bool ignorable = (rest.starts_with("\xe2\x80") && rest.size() >= 3 &&
                            ((static_cast<unsigned char>(rest[2]) >= 0x8c &&
                              static_cast<unsigned char>(rest[2]) <= 0x8f) ||
                             (static_cast<unsigned char>(rest[2]) >= 0xaa &&
                              static_cast<unsigned char>(rest[2]) <= 0xae))) ||
                           (rest.starts_with("\xe2\x81") && rest.size() >= 3 &&
                            static_cast<unsigned char>(rest[2]) >= 0xaa &&
                            static_cast<unsigned char>(rest[2]) <= 0xaf) ||
                           rest.starts_with("\xef\xbb\xbf");
    if (ignorable) {
      i += 3;
    } else {
      out += text[i++];
    }
  }
  return out;
}

/// Spellings of ".git" that one system or another takes for it.
bool is_git_folder(std::string_view segment) {
  const auto name = base::to_lower(without_ignorable(segment));
  return name == ".git" || name == "git~1";
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string sanitise_segment(std::string_view text, std::size_t max_length) {
  if (is_plain(text) && text.size() <= max_length && text.find("..") == std::string_view::npos &&
      trim_dots_and_dashes(text).size() == text.size()) {
    return std::string(text);
  }
  const auto valid = base::sanitize_utf8(base::trim(text));
  auto out =
      replace_runs(valid, 1, [](unsigned char c) { return is_separator(c) || is_refused(c); });
  out = replace_runs(out, 2, [](unsigned char c) { return c == '.'; });
  auto view = base::trim(trim_dots_and_dashes(out));
  view = base::cut_utf8(view, max_length);
  return std::string(base::trim(trim_dots_and_dashes(view)));
}

std::string portable_segment(std::string_view segment, std::string_view extension) {
  if (is_plain(segment) && segment.size() <= kMaxSegment && segment.front() != '.' &&
      segment.back() != '.' && !is_device_name(segment.substr(0, segment.find('.')))) {
    return std::string(segment);
  }
  auto out = replace_runs(base::sanitize_utf8(segment), 1, [](unsigned char c) {
    return c == '\\' || c == ':' || c == '/' || is_refused(c);
  });
  out = std::string(trim_end(base::trim(out)));
  if (out.empty()) return out;
  if (is_git_folder(out)) out.insert(0, "_");
  const auto dot = out.find('.');
  const auto base_size = trim_end(std::string_view(out).substr(0, dot)).size();
  if (is_device_name(std::string_view(out).substr(0, base_size))) out.insert(base_size, "_");
  if (out.size() > kMaxSegment) {
    if (!out.ends_with(extension) || extension.size() >= kMaxSegment) extension = {};
    const auto stem = base::cut_utf8(out, kMaxSegment - extension.size());
    out = std::string(trim_end(stem)) + std::string(extension);
  }
  return out;
}

}  // namespace kollect::sinks
