#include "extract/scrub.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"

namespace kollect::extract {

namespace {

using base::json::View;

constexpr std::string_view kBuiltIn[] = {
    "password",   "passwd",      "secret",     "token", "apikey",       "api_key",
    "privatekey", "private_key", "credential", "auth",  "clientsecret", "connectionstring",
};
// A shorter word matches whole keys only: "pw" would hit too many innocent suffixes.
constexpr std::size_t kShortWord = 2;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool equal_folded(std::string_view key, std::string_view lower_word) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (lower(key[i]) != lower_word[i]) return false;
  }
  return true;
}

bool has_visible(View object, std::string_view key, const NodeSet* removed) {
  const auto found = object.find(key);
  return found && (removed == nullptr || !removed->contains(*found));
}

bool is_base64url(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

bool is_jwt(std::string_view text) {
  text = base::trim(text);
  if (!text.starts_with("eyJ")) return false;
  const auto parts = base::split(text, '.');
  return parts.size() == 3 && parts[1].starts_with("eyJ") &&
         std::all_of(parts.begin(), parts.end(), is_base64url);
}

bool has_private_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  while (text.size() > kBegin.size()) {
    const auto* hit =
        static_cast<const char*>(memmem(text.data(), text.size(), kBegin.data(), kBegin.size()));
    if (hit == nullptr) return false;
    text.remove_prefix(static_cast<std::size_t>(hit - text.data()) + kBegin.size());
    const auto label = text.substr(0, text.find("-----"));
    if (label.substr(0, 64).find("PRIVATE KEY") != std::string_view::npos) return true;
  }
  return false;
}

/// Where the authority of an absolute URL begins; npos when the text is none. "jdbc:postgresql://"
/// counts.
std::size_t authority_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_ascii_space(text[at])) ++at;
  if (at >= text.size() || lower(text[at]) < 'a' || lower(text[at]) > 'z')
    return std::string_view::npos;
  for (; at < text.size(); ++at) {
    const char c = lower(text[at]);
    if (c == ':' && text.substr(at).starts_with("://")) return at + 3;
    const bool scheme = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
                        c == '.' || c == ':';
    if (!scheme) return std::string_view::npos;
  }
  return std::string_view::npos;
}

/// True for "host:port" whose port is no number: then "/" or "?" stands unescaped in a password.
bool odd_port(std::string_view authority) {
  const auto colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos)
    return false;
  const auto port = authority.substr(colon + 1);
  return !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<ContentVerdict> judge_url(std::string_view text) {
  const auto start = authority_start(text);
  if (start == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(start);
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  auto at = authority.rfind('@');
  if (at == std::string_view::npos) {
    if (!odd_port(authority)) return std::nullopt;
    at = rest.rfind('@');
  }
  if (at == std::string_view::npos ||
      std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(at), is_ascii_space)) {
    return std::nullopt;
  }
  ContentVerdict verdict;
  verdict.text.reserve(text.size());
  verdict.text.append(text.substr(0, start)).append("redacted").append(rest.substr(at));
  return verdict;
}

bool is_shape_key(std::string_view key) {
  return base::iequals(key, "valueFrom") || base::iequals(key, "secretKeyRef") ||
         base::iequals(key, "secretRef") || base::iequals(key, "tls");
}

void append_folded(std::string& out, char32_t c) {
  if (c < 0x80)
    c = static_cast<char32_t>(lower(static_cast<char>(c)));
  else if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
           (c >= 0x410 && c <= 0x42F))
    c += 0x20;
  else if (c >= 0x400 && c <= 0x40F)
    c += 0x50;
  else if (c >= 0x100 && c <= 0x137 && c != 0x130 && (c & 1U) == 0)
    c += 1;
  else if (c == 0x130)
    c = 'i';
  else if (c == 0x212A)
    c = 'k';
  else if (c == 0x212B)
    c = 0xE5;
  base::append_utf8(out, c);
}

