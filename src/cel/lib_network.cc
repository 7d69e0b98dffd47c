// IP addresses and CIDR ranges (formats: RFC 4291, RFC 5952, RFC 4632).
#include <arpa/inet.h>
#include <fmt/format.h>

#include <optional>

#include "cel/address.h"
#include "cel/functions.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

using Bytes = std::array<std::uint8_t, 16>;

/// IPv4 written as IPv6 is refused, since it would be another spelling of the same address.
std::optional<Address> parse_plain(std::string_view text) {
  auto address = parse_address(text);
  if (address && is_mapped(*address)) address.reset();
  return address;
}

struct Range {
  Address address;
  std::uint8_t prefix = 0;
};

std::optional<Range> parse_range(std::string_view text) {
  if (text.size() > 49) return std::nullopt;  // the longest address and "/128"
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_plain(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  if (!address || digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  int prefix = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    prefix = prefix * 10 + (c - '0');
  }
  if (prefix > (address->v6 ? 128 : 32)) return std::nullopt;
  return Range{*address, static_cast<std::uint8_t>(prefix)};
}

/// The bytes with everything behind the first `prefix` bits cleared.
Bytes mask(Bytes bytes, unsigned prefix) {
  for (unsigned n = 0; n < bytes.size(); ++n) {
    if (prefix >= n * 8 + 8) continue;
    const unsigned keep = prefix > n * 8 ? prefix - n * 8 : 0;
    bytes[n] = static_cast<std::uint8_t>(bytes[n] & (0xFF00U >> keep));
  }
  return bytes;
}

Value wrap_ip(Evaluation& evaluation, const Bytes& bytes, bool v6) {
  auto* ip = evaluation.arena().make<IpAddress>();
  if (ip == nullptr) return evaluation.out_of_memory();
  ip->kind = OpaqueKind::kIp;
  ip->bytes = bytes;
  ip->v6 = v6;
  return Value::of_opaque(ip);
}

Value wrap_cidr(Evaluation& evaluation, const Bytes& bytes, bool v6, std::uint8_t prefix) {
  auto* cidr = evaluation.arena().make<Cidr>();
  if (cidr == nullptr) return evaluation.out_of_memory();
  cidr->kind = OpaqueKind::kCidr;
  cidr->bytes = bytes;
  cidr->v6 = v6;
  cidr->prefix = prefix;
  return Value::of_opaque(cidr);
}

const IpAddress* as_ip(const Value& value) {
  return opaque_as<IpAddress>(value, OpaqueKind::kIp);
}
const Cidr* as_cidr(const Value& value) {
  return opaque_as<Cidr>(value, OpaqueKind::kCidr);
}

Value ip(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const auto address = parse_plain(args[0].as_text());
  if (!address) return evaluation.error("the text is no IP address");
  return wrap_ip(evaluation, address->bytes, address->v6);
}

Value is_ip(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  return Value::of_bool(parse_plain(args[0].as_text()).has_value());
}

Value is_canonical(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const auto address = parse_plain(args[0].as_text());
  if (!address) return evaluation.error("the text is no IP address");
  return Value::of_bool(address_text(address->bytes, address->v6) == args[0].as_text());
}

Value family(Evaluation& evaluation, const Value* args, std::size_t) {
  const IpAddress* address = as_ip(args[0]);
  return address == nullptr ? evaluation.no_overload() : Value::of_int(address->v6 ? 6 : 4);
}

bool is_unspecified(const IpAddress& ip) {
  return ip.bytes == Bytes{};
}

bool is_loopback(const IpAddress& ip) {
  Bytes one = {};
  one[15] = 1;
  return ip.v6 ? ip.bytes == one : ip.bytes[0] == 127;
}

bool is_multicast(const IpAddress& ip) {
  return ip.v6 ? ip.bytes[0] == 0xFF : (ip.bytes[0] & 0xF0U) == 0xE0U;
}

bool is_link_local_multicast(const IpAddress& ip) {
  if (ip.v6) return ip.bytes[0] == 0xFF && (ip.bytes[1] & 0x0FU) == 2;
  return ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0;
}

bool is_link_local_unicast(const IpAddress& ip) {
  if (ip.v6) return ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0U) == 0x80U;
  return ip.bytes[0] == 169 && ip.bytes[1] == 254;
}

bool is_global_unicast(const IpAddress& ip) {
  const bool broadcast = !ip.v6 && ip.bytes[0] == 255 && ip.bytes[1] == 255 && ip.bytes[2] == 255 &&
                         ip.bytes[3] == 255;
  return !broadcast && !is_unspecified(ip) && !is_loopback(ip) && !is_multicast(ip) &&
         !is_link_local_unicast(ip);
}

template <bool (*kTest)(const IpAddress&)>
Value test(Evaluation& evaluation, const Value* args, std::size_t) {
  const IpAddress* address = as_ip(args[0]);
  return address == nullptr ? evaluation.no_overload() : Value::of_bool(kTest(*address));
}

