// IP addresses as texts (formats: RFC 4291, RFC 5952).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kollect::cel {

struct Address {
  std::array<std::uint8_t, 16> bytes = {};  ///< network order; IPv4 in the first four
  bool v6 = false;
};

/// Dotted IPv4 without leading zeros, or IPv6 without zone.
std::optional<Address> parse_address(std::string_view text);
/// IPv4 written as IPv6 ("::ffff:1.2.3.4").
bool is_mapped(const Address& address);

}  // namespace kollect::cel