bool is_wide_space(char32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 ||
         (c < 0x80 && is_ascii_space(static_cast<char>(c)));
}

/// Code points of valid UTF-8.
std::u32string decode(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t c = more == 0 ? lead : lead & (0x3FU >> more);
    for (std::size_t k = 1; k <= more && i + k < text.size(); ++k) {
      c = (c << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    i += more + 1;
    out += c;
  }
  return out;
}

}  // namespace

std::string fold_key(std::string_view key) {
  auto points = decode(base::sanitize_utf8(key));
  while (!points.empty() && is_wide_space(points.back())) points.pop_back();
  std::size_t first = 0;
  while (first < points.size() && is_wide_space(points[first])) ++first;
  std::string out;
  for (; first < points.size(); ++first) append_folded(out, points[first]);
  return out;
}

Scrubber::Scrubber(const std::vector<std::string>& added) {
  words_.assign(std::begin(kBuiltIn), std::end(kBuiltIn));
  for (const auto& word : added) {
    auto folded = fold_key(word);
    if (!folded.empty()) words_.push_back(std::move(folded));
  }
  std::sort(words_.begin(), words_.end());
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  for (std::size_t i = 0; i < words_.size() && i < UINT16_MAX; ++i) {
    by_last_byte_[static_cast<unsigned char>(words_[i].back())].push_back(
        static_cast<std::uint16_t>(i));
  }
}

bool Scrubber::sensitive_key(std::string_view key) const {
  if (key.empty()) return false;
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) < 0x80 && !is_ascii_space(c);
  };
  // Most keys end here: no word has this last letter.
  if (plain(key.front()) && plain(key.back()) &&
      by_last_byte_[static_cast<unsigned char>(lower(key.back()))].empty()) {
    return false;
  }
  if (std::all_of(key.begin(), key.end(), plain)) return matches(key);
  return matches(fold_key(key));
}

bool Scrubber::matches(std::string_view folded) const {
  if (folded.empty()) return false;
  for (const auto i : by_last_byte_[static_cast<unsigned char>(lower(folded.back()))]) {
    const auto& word = words_[i];
    if (word.size() > folded.size()) continue;
    if (word.size() <= kShortWord && word.size() != folded.size()) continue;
    if (equal_folded(folded.substr(folded.size() - word.size()), word)) return true;
  }
  return false;
}

bool Scrubber::sensitive_shape(std::string_view key, View value, const NodeSet* removed) {
  if (!value.is_object()) return false;
  switch (key.size()) {
    case 3:
      return base::iequals(key, "tls") && has_visible(value, "key", removed);
    case 9:
      if (base::iequals(key, "secretRef")) return true;
      return base::iequals(key, "valueFrom") && has_visible(value, "secretKeyRef", removed);
    case 12:
      return base::iequals(key, "secretKeyRef");
    default:
      return false;
  }
}

std::optional<ContentVerdict> judge_content(std::string_view text) {
  constexpr std::size_t kShortest = 6;  // "a://@b"
  if (text.size() < kShortest) return std::nullopt;
  if (auto url = judge_url(text)) return url;
  if (is_jwt(text) || has_private_key(text)) return ContentVerdict{true, {}};
  return std::nullopt;
}

Place::Place(const Scrubber& scrubber, std::string_view attribute,
             const std::vector<std::string>& last_keys, std::string_view parent_key) {
  by_name_ = scrubber.sensitive_key(attribute);
  if (is_shape_key(attribute)) shape_keys_.emplace_back(attribute);
  for (const auto& key : last_keys) {
    if (scrubber.sensitive_key(key) || (key == "key" && base::iequals(parent_key, "tls")))
      by_name_ = true;
    if (is_shape_key(key)) shape_keys_.push_back(key);
  }
}

bool Place::by_shape(View value) const {
  return std::any_of(shape_keys_.begin(), shape_keys_.end(), [&](const std::string& key) {
    return Scrubber::sensitive_shape(key, value, nullptr);
  });
}

}  // namespace kollect::extract
