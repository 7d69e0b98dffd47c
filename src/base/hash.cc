#include "base/hash.h"

#include <array>

#include <openssl/evp.h>
#include <xxhash.h>

#include "base/strings.h"

namespace kollect::base {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// 0 to 15, or -1.
int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// 0 to 63, or -1.
int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  if (c == '+') {
    return 62;
  }
  return c == '/' ? 63 : -1;
}

std::string digest(const EVP_MD* method, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, method, nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::array<unsigned char, 32> sha256(std::string_view bytes) {
  // Looked up once: that takes longer than a short text.
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> kMethod(
      EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free);
  std::array<unsigned char, 32> out{};
  EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, kMethod.get(), nullptr);
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  const auto out = sha256(bytes);
  return hex_encode({reinterpret_cast<const char*>(out.data()), out.size()});
}

std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes) {
  constexpr std::size_t kBlock = 64;
  std::string padded(key);
  if (padded.size() > kBlock) {
    const auto shorter = sha256(key);
    padded.assign(reinterpret_cast<const char*>(shorter.data()), shorter.size());
  }
  padded.resize(kBlock, '\0');
  std::string inner;
  std::string outer;
  for (const char c : padded) {
    inner += static_cast<char>(c ^ 0x36);
    outer += static_cast<char>(c ^ 0x5c);
  }
  inner += bytes;
  const auto digested = sha256(inner);
  outer.append(reinterpret_cast<const char*>(digested.data()), digested.size());
  return sha256(outer);
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Sha256::finish_hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context.get(), out.data(), &size);
  return hex_encode({reinterpret_cast<const char*>(out.data()), size});
}

std::uint64_t xxh64(std::string_view bytes) {
  return XXH64(bytes.data(), bytes.size(), 0);
}

Hash128 xxh3_128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

std::string uuid_v5(std::string_view name_space, std::string_view name) {
  std::string input;
  std::string hex;
  for (const char c : name_space) {
    if (hex_value(c) >= 0) {
      hex += c;
    }
  }
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    input += static_cast<char>(hex_value(hex[i]) * 16 + hex_value(hex[i + 1]));
  }
  input += name;
  std::string id = digest(EVP_sha1(), input).substr(0, 16);
  id[6] = static_cast<char>((static_cast<unsigned char>(id[6]) & 0x0FU) | 0x50U);
  id[8] = static_cast<char>((static_cast<unsigned char>(id[8]) & 0x3FU) | 0x80U);
  const std::string text = hex_encode(id);
  return text.substr(0, 8) + "-" + text.substr(8, 4) + "-" + text.substr(12, 4) + "-" +
         text.substr(16, 4) + "-" + text.substr(20);
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned group = (byte(0) << 16U) | (byte(1) << 8U) | byte(2);
    out += kBase64[group >> 18U];
    out += kBase64[(group >> 12U) & 63U];
    out += i + 1 < bytes.size() ? kBase64[(group >> 6U) & 63U] : '=';
    out += i + 2 < bytes.size() ? kBase64[group & 63U] : '=';
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text, bool lenient) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (lenient && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      continue;
    }
    const int value = base64_value(c);
    if (c == '=' && digits >= 2 && digits + padding < 4) {
      ++padding;
      continue;
    }
    if (value < 0 || padding > 0) {
      return configuration("not base64: illegal character");
    }
    group = (group << 6U) | static_cast<unsigned>(value);
    if (++digits == 4) {
      out += static_cast<char>(group >> 16U);
      out += static_cast<char>((group >> 8U) & 0xFFU);
      out += static_cast<char>(group & 0xFFU);
      group = 0;
      digits = 0;
    }
  }
  if (digits + padding != 0 && digits + padding != 4) {
    return configuration("not base64: cut off in the middle of a group");
  }
  if (digits >= 2) {
    group <<= 6U * static_cast<unsigned>(4 - digits);
    out += static_cast<char>(group >> 16U);
    if (digits == 3) {
      out += static_cast<char>((group >> 8U) & 0xFFU);
    }
  }
  return out;
}

std::string hex_encode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out += kHexDigits[static_cast<unsigned char>(c) >> 4U];
    out += kHexDigits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4U];
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15U];
    }
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return configuration("illegal percent escape");
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace kollect::base
