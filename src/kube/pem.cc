#include "kube/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace kollect::kube {

namespace {

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct X509Deleter {
  void operator()(X509* cert) const { X509_free(cert); }
};
struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;
using Certificate = std::unique_ptr<X509, X509Deleter>;

// Never asks on a terminal for a password.
int no_password(char* /*buffer*/, int /*size*/, int /*rwflag*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

Certificate first_certificate(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate cert(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return cert;
}

}  // namespace

base::Result<> check_authorities(const std::string& pem) {
  if (first_certificate(pem) == nullptr) {
    return base::configuration("no certificate in PEM form is in it");
  }
  return {};
}

base::Result<> check_pair(const std::string& cert_pem, const base::Secret& key_pem) {
  const Certificate cert = first_certificate(cert_pem);
  if (cert == nullptr) return base::configuration("the client certificate is not in PEM form");
  const std::string& key_text = key_pem.reveal();
  const Bio bio(BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size())));
  bool asked = false;
  const std::unique_ptr<EVP_PKEY, KeyDeleter> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, &asked));
  ERR_clear_error();
  if (asked) return base::configuration("the client key is encrypted; use one without a password");
  if (key == nullptr) return base::configuration("the client key is not in PEM form");
  const bool fits = X509_check_private_key(cert.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) return base::configuration("client certificate and client key do not belong together");
  return {};
}

std::optional<base::WallTime> valid_until(const std::string& cert_pem) {
  const Certificate cert = first_certificate(cert_pem);
  if (cert == nullptr) return std::nullopt;
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(cert.get()), &parts) != 1) return std::nullopt;
  return base::WallTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace kollect::kube
