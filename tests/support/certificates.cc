#include "support/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>

namespace kollect::testing {

namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

std::string drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* cert) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), cert);
  return drain(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return drain(bio.get());
}

void extend(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  X509_add_ext(cert, extension.get(), -1);
}

Certificate blank_certificate(const std::string& name, EVP_PKEY* key) {
  static std::atomic<long> serial = 1000;
  Certificate cert(X509_new());
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 24L * 3600);
  X509_set_pubkey(cert.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return cert;
}

}  // namespace

struct TestAuthority::Impl {
  Key key;
  Certificate cert;
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key.reset(EVP_EC_gen("P-256"));
  impl_->cert = blank_certificate(name, impl_->key.get());
  X509* cert = impl_->cert.get();
  X509_set_issuer_name(cert, X509_get_subject_name(cert));
  extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
  extend(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  X509_sign(cert, impl_->key.get(), EVP_sha256());
  pem_ = pem_of(cert);
}

TestAuthority::~TestAuthority() = default;

CertificateAndKey TestAuthority::issue(const std::string& common_name,
                                       const std::vector<std::string>& names) const {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate cert = blank_certificate(common_name, key.get());
  X509_set_issuer_name(cert.get(), X509_get_subject_name(impl_->cert.get()));
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  if (!list.empty()) extend(cert.get(), impl_->cert.get(), NID_subject_alt_name, list);
  X509_sign(cert.get(), impl_->key.get(), EVP_sha256());
  return {pem_of(cert.get()), pem_of(key.get())};
}

}  // namespace kollect::testing
