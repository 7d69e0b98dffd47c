// Hashes and encodings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::base {

/// SHA-256.
std::array<unsigned char, 32> sha256(std::string_view bytes);
/// Lower-case hex SHA-256, 64 digits.
std::string sha256_hex(std::string_view bytes);
/// HMAC with SHA-256 (RFC 2104).
std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes);
/// SHA-256 over pieces; for documents that are never in memory as a whole.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  /// Lower-case hex; the object must not be used afterwards.
  std::string finish_hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t xxh64(std::string_view bytes);
/// XXH3 with 128 bits; equal bytes give equal hashes on every machine.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};
Hash128 xxh3_128(std::string_view bytes);
/// Version-5 UUID (RFC 4122) of `name` in the name space `name_space` (textual UUID).
std::string uuid_v5(std::string_view name_space, std::string_view name);

std::string base64_encode(std::string_view bytes);
/// Standard alphabet; white space is ignored when `lenient`. Error: configuration.
Result<std::string> base64_decode(std::string_view text, bool lenient = true);
std::string hex_encode(std::string_view bytes);
/// Percent-encodes everything but RFC 3986 unreserved characters.
std::string percent_encode(std::string_view text);
Result<std::string> percent_decode(std::string_view text);

}  // namespace kollect::base
