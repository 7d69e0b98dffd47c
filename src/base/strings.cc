#include "base/strings.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace kollect::base {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_tail(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Length of the valid UTF-8 sequence at `at`, 0 when there is none (RFC 3629: no overlong forms,
/// no surrogates, at most U+10FFFF).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return left >= 2 && is_tail(text[at + 1]) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    if (left < 3 || !is_tail(text[at + 1]) || !is_tail(text[at + 2])) {
      return 0;
    }
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (left < 4 || !is_tail(text[at + 1]) || !is_tail(text[at + 2]) || !is_tail(text[at + 3])) {
      return 0;
    }
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

/// First byte at or after `at` that is not part of valid UTF-8, or the end.
std::size_t find_invalid(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::uint64_t word = 0;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080ULL) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return text.size();
}

bool is_label_part(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t replace = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, replace});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      out += separator;
    }
    out += parts[i];
  }
  return out;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) {
    return text;
  }
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  return out.append(text, done);
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) {
    return text;
  }
  std::size_t end = bytes;
  // A sequence has at most three continuation bytes; more of them are no UTF-8 and cut as bytes.
  for (int i = 0; i < 3 && end > 0 && is_tail(text[end]); ++i) {
    --end;
  }
  return text.substr(0, is_tail(text[end]) ? bytes : end);
}

std::string sanitize_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bad = find_invalid(text, at);
    out.append(text, at, bad - at);
    at = bad;
    if (at < text.size()) {
      out += kReplacement;
      ++at;
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  return find_invalid(text, 0) == text.size();
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  const auto c = static_cast<std::uint32_t>(code_point);
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) {
    out += kReplacement;
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

bool is_dns1123_label(std::string_view text) {
  return text.size() <= 63 && is_label_part(text);
}

bool is_dns1123_subdomain(std::string_view text) {
  if (text.size() > 253) {
    return false;
  }
  const auto parts = split(text, '.');
  return std::all_of(parts.begin(), parts.end(), is_label_part);
}

std::vector<std::string> near_names(std::string_view word,
                                    const std::vector<std::string>& candidates, std::size_t most) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), word.size());
    if (longer - std::min(candidate.size(), word.size()) > limit) {
      continue;
    }
    if (const std::size_t distance = edit_distance(word, candidate); distance <= limit) {
      found.emplace_back(distance, candidate);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.size() && i < most; ++i) {
    names.push_back(std::move(found[i].second));
  }
  return names;
}

}  // namespace kollect::base
