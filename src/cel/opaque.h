// Values of the Kubernetes libraries: quantity, URL, IP address, CIDR, semantic version, named
// format.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace kollect::cel {

__extension__ using Int128 = __int128;

/// An exact number of billionths, kept with the style of its suffix for printing. At most some
/// 9.2e27 whole units.
struct Quantity : Opaque {
  enum class Style : std::uint8_t { kDecimal, kBinary, kExponent };
  Int128 nanos = 0;
  Style style = Style::kDecimal;
};

/// Parts of a parsed URL; the texts live in the arena.
struct Url : Opaque {
  std::string_view text;    ///< normal form
  std::string_view scheme;  ///< lower case
  std::string_view host;    ///< with port, escapes decoded
  std::string_view path;    ///< escaped
  std::string_view query;   ///< as written
};

struct IpAddress : Opaque {
  std::array<std::uint8_t, 16> bytes = {};  ///< network order; IPv4 in the first four
  bool v6 = false;
};

struct Cidr : Opaque {
  std::array<std::uint8_t, 16> bytes = {};
  bool v6 = false;
  std::uint8_t prefix = 0;
};

struct Semver : Opaque {
  std::uint64_t major_number = 0;
  std::uint64_t minor_number = 0;
  std::uint64_t patch = 0;
  std::string_view prerelease;  ///< without '-'
  std::string_view build;       ///< without '+'
};

struct NamedFormat : Opaque {
  std::uint8_t index = 0;  ///< into the table of formats
};

std::string_view opaque_type_name(OpaqueKind kind);
/// Bytes of the texts that the value holds.
std::size_t opaque_length(const Opaque& value);
/// Same kind and same value.
bool equal_opaque(const Opaque& a, const Opaque& b);
/// Canonical text (spec: extraction 4, CEL to JSON).
std::string opaque_text(const Opaque& value);

std::string quantity_text(const Quantity& quantity);
std::string address_text(const std::array<std::uint8_t, 16>& bytes, bool v6);
std::string semver_text(const Semver& version);
/// True for an absolute URI or an absolute path (RFC 3986).
bool is_uri(std::string_view text);
int compare_semver(const Semver& a, const Semver& b);
std::string_view format_name(const NamedFormat& format);

/// The opaque value behind `value` when it is of kind T, else nullptr.
template <class T>
const T* opaque_as(const Value& value, OpaqueKind kind) {
  return value.kind == Kind::kOpaque && value.opaque->kind == kind
             ? static_cast<const T*>(value.opaque)
             : nullptr;
}

}  // namespace kollect::cel