Value cidr(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const auto range = parse_range(args[0].as_text());
  if (!range) return evaluation.error("the text is no CIDR range");
  return wrap_cidr(evaluation, range->address.bytes, range->address.v6, range->prefix);
}

Value is_cidr(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  return Value::of_bool(parse_range(args[0].as_text()).has_value());
}

/// True when the bytes lie in the range; of another family nothing does.
bool in_range(const Cidr& range, const Bytes& bytes, bool v6) {
  return range.v6 == v6 && mask(range.bytes, range.prefix) == mask(bytes, range.prefix);
}

Value contains_ip(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  if (range == nullptr) return evaluation.no_overload();
  if (const IpAddress* address = as_ip(args[1])) {
    return Value::of_bool(in_range(*range, address->bytes, address->v6));
  }
  if (args[1].kind != Kind::kString) return evaluation.no_overload();
  const auto address = parse_plain(args[1].as_text());
  if (!address) return evaluation.error("the text is no IP address");
  return Value::of_bool(in_range(*range, address->bytes, address->v6));
}

Value contains_cidr(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  if (range == nullptr) return evaluation.no_overload();
  if (const Cidr* inner = as_cidr(args[1])) {
    return Value::of_bool(inner->prefix >= range->prefix &&
                          in_range(*range, inner->bytes, inner->v6));
  }
  if (args[1].kind != Kind::kString) return evaluation.no_overload();
  const auto inner = parse_range(args[1].as_text());
  if (!inner) return evaluation.error("the text is no CIDR range");
  return Value::of_bool(inner->prefix >= range->prefix &&
                        in_range(*range, inner->address.bytes, inner->address.v6));
}

Value cidr_ip(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  if (range == nullptr) return evaluation.no_overload();
  return wrap_ip(evaluation, range->bytes, range->v6);
}

Value masked(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  if (range == nullptr) return evaluation.no_overload();
  return wrap_cidr(evaluation, mask(range->bytes, range->prefix), range->v6, range->prefix);
}

/// True when no bit behind the prefix is set.
Value is_mask(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  if (range == nullptr) return evaluation.no_overload();
  return Value::of_bool(mask(range->bytes, range->prefix) == range->bytes);
}

Value prefix_length(Evaluation& evaluation, const Value* args, std::size_t) {
  const Cidr* range = as_cidr(args[0]);
  return range == nullptr ? evaluation.no_overload() : Value::of_int(range->prefix);
}

constexpr FunctionEntry kFunctions[] = {
    {"ip", false, ip, "string -> net.IP"},
    {"isIP", false, is_ip, "string -> bool"},
    {"ip.isCanonical", false, is_canonical, "string -> bool"},
    {"family", true, family, "net.IP -> int"},
    {"isUnspecified", true, test<is_unspecified>, "net.IP -> bool"},
    {"isLoopback", true, test<is_loopback>, "net.IP -> bool"},
    {"isLinkLocalMulticast", true, test<is_link_local_multicast>, "net.IP -> bool"},
    {"isLinkLocalUnicast", true, test<is_link_local_unicast>, "net.IP -> bool"},
    {"isGlobalUnicast", true, test<is_global_unicast>, "net.IP -> bool"},
    {"cidr", false, cidr, "string -> net.CIDR"},
    {"isCIDR", false, is_cidr, "string -> bool"},
    {"containsIP", true, contains_ip, "net.CIDR, net.IP -> bool; net.CIDR, string -> bool"},
    {"containsCIDR", true, contains_cidr, "net.CIDR, net.CIDR -> bool; net.CIDR, string -> bool"},
    {"ip", true, cidr_ip, "net.CIDR -> net.IP"},
    {"masked", true, masked, "net.CIDR -> net.CIDR"},
    {"isMask", true, is_mask, "net.CIDR -> bool"},
    {"prefixLength", true, prefix_length, "net.CIDR -> int"},
};

}  // namespace

// IPv6 as RFC 5952 has it: lower case, the longest run of at least two zero groups as "::".
std::string address_text(const std::array<std::uint8_t, 16>& bytes, bool v6) {
  if (!v6) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  std::array<unsigned, 8> groups{};
  for (std::size_t n = 0; n < 8; ++n) groups[n] = bytes[n * 2] * 256U + bytes[n * 2 + 1];
  std::size_t best = 8;
  std::size_t best_length = 1;
  for (std::size_t n = 0; n < 8; ++n) {
    std::size_t length = 0;
    while (n + length < 8 && groups[n + length] == 0) ++length;
    if (length > best_length) {
      best = n;
      best_length = length;
    }
  }
  std::string text;
  for (std::size_t n = 0; n < 8; ++n) {
    if (n == best) {
      text += "::";
      n += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[n]);
  }
  return text;
}

std::optional<Address> parse_address(std::string_view text) {
  // The longest form, IPv6 with IPv4 at its end, has 45 characters.
  if (text.size() > 45 || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  Address address;
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.v6 = true;
  return address;
}

bool is_mapped(const Address& address) {
  constexpr Bytes kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return address.v6 && std::equal(kMapped.begin(), kMapped.begin() + 12, address.bytes.begin());
}

std::span<const FunctionEntry> network_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
