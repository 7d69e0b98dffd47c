// X.509 certificates (RFC 5280) as PEM texts: made and read. Keys are on the curve P-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::webhook {

struct KeyPair {
  std::string certificate_pem;
  base::Secret key_pem;
};

/// From when until when, to the second.
struct Validity {
  base::WallTime from;
  base::WallTime until;
  bool operator==(const Validity&) const = default;
  [[nodiscard]] bool holds(base::WallTime now) const { return from <= now && now < until; }
};

/// An authority that signs itself. Error: terminal (the library refuses).
base::Result<KeyPair> make_authority(const std::string& common_name, const Validity& validity);
/// A certificate of a server with these DNS names, signed by the authority. Errors: configuration
/// (the authority cannot be read), terminal.
base::Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names,
                            const Validity& validity);

/// One certificate of a PEM text.
struct CertificateFacts {
  std::string pem;
  Validity validity;
  std::vector<std::string> names;  ///< DNS names of subjectAltName
};
/// The certificates of a text, in its order, up to the first that cannot be read. Error:
/// configuration (there is none).
base::Result<std::vector<CertificateFacts>> read_certificates(std::string_view pem);

/// The key belongs to the certificate. False also when one of them cannot be read.
bool is_pair(const KeyPair& pair);
/// `certificate_pem` was signed by the key of `authority_pem`.
bool is_signed_by(std::string_view certificate_pem, std::string_view authority_pem);

}  // namespace kollect::webhook
