#include "serve/token_access.h"

#include <fmt/format.h>

#include <set>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::serve {

namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!(line = base::trim(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return out;
}

base::Result<std::vector<std::string>> read_list(std::string_view word, std::string_view list) {
  std::vector<std::string> out;
  for (const std::string_view one : base::split(list, ',')) {
    if (one.empty()) {
      return base::configuration(
          fmt::format("{}: an empty name in the list; leave the word out to open all", word));
    }
    out.emplace_back(one);
  }
  return out;
}

base::Result<TokenGrant> read_grant(const std::vector<std::string_view>& words) {
  if (words.size() < 2)
    return base::configuration("wanted: NAME TOKEN [namespaces=a,b] [clusters=c,d]");
  TokenGrant out{.name = std::string(words[0]), .sight = {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view word = words[i].substr(0, equals);
    auto* place = word == "namespaces" ? &out.sight.namespaces
                  : word == "clusters" ? &out.sight.clusters
                                       : nullptr;
    if (place == nullptr || equals == std::string_view::npos) {
      return base::configuration(fmt::format(
          "word {} behind the token: there are namespaces=a,b and clusters=c,d", i + 1));
    }
    if (*place) return base::configuration(fmt::format("{} stands twice", word));
    KL_ASSIGN(*place, read_list(word, words[i].substr(equals + 1)));
  }
  return out;
}

}  // namespace

base::Result<TokenGrants> parse_token_file(std::string_view text) {
  TokenGrants out;
  std::set<std::string> names;
  int number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const auto words = words_of(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    auto grant = read_grant(words);
    if (!grant) return grant.error().with_prefix(fmt::format("line {}", number));
    if (!names.insert(grant->name).second) {
      return base::configuration(
          fmt::format("line {}: the name {} stands twice", number, grant->name));
    }
    if (!out.emplace(base::sha256(words[1]), *std::move(grant)).second) {
      return base::configuration(
          fmt::format("line {}: an earlier line has the same token", number));
    }
  }
  if (out.empty()) return base::configuration("no token in it: nobody could read anything");
  return out;
}

readapi::Verdict TokenAccess::decide(const base::Context& /*context*/,
                                     const readapi::Caller& caller, const readapi::Wish& /*wish*/) {
  using Kind = readapi::Verdict::Kind;
  const std::string token = readapi::bearer_token(caller.authorization);
  if (token.empty()) {
    return {.kind = Kind::kUnauthenticated,
            .message =
                "send the header Authorization: Bearer TOKEN, with a token of the file that "
                "this server was started with"};
  }
  const auto grants = grants_.load();
  const auto found = grants->find(base::sha256(token));
  if (found == grants->end()) {
    return {.kind = Kind::kUnauthenticated, .message = "the token is not known here"};
  }
  return {.kind = Kind::kAllowed,
          .message = {},
          .sight = found->second.sight,
          .user = found->second.name};
}

}  // namespace kollect::serve
