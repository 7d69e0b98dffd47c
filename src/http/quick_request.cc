#include "http/quick_request.h"

#include <algorithm>

#include "base/strings.h"

namespace kollect::http {

namespace {

/// Characters by what they may stand for (RFC 9110 5.6.2, RFC 9112 3.2).
enum Kind : unsigned char { kToken = 1, kTarget = 2, kValue = 4 };

constexpr std::array<unsigned char, 256> kinds_of_characters() {
  std::array<unsigned char, 256> kinds{};
  for (unsigned c = 0x20; c < 0x7F; ++c) kinds[c] |= kValue;
  kinds['\t'] |= kValue;
  for (unsigned c = 0x21; c < 0x7F; ++c) kinds[c] |= kTarget;
  for (const char odd : std::string_view("\"#<>\\^`{|}")) {
    kinds[static_cast<unsigned char>(odd)] = kValue;
  }
  for (unsigned c = 0x21; c < 0x7F; ++c) {
    const bool letter = (c | 0x20U) >= 'a' && (c | 0x20U) <= 'z';
    const bool digit = c >= '0' && c <= '9';
    if (letter || digit ||
        std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos) {
      kinds[c] |= kToken;
    }
  }
  return kinds;
}

constexpr auto kKinds = kinds_of_characters();

/// How many characters from `at` on are of the kind.
std::size_t run(std::string_view text, std::size_t at, Kind kind) {
  std::size_t end = at;
  while (end < text.size() && (kKinds[static_cast<unsigned char>(text[end])] & kind) != 0) ++end;
  return end - at;
}

/// Headers that say more than a plain request has.
bool is_special(std::string_view name, std::string_view value) {
  using base::iequals;
  switch (name.size()) {
    case 2:
      return iequals(name, "te");
    case 6:
      return iequals(name, "expect");
    case 7:
      return iequals(name, "upgrade") || iequals(name, "trailer");
    case 10:
      return iequals(name, "connection") && !iequals(value, "keep-alive");
    case 14:
      return iequals(name, "content-length");
    case 16:
      return iequals(name, "proxy-connection");
    case 17:
      return iequals(name, "transfer-encoding");
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string_view> RequestView::header(std::string_view name) const {
  std::optional<std::string_view> found;
  for (const auto& [key, value] : headers) {
    if (key.size() != name.size() || !base::iequals(key, name)) continue;
    if (found) return std::nullopt;
    found = value;
  }
  return found;
}

std::size_t RequestView::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& header) { return base::iequals(header.first, name); }));
}

std::size_t QuickRequest::read(std::string_view bytes, RequestView& view) {
  if (bytes.starts_with("GET /")) {
    view.method = bytes.substr(0, 3);
  } else if (bytes.starts_with("HEAD /")) {
    view.method = bytes.substr(0, 4);
  } else {
    return 0;
  }
  constexpr std::string_view kVersion = " HTTP/1.1\r\n";
  std::size_t at = view.method.size() + 1;
  const std::string_view target = bytes.substr(at, run(bytes, at, kTarget));
  at += target.size();
  if (!bytes.substr(at).starts_with(kVersion)) return 0;
  at += kVersion.size();
  std::size_t count = 0;
  std::size_t hosts = 0;
  while (!bytes.substr(at).starts_with("\r\n")) {
    const std::string_view name = bytes.substr(at, run(bytes, at, kToken));
    at += name.size();
    if (name.empty() || at >= bytes.size() || bytes[at] != ':' || count == kMostHeaders) return 0;
    ++at;
    const std::size_t size = run(bytes, at, kValue);
    const std::string_view value = base::trim(bytes.substr(at, size));
    at += size;
    if (!bytes.substr(at).starts_with("\r\n") || is_special(name, value)) return 0;
    at += 2;
    if (base::iequals(name, "host")) ++hosts;
    headers_[count++] = {name, value};
  }
  if (hosts != 1) return 0;
  const std::size_t mark = target.find('?');
  view.path = target.substr(0, mark);
  view.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  view.headers = {headers_.data(), count};
  return at + 2;
}

}  // namespace kollect::http
