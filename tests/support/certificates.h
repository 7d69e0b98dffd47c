// Self-made certificates for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace kollect::testing {

struct CertificateAndKey {
  std::string cert_pem;
  std::string key_pem;
};

/// An authority made on the spot; its key lives as long as it.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority");
  ~TestAuthority();

  [[nodiscard]] const std::string& pem() const { return pem_; }
  /// `names` as in "DNS:example.test" and "IP:127.0.0.1"; used as subjectAltName when not empty.
  [[nodiscard]] CertificateAndKey issue(const std::string& common_name,
                                        const std::vector<std::string>& names = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string pem_;
};

}  // namespace kollect::testing
