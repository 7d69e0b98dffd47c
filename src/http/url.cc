#include <algorithm>
#include <cctype>

#include "http/client.h"

namespace kollect::http {

namespace {

bool is_port(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string redact_url(std::string_view url) {
  const auto scheme_end = url.find("://");
  const std::size_t start = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  const std::string_view rest = url.substr(start);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) {
    // A password with an unescaped "/": "user:pa/ss@host". What follows the colon is no port then.
    const auto colon = authority.rfind(':');
    const bool odd_port = colon != std::string_view::npos && !authority.ends_with(']') &&
                          !is_port(authority.substr(colon + 1));
    if (odd_port) at = rest.rfind('@');
  }
  if (at == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, start)) + "***" + std::string(rest.substr(at));
}

}  // namespace kollect::http
