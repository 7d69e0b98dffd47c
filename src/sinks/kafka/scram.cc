#include "sinks/kafka/scram.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::kafka {

namespace {

/// RFC 7677 asks for 4096 at least; a server that asks for far more would hold us up.
constexpr int kFewestRounds = 4096;
constexpr int kMostRounds = 200'000;

base::Error bad(std::string_view why) {
  return base::denied(fmt::format("SCRAM: {}", why), "auth");
}

const EVP_MD* hash_of(bool long_hash) {
  return long_hash ? EVP_sha512() : EVP_sha256();
}

std::string hmac(const EVP_MD* hash, std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  HMAC(hash, key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string digest(const EVP_MD* hash, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), out.data(), &size, hash, nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

/// Value of "<name>=..." among the comma-separated parts.
std::string_view part(std::string_view message, char name) {
  for (const auto one : base::split(message, ',')) {
    if (one.size() >= 2 && one[0] == name && one[1] == '=') return one.substr(2);
  }
  return {};
}

}  // namespace

Scram::Scram(std::string_view mechanism, std::string_view username, base::Secret password,
             std::string nonce)
    : long_hash_(mechanism == "SCRAM-SHA-512"),
      password_(std::move(password)),
      nonce_(std::move(nonce)) {
  std::string name = base::replace_all(std::string(username), "=", "=3D");
  name = base::replace_all(std::move(name), ",", "=2C");
  bare_ = fmt::format("n={},r={}", name, nonce_);
}

std::string Scram::new_nonce() {
  std::array<unsigned char, 18> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return base::base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string Scram::first() const {
  return "n,," + bare_;
}

base::Result<std::string> Scram::final(std::string_view server_first) {
  const auto nonce = part(server_first, 'r');
  const auto salt = base::base64_decode(part(server_first, 's'), false);
  const auto rounds_text = part(server_first, 'i');
  int rounds = 0;
  std::from_chars(rounds_text.data(), rounds_text.data() + rounds_text.size(), rounds);
  if (!nonce.starts_with(nonce_) || nonce.size() == nonce_.size() || !salt || salt->empty()) {
    return bad("the broker's answer is not one to our question");
  }
  if (rounds < kFewestRounds || rounds > kMostRounds) {
    return bad(fmt::format("the broker asks for {} iterations; {} to {} are accepted", rounds,
                           kFewestRounds, kMostRounds));
  }
  const EVP_MD* hash = hash_of(long_hash_);
  std::string salted(static_cast<std::size_t>(EVP_MD_get_size(hash)), '\0');
  const std::string& password = password_.reveal();
  PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                    reinterpret_cast<const unsigned char*>(salt->data()),
                    static_cast<int>(salt->size()), rounds, hash, static_cast<int>(salted.size()),
                    reinterpret_cast<unsigned char*>(salted.data()));
  const std::string without_proof = fmt::format("c=biws,r={}", nonce);
  const std::string all = fmt::format("{},{},{}", bare_, server_first, without_proof);
  std::string proof = hmac(hash, salted, "Client Key");
  const std::string signature = hmac(hash, digest(hash, proof), all);
  for (std::size_t i = 0; i < proof.size(); ++i) {
    proof[i] = static_cast<char>(proof[i] ^ signature[i]);
  }
  server_signature_ = hmac(hash, hmac(hash, salted, "Server Key"), all);
  OPENSSL_cleanse(salted.data(), salted.size());
  return fmt::format("{},p={}", without_proof, base::base64_encode(proof));
}

base::Result<> Scram::check(std::string_view server_final) const {
  const auto signature = base::base64_decode(part(server_final, 'v'), false);
  if (!signature || server_signature_.empty() || signature->size() != server_signature_.size() ||
      CRYPTO_memcmp(signature->data(), server_signature_.data(), signature->size()) != 0) {
    return bad("the broker does not know the password itself");
  }
  return {};
}

}  // namespace kollect::sinks::kafka
