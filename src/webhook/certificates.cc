#include "webhook/certificates.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

namespace kollect::webhook {

namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
};
template <class T>
using Held = std::unique_ptr<T, Free>;

constexpr int kSerialBits = 127;
/// Common name of servers: it may have 64 characters only, and clients read subjectAltName.
constexpr const char* kServerName = "kollect webhook server";

base::Error library_error(std::string_view what) {
  ERR_clear_error();
  return base::terminal(std::string(what));
}

Held<BIO> reader(std::string_view text) {
  return Held<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Held<X509> next_certificate(BIO* bio) {
  Held<X509> read(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
  ERR_clear_error();
  return read;
}

Held<EVP_PKEY> read_key(const base::Secret& pem) {
  // Never asks on a terminal for a password.
  const auto none = [](char*, int, int, void*) { return 0; };
  Held<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader(pem.reveal()).get(), nullptr, none, nullptr));
  ERR_clear_error();
  return key;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

base::Result<KeyPair> to_pem(X509* certificate, EVP_PKEY* key) {
  const Held<BIO> first(BIO_new(BIO_s_mem()));
  // Wiped when it is freed.
  const Held<BIO> second(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return library_error("a certificate cannot be written");
  }
  return KeyPair{text_of(first.get()), base::Secret(text_of(second.get()))};
}

bool set_time(ASN1_TIME* field, base::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  return ASN1_TIME_set(field, static_cast<std::time_t>(seconds)) != nullptr;
}

base::WallTime time_of(const ASN1_TIME* field) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(field, &parts) != 1) return {};
  return base::WallTime(std::chrono::seconds(timegm(&parts)));
}

bool extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Held<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_name(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                                    -1, 0) == 1;
}

/// Serial number, times, key and subject are set, issuer and extensions are not.
Held<X509> blank(const std::string& common_name, const Validity& validity, EVP_PKEY* key) {
  Held<X509> made(X509_new());
  const Held<BIGNUM> serial(BN_new());
  const bool well =
      made && serial && X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(made.get())) != nullptr &&
      set_time(X509_getm_notBefore(made.get()), validity.from) &&
      set_time(X509_getm_notAfter(made.get()), validity.until) &&
      X509_set_pubkey(made.get(), key) == 1 && add_name(made.get(), common_name);
  return well ? std::move(made) : nullptr;
}

std::vector<std::string> dns_names(X509* certificate) {
  std::vector<std::string> found;
  const Held<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    found.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return found;
}

}  // namespace

base::Result<KeyPair> make_authority(const std::string& common_name, const Validity& validity) {
  const Held<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Held<X509> made = key ? blank(common_name, validity, key.get()) : nullptr;
  X509* raw = made.get();
  if (raw == nullptr || X509_set_issuer_name(raw, X509_get_subject_name(raw)) != 1 ||
      !extend(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !extend(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !extend(raw, raw, NID_subject_key_identifier, "hash") ||
      X509_sign(raw, key.get(), EVP_sha256()) == 0) {
    return library_error("no authority could be made");
  }
  return to_pem(raw, key.get());
}

base::Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names,
                            const Validity& validity) {
  const Held<X509> issuer = next_certificate(reader(authority.certificate_pem).get());
  const Held<EVP_PKEY> signing = read_key(authority.key_pem);
  if (!issuer || !signing || names.empty()) {
    return base::configuration("the authority cannot be read, or there are no names");
  }
  const Held<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Held<X509> made = key ? blank(kServerName, validity, key.get()) : nullptr;
  X509* raw = made.get();
  std::string alternatives;
  for (const std::string& name : names) {
    alternatives += (alternatives.empty() ? "DNS:" : ",DNS:") + name;
  }
  if (raw == nullptr || X509_set_issuer_name(raw, X509_get_subject_name(issuer.get())) != 1 ||
      !extend(raw, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !extend(raw, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !extend(raw, issuer.get(), NID_ext_key_usage, "serverAuth") ||
      !extend(raw, issuer.get(), NID_authority_key_identifier, "keyid") ||
      !extend(raw, issuer.get(), NID_subject_alt_name, alternatives) ||
      X509_sign(raw, signing.get(), EVP_sha256()) == 0) {
    return library_error("no certificate could be made");
  }
  return to_pem(raw, key.get());
}

base::Result<std::vector<CertificateFacts>> read_certificates(std::string_view pem) {
  std::vector<CertificateFacts> found;
  const Held<BIO> bio = reader(pem);
  while (const Held<X509> certificate = next_certificate(bio.get())) {
    const Held<BIO> text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(text.get(), certificate.get());
    found.push_back({.pem = text_of(text.get()),
                     .validity = {.from = time_of(X509_get0_notBefore(certificate.get())),
                                  .until = time_of(X509_get0_notAfter(certificate.get()))},
                     .names = dns_names(certificate.get())});
  }
  if (found.empty()) return base::configuration("no certificate in PEM form is in it");
  return found;
}

bool is_pair(const KeyPair& pair) {
  const Held<X509> certificate = next_certificate(reader(pair.certificate_pem).get());
  const Held<EVP_PKEY> key = read_key(pair.key_pem);
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

bool is_signed_by(std::string_view certificate_pem, std::string_view authority_pem) {
  const Held<X509> certificate = next_certificate(reader(certificate_pem).get());
  const Held<X509> authority = next_certificate(reader(authority_pem).get());
  const bool fits = certificate && authority &&
                    X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace kollect::webhook
