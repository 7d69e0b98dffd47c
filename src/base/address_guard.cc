#include "base/address_guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::base {

namespace {

using V6 = std::array<std::uint8_t, 16>;

/// What lifts a refusal.
enum class Lift { kNothing, kPrivate, kLoopback };

struct Range4 {
  std::uint32_t network;
  int bits;
  std::string_view name;
  Lift lift = Lift::kNothing;
  bool dial_only = false;  // refused when dialled, not where a host is written (spec: crds 4.9)
};

constexpr std::array<Range4, 12> kRanges4 = {{
    {0x7F000000U, 8, "loopback address", Lift::kLoopback},
    {0xA9FE0000U, 16, "link-local address"},
    {0x64400000U, 10, "shared address space 100.64.0.0/10"},
    {0xC6120000U, 15, "benchmark address space 198.18.0.0/15"},
    {0x00000000U, 8, "unspecified address"},
    {0xE0000000U, 24, "link-local multicast address"},
    {0xE0000000U, 4, "multicast address", Lift::kNothing, true},
    {0xFFFFFFFFU, 32, "broadcast address", Lift::kNothing, true},
    {0x0A000000U, 8, "private address", Lift::kPrivate},
    {0xAC100000U, 12, "private address", Lift::kPrivate},
    {0xC0A80000U, 16, "private address", Lift::kPrivate},
    {0xC0000000U, 24, "protocol address space 192.0.0.0/24", Lift::kPrivate, true},
}};

struct Refused {
  std::string_view range;
  Lift lift = Lift::kNothing;
};

std::string_view remedy(Lift lift) {
  switch (lift) {
    case Lift::kPrivate:
      return "it needs --allow-private-sinks";
    case Lift::kLoopback:
      return "it needs --allow-loopback-sinks";
    case Lift::kNothing:
      break;
  }
  return "no flag allows it";
}

std::optional<std::string> with_host(std::string_view text, const std::optional<Refused>& refused) {
  if (!refused) return std::nullopt;
  return fmt::format("{} ({}) is not allowed: {}", text, refused->range, remedy(refused->lift));
}

std::optional<std::string> without_host(const std::optional<Refused>& refused) {
  if (!refused) return std::nullopt;
  return fmt::format("{}: {}", refused->range, remedy(refused->lift));
}

/// What is lifted.
struct Policy {
  bool allow_private = false;
  bool allow_loopback = false;
  [[nodiscard]] std::optional<Refused> judge(std::string_view range, Lift lift) const {
    const bool lifted =
        (lift == Lift::kPrivate && allow_private) || (lift == Lift::kLoopback && allow_loopback);
    return lifted ? std::nullopt : std::optional(Refused{.range = range, .lift = lift});
  }
};

/// How strict the literal is judged: as written in a manifest, or as about to be dialled.
enum class Stage { kWritten, kDialled };

std::optional<Refused> refuse_v4(std::uint32_t address, Policy policy, Stage stage) {
  for (const Range4& range : kRanges4) {
    const std::uint32_t mask = ~std::uint32_t{0} << static_cast<unsigned>(32 - range.bits);
    if ((address & mask) != range.network) continue;
    if (range.dial_only && stage == Stage::kWritten) continue;
    if (const auto refused = policy.judge(range.name, range.lift)) return refused;
  }
  return std::nullopt;
}

std::uint32_t v4_at(const V6& bytes, std::size_t at) {
  return (std::uint32_t{bytes[at]} << 24U) | (std::uint32_t{bytes[at + 1]} << 16U) |
         (std::uint32_t{bytes[at + 2]} << 8U) | std::uint32_t{bytes[at + 3]};
}

/// The IPv4 address inside IPv4-mapped (RFC 4291), IPv4-compatible, NAT64 (RFC 6052, RFC 8215) and
/// 6to4 (RFC 3056) forms, none for all others.
std::optional<std::uint32_t> embedded_v4(const V6& bytes) {
  constexpr V6 kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  constexpr V6 kNat64 = {0x00, 0x64, 0xFF, 0x9B};
  constexpr V6 kLocalNat64 = {0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01};
  const auto begins = [&](const V6& prefix, std::size_t size) {
    return std::memcmp(bytes.data(), prefix.data(), size) == 0;
  };
  if (begins(kMapped, 12) || begins(kNat64, 12) || begins(kLocalNat64, 6)) {
    return v4_at(bytes, 12);
  }
  if (begins(V6{}, 12) && v4_at(bytes, 12) > 1) {  // "::" and "::1" are judged as IPv6
    return v4_at(bytes, 12);
  }
  if (bytes[0] == 0x20 && bytes[1] == 0x02) {
    return v4_at(bytes, 2);
  }
  return std::nullopt;
}

std::optional<Refused> refuse_v6(const V6& bytes, Policy policy, Stage stage) {
  if (const auto v4 = embedded_v4(bytes)) {
    return refuse_v4(*v4, policy, stage);
  }
  constexpr V6 kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr V6 kMetadata = {0xFD, 0x00, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  if (bytes == kLoopback) {
    return policy.judge("loopback address", Lift::kLoopback);
  }
  if (bytes == V6{}) {
    return policy.judge("unspecified address", Lift::kNothing);
  }
  if (bytes == kMetadata) {
    return policy.judge("metadata service address", Lift::kNothing);
  }
  if (bytes[0] == 0xFE && (bytes[1] & 0xC0U) == 0x80U) {
    return policy.judge("link-local address", Lift::kNothing);
  }
  const bool link_local_multicast = (bytes[1] & 0x0FU) == 0x02;
  if (bytes[0] == 0xFF && (stage == Stage::kDialled || link_local_multicast)) {
    return policy.judge("multicast address", Lift::kNothing);
  }
  if ((bytes[0] & 0xFEU) == 0xFCU) {
    return policy.judge("private address", Lift::kPrivate);
  }
  return std::nullopt;
}

/// Reason for an IP literal; outer none: the text is no literal.
std::optional<std::optional<Refused>> judge_literal(std::string_view text, Policy policy,
                                                    Stage stage) {
  std::string bare(text);
  if (bare.size() >= 2 && bare.front() == '[' && bare.back() == ']') {
    bare = bare.substr(1, bare.size() - 2);
  }
  bare = bare.substr(0, bare.find('%'));  // an IPv6 zone does not change what is reached
  in_addr v4{};
  if (inet_pton(AF_INET, bare.c_str(), &v4) == 1) {
    return refuse_v4(ntohl(v4.s_addr), policy, stage);
  }
  V6 v6{};
  if (inet_pton(AF_INET6, bare.c_str(), v6.data()) == 1) {
    return refuse_v6(v6, policy, stage);
  }
  return std::nullopt;
}

/// Lower case without outer blanks and dots.
std::string normal_host(std::string_view host) {
  host = trim(host);
  while (!host.empty() && (host.front() == '.' || host.front() == ' ')) {
    host.remove_prefix(1);
  }
  while (!host.empty() && (host.back() == '.' || host.back() == ' ')) {
    host.remove_suffix(1);
  }
  return to_lower(host);
}

bool is_scheme(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text.front())) {
    return false;
  }
  for (const char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

std::optional<Refused> judge_host(std::string_view name, Policy policy) {
  constexpr std::array<std::string_view, 4> kMetadata = {
      "metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"};
  if (std::ranges::find(kMetadata, name) != kMetadata.end()) {
    return policy.judge("name of a metadata service", Lift::kNothing);
  }
  if (name == "localhost" || name == "localhost.localdomain" || name.ends_with(".localhost")) {
    return policy.judge("name of this machine", Lift::kLoopback);
  }
  return judge_literal(name, policy, Stage::kWritten).value_or(std::nullopt);
}

std::optional<Refused> judge_address(std::string_view address, Policy policy) {
  const auto verdict = judge_literal(address, policy, Stage::kDialled);
  return verdict ? *verdict : Refused{.range = "not an IP address"};
}

}  // namespace

std::optional<std::string> AddressGuard::refuse_host(std::string_view host) const {
  const std::string name = normal_host(host);
  return with_host(name, judge_host(name, {allow_private_, allow_loopback_}));
}

std::optional<std::string> AddressGuard::refuse_address(std::string_view address) const {
  return with_host(address, judge_address(address, {allow_private_, allow_loopback_}));
}

std::optional<std::string> AddressGuard::refuse_secret_host(std::string_view host) const {
  return without_host(judge_host(normal_host(host), {allow_private_, allow_loopback_}));
}

std::optional<std::string> AddressGuard::refuse_secret_address(std::string_view address) const {
  return without_host(judge_address(address, {allow_private_, allow_loopback_}));
}

std::optional<std::string> AddressGuard::refuse_url(std::string_view url) const {
  url = trim(url);
  const auto colon = url.find(':');
  if (colon == std::string_view::npos || !is_scheme(url.substr(0, colon))) {
    return std::nullopt;
  }
  if (iequals(url.substr(0, colon), "file")) {
    return "file URLs are not allowed: only an operator with --allow-local-sinks takes them";
  }
  std::string_view rest = url.substr(colon + 1);
  if (!rest.starts_with("//")) {
    return std::nullopt;
  }
  rest.remove_prefix(2);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
  if (const auto sign = authority.rfind('@'); sign != std::string_view::npos) {
    authority.remove_prefix(sign + 1);
  }
  std::string_view host = authority;
  if (authority.starts_with('[')) {
    host = authority.substr(0, authority.find(']') + 1);
  } else if (const auto port = authority.rfind(':'); port != std::string_view::npos) {
    host = authority.substr(0, port);
  }
  if (host.empty()) {
    return std::nullopt;
  }
  // Clients decode "%31" in a host, so it is judged decoded; a zone ("%eth0") is no valid escape.
  const auto decoded = percent_decode(host);
  return refuse_host(decoded ? std::string_view(*decoded) : host);
}

}  // namespace kollect::base
