#include "fleet/tokens.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/hash.h"
#include "base/strings.h"
#include "base/yaml/read.h"

namespace kollect::fleet {

using base::json::Object;
using base::json::Value;

namespace {

constexpr std::size_t kHashDigits = 64;

/// Takes as long for hashes that differ early as for those that differ late.
bool same_hash(const std::array<unsigned char, 32>& a, const std::array<unsigned char, 32>& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

/// Of 64 digits.
std::array<unsigned char, 32> from_hex(std::string_view digits) {
  std::array<unsigned char, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size() && 2 * i + 1 < digits.size(); ++i) {
    std::from_chars(&digits[2 * i], &digits[2 * i] + 2, bytes[i], 16);
  }
  return bytes;
}

/// What stands behind "SCHEME ".
std::optional<std::string_view> credentials(std::string_view header, std::string_view scheme) {
  if (header.size() <= scheme.size() + 1 || header[scheme.size()] != ' ' ||
      !base::iequals(header.substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  return header.substr(scheme.size() + 1);
}

bool allows(const Token& token, const Need& need) {
  if (std::ranges::find(token.roles, need.role) == token.roles.end()) return false;
  return token.cluster_dns.empty() || need.cluster_dns == token.cluster_dns;
}

base::Result<Token> read_token(const Object& entry) {
  Token token;
  for (const auto& [key, value] : entry) {
    if (key == "roles" && value.is_array()) {
      for (const Value& one : value.as_array()) {
        const auto role = one.is_string() ? role_of(one.as_string()) : std::nullopt;
        if (!role) return base::configuration("roles: each is reader, writer or auditor");
        token.roles.push_back(*role);
      }
      continue;
    }
    std::string* into = key == "name"          ? &token.name
                        : key == "sha256"      ? &token.sha256
                        : key == "cluster_dns" ? &token.cluster_dns
                                               : nullptr;
    if (into == nullptr && key != "roles") {
      return base::configuration(key + ": there is no such member");
    }
    if (into == nullptr) return base::configuration("roles: must be a list");
    if (!value.is_string() || value.as_string().empty()) {
      return base::configuration(key + ": must be a text that is not empty");
    }
    *into = value.as_string();
  }
  if (token.name.empty()) return base::configuration("name: is missing");
  if (token.roles.empty()) return base::configuration("roles: is missing");
  token.sha256 = base::to_lower(token.sha256);
  if (token.sha256.size() != kHashDigits ||
      token.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return base::configuration("sha256: must be the 64 hex digits of the token's hash");
  }
  if (!token.cluster_dns.empty() && token.roles != std::vector{Role::kReader}) {
    return base::configuration("cluster_dns: such a token has the role reader alone");
  }
  return token;
}

}  // namespace

std::optional<Role> role_of(std::string_view text) {
  if (text == "reader") return Role::kReader;
  if (text == "writer") return Role::kWriter;
  if (text == "auditor") return Role::kAuditor;
  return std::nullopt;
}

Tokens::Tokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  for (const Token& token : tokens_) {
    const Hash hash = from_hex(token.sha256);
    by_hash_.emplace(first_bytes(hash), Entry{.hash = hash, .token = &token});
  }
}

std::uint64_t Tokens::first_bytes(const Hash& hash) {
  std::uint64_t first = 0;
  std::memcpy(&first, hash.data(), sizeof first);
  return first;
}

Verdict Tokens::judge(std::string_view authorization, const Need& need) const {
  const std::string_view header = base::trim(authorization);
  std::string_view secret;
  std::string decoded;
  if (const auto bearer = credentials(header, "bearer")) {
    secret = *bearer;
  } else if (const auto basic = credentials(header, "basic")) {
    decoded = base::base64_decode(base::trim(*basic), false).value_or("");
    const std::size_t colon = decoded.find(':');
    if (colon != std::string::npos) secret = std::string_view(decoded).substr(colon + 1);
  }
  if (secret.empty()) return {};
  const Hash hash = base::sha256(secret);
  Verdict verdict;
  const auto [first, last] = by_hash_.equal_range(first_bytes(hash));
  for (auto found = first; found != last; ++found) {
    if (!same_hash(found->second.hash, hash)) continue;
    const Token& token = *found->second.token;
    if (allows(token, need)) return {.status = 200, .name = token.name};
    if (!token.unknown_elsewhere) verdict = {.status = 403, .name = token.name};
  }
  return verdict;
}

Verdict Tokens::judge(const http::ServerRequest& request, const Need& need) const {
  const auto is_authorization = [](const auto& header) { return header.first == "authorization"; };
  if (std::ranges::count_if(request.headers, is_authorization) != 1) return {};
  return judge(*request.header("authorization"), need);
}

Tokens all_tokens(const PlainTokens& plain, std::optional<std::vector<Token>> of_file) {
  const bool alone = !of_file;
  std::vector<Token> tokens = std::move(of_file).value_or(std::vector<Token>{});
  const auto add = [&](const char* name, std::vector<Role> roles,
                       const std::optional<base::Secret>& secret) {
    if (!secret || secret->empty()) return;
    tokens.push_back({.name = name,
                      .roles = std::move(roles),
                      .cluster_dns = {},
                      .sha256 = base::sha256_hex(secret->reveal()),
                      .unknown_elsewhere = alone});
  };
  add("reader", alone ? std::vector{Role::kReader, Role::kAuditor} : std::vector{Role::kReader},
      plain.read);
  add("writer", {Role::kWriter}, plain.write);
  return Tokens(std::move(tokens));
}

base::Result<std::vector<Token>> parse_tokens(std::string_view text) {
  base::yaml::Limits limits;
  limits.max_nodes = 4'000'000;  // a token for every cluster of a large fleet
  KL_ASSIGN(const Value file, base::yaml::read_one(text, limits));
  const Value* list = file.find("tokens");
  if (list == nullptr || !list->is_array() || file.as_object().size() != 1) {
    return base::configuration("a tokens file has one member, the list \"tokens\"");
  }
  std::vector<Token> tokens;
  for (const Value& entry : list->as_array()) {
    auto token = entry.is_object() ? read_token(entry.as_object())
                                   : base::Result<Token>(base::configuration("must be an object"));
    if (!token) {
      return token.error().with_prefix(
          fmt::format("tokens[{}]{}", tokens.size(),
                      entry.text("name").empty() ? "" : fmt::format(" ({})", entry.text("name"))));
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

base::Secret make_token() {
  constexpr std::size_t kBytes = 32;
  std::string bytes(kBytes, '\0');
  std::size_t have = 0;
  while (have < kBytes) {
    const ssize_t more = ::getrandom(bytes.data() + have, kBytes - have, 0);
    if (more > 0) have += static_cast<std::size_t>(more);
  }
  return base::Secret("kft_" + base::hex_encode(bytes));
}

}  // namespace kollect::fleet
