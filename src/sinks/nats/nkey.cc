#include "sinks/nats/nkey.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::nats {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr unsigned char kSeedPrefix = 18U << 3U;  // 'S'
constexpr unsigned char kUserPrefix = 20U << 3U;  // 'U'
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSeedBytes = 2 + kKeyBytes + 2;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

/// CRC-16/XMODEM.
std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const unsigned char byte : bytes) {
    crc ^= static_cast<unsigned>(byte) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xFFFFU;
    }
  }
  return static_cast<std::uint16_t>(crc);
}

std::optional<std::string> base32_decode(std::string_view text) {
  std::string out;
  unsigned buffer = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    buffer = (buffer << 5U) | static_cast<unsigned>(value);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>((buffer >> bits) & 0xFFU);
    buffer &= (1U << bits) - 1;
  }
  return out;
}

std::string base32_encode(std::string_view bytes) {
  std::string out;
  unsigned buffer = 0;
  unsigned bits = 0;
  for (const unsigned char byte : bytes) {
    buffer = (buffer << 8U) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += kAlphabet[(buffer >> bits) & 31U];
    }
    buffer &= (1U << bits) - 1;
  }
  if (bits > 0) out += kAlphabet[(buffer << (5 - bits)) & 31U];
  return out;
}

base::Error bad_seed() {
  return base::configuration("nats: the nkey seed of the Secret is not one of a user (SU...)",
                             "bad-secret");
}

Key private_key(const base::Secret& raw) {
  return Key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(raw.reveal().data()),
      raw.reveal().size()));
}

/// The text between two lines of dashes around `label`.
std::optional<std::string_view> block(std::string_view file, std::string_view label) {
  const auto begin = file.find("BEGIN " + std::string(label));
  if (begin == std::string_view::npos) return std::nullopt;
  const auto line = file.find('\n', begin);
  if (line == std::string_view::npos) return std::nullopt;
  const auto end = file.find("-----", line);
  return base::trim(file.substr(line, end == std::string_view::npos ? end : end - line));
}

}  // namespace

base::Result<NKey> NKey::from_seed(const base::Secret& seed) {
  const auto decoded = base32_decode(base::trim(seed.reveal()));
  if (!decoded || decoded->size() != kSeedBytes) return bad_seed();
  const base::Secret bytes(*decoded);
  const std::string& raw = bytes.reveal();
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(raw[at]); };
  const std::string_view content(raw.data(), kSeedBytes - 2);
  const auto sum = static_cast<std::uint16_t>(byte(kSeedBytes - 2) | byte(kSeedBytes - 1) << 8U);
  const auto kind = static_cast<unsigned char>((byte(0) & 7U) << 5U | (byte(1) & 0xF8U) >> 3U);
  if ((byte(0) & 0xF8U) != kSeedPrefix || kind != kUserPrefix || crc16(content) != sum) {
    return bad_seed();
  }
  NKey out;
  out.raw_ = base::Secret(raw.substr(2, kKeyBytes));
  const Key key = private_key(out.raw_);
  std::array<unsigned char, kKeyBytes> known{};
  std::size_t size = known.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), known.data(), &size) != 1) return bad_seed();
  std::string text(1, static_cast<char>(kUserPrefix));
  text.append(reinterpret_cast<const char*>(known.data()), size);
  const std::uint16_t own = crc16(text);
  text += static_cast<char>(own & 0xFFU);
  text += static_cast<char>(own >> 8U);
  out.public_key_ = base32_encode(text);
  return out;
}

base::Result<std::string> NKey::sign(std::string_view nonce) const {
  const Key key = private_key(raw_);
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> digest(EVP_MD_CTX_new());
  std::array<unsigned char, 64> signature{};
  std::size_t size = signature.size();
  if (!key || !digest ||
      EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(digest.get(), signature.data(), &size,
                     reinterpret_cast<const unsigned char*>(nonce.data()), nonce.size()) != 1) {
    return base::terminal("nats: the server's nonce cannot be signed");
  }
  std::string text = base::base64_encode({reinterpret_cast<const char*>(signature.data()), size});
  text = base::replace_all(base::replace_all(std::move(text), "+", "-"), "/", "_");
  while (text.ends_with('=')) text.pop_back();
  return text;
}

base::Result<Credentials> read_credentials(const base::Secret& file) {
  const auto jwt = block(file.reveal(), "NATS USER JWT");
  const auto seed = block(file.reveal(), "USER NKEY SEED");
  if (!jwt || jwt->empty() || !seed || seed->empty()) {
    return base::configuration(
        "nats: creds of the Secret is not a credentials file: it needs the blocks NATS USER JWT "
        "and "
        "USER NKEY SEED",
        "bad-secret");
  }
  return Credentials{.jwt = base::Secret(std::string(*jwt)),
                     .seed = base::Secret(std::string(*seed))};
}

}  // namespace kollect::sinks::nats
