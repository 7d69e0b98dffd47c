// Keys and credentials files of NATS: Ed25519 seeds in base32.
// Format:
// https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace kollect::sinks::nats {

/// What answers a server's nonce.
class NKey {
 public:
  /// A user seed ("SU..."), white space around it ignored. Error (configuration) never quotes it.
  static base::Result<NKey> from_seed(const base::Secret& seed);
  /// "U..."
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  /// base64url without padding.
  [[nodiscard]] base::Result<std::string> sign(std::string_view nonce) const;

 private:
  base::Secret raw_;
  std::string public_key_;
};

/// Content of a .creds file.
struct Credentials {
  base::Secret jwt;
  base::Secret seed;
};
base::Result<Credentials> read_credentials(const base::Secret& file);

}  // namespace kollect::sinks::nats
