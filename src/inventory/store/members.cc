#include "inventory/store/members.h"

namespace kollect::inventory {
namespace {

constexpr std::size_t kBroken = std::string_view::npos;

/// Behind the closing quote of the string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return kBroken;
}

/// Behind the object or array that begins at `at`.
std::size_t skip_container(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (at == kBroken) return kBroken;
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return kBroken;
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return kBroken;
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] == '{' || text[at] == '[') return skip_container(text, at);
  const std::size_t end = text.find_first_of(",}]\" \t\r\n", at);
  return end == at ? kBroken : end;
}

}  // namespace

bool split_members(std::string_view object, std::vector<Member>& members) {
  members.clear();
  if (object.size() < 2 || object.front() != '{' || object.back() != '}') return false;
  if (object.size() == 2) return true;
  std::size_t at = 1;
  while (true) {
    if (at >= object.size() || object[at] != '"') return false;
    const std::size_t colon = skip_string(object, at);
    if (colon == kBroken || colon >= object.size() || object[colon] != ':') return false;
    const std::size_t end = skip_value(object, colon + 1);
    if (end == kBroken || end >= object.size()) return false;
    members.push_back({.head = object.substr(at, colon + 1 - at),
                       .value = object.substr(colon + 1, end - colon - 1)});
    at = end + 1;
    if (object[end] == '}') return at == object.size();
    if (object[end] != ',') return false;
  }
}

}  // namespace kollect::inventory
