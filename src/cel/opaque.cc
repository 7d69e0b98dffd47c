#include "cel/opaque.h"

#include <fmt/format.h>

namespace kollect::cel {

std::string_view opaque_type_name(OpaqueKind kind) {
  constexpr std::string_view kNames[] = {
      "kubernetes.Quantity", "kubernetes.URL",        "net.IP", "net.CIDR",
      "kubernetes.Semver",   "kubernetes.NamedFormat"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t opaque_length(const Opaque& value) {
  switch (value.kind) {
    case OpaqueKind::kUrl:
      return static_cast<const Url&>(value).text.size();
    case OpaqueKind::kSemver: {
      const auto& version = static_cast<const Semver&>(value);
      return version.prerelease.size() + version.build.size();
    }
    default:
      return 0;
  }
}

bool equal_opaque(const Opaque& a, const Opaque& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case OpaqueKind::kQuantity:
      return static_cast<const Quantity&>(a).nanos == static_cast<const Quantity&>(b).nanos;
    case OpaqueKind::kUrl:
      return static_cast<const Url&>(a).text == static_cast<const Url&>(b).text;
    case OpaqueKind::kIp: {
      const auto& x = static_cast<const IpAddress&>(a);
      const auto& y = static_cast<const IpAddress&>(b);
      return x.v6 == y.v6 && x.bytes == y.bytes;
    }
    case OpaqueKind::kCidr: {
      const auto& x = static_cast<const Cidr&>(a);
      const auto& y = static_cast<const Cidr&>(b);
      return x.v6 == y.v6 && x.bytes == y.bytes && x.prefix == y.prefix;
    }
    case OpaqueKind::kSemver:
      return compare_semver(static_cast<const Semver&>(a), static_cast<const Semver&>(b)) == 0;
    case OpaqueKind::kFormat:
      return static_cast<const NamedFormat&>(a).index == static_cast<const NamedFormat&>(b).index;
  }
  return false;
}

std::string opaque_text(const Opaque& value) {
  switch (value.kind) {
    case OpaqueKind::kQuantity:
      return quantity_text(static_cast<const Quantity&>(value));
    case OpaqueKind::kUrl:
      return std::string(static_cast<const Url&>(value).text);
    case OpaqueKind::kIp: {
      const auto& ip = static_cast<const IpAddress&>(value);
      return address_text(ip.bytes, ip.v6);
    }
    case OpaqueKind::kCidr: {
      const auto& cidr = static_cast<const Cidr&>(value);
      return fmt::format("{}/{}", address_text(cidr.bytes, cidr.v6), cidr.prefix);
    }
    case OpaqueKind::kSemver:
      return semver_text(static_cast<const Semver&>(value));
    case OpaqueKind::kFormat:
      return std::string(format_name(static_cast<const NamedFormat&>(value)));
  }
  return {};
}

}  // namespace kollect::cel
