#include "sinks/google/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/json/write.h"

namespace kollect::sinks::google {

namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
};
template <class T>
using Held = std::unique_ptr<T, Free>;

base::Result<Held<EVP_PKEY>> read_key(const base::Secret& pem) {
  const std::string& text = pem.reveal();
  const Held<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // Never asks on a terminal for a password.
  const auto none = [](char*, int, int, void*) { return 0; };
  Held<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, none, nullptr));
  ERR_clear_error();
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) {
    return base::configuration("private_key is not an RSA key in PEM form");
  }
  return key;
}

}  // namespace

std::string base64url(std::string_view bytes) {
  std::string text = base::base64_encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

base::Result<> check_rsa_key(const base::Secret& pem) {
  KL_TRY(read_key(pem));
  return {};
}

base::Result<base::Secret> sign_rs256(const base::Secret& pem, const std::string& key_id,
                                      const base::json::Object& claims) {
  KL_ASSIGN(const Held<EVP_PKEY> key, read_key(pem));
  base::json::Object header;
  header.set("alg", "RS256");
  header.set("typ", "JWT");
  if (!key_id.empty()) header.set("kid", key_id);
  std::string text = base64url(base::json::compact(base::json::Value(header))) + "." +
                     base64url(base::json::compact(base::json::Value(claims)));
  const Held<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  std::string signature;
  bool well = context &&
              EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  if (well) {
    signature.resize(size);
    well = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                          bytes, text.size()) == 1;
  }
  ERR_clear_error();
  if (!well) return base::terminal("the assertion cannot be signed with private_key");
  signature.resize(size);
  return base::Secret(text + "." + base64url(signature));
}

}  // namespace kollect::sinks::google
