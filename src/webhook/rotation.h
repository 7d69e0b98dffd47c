// Which certificates there should be now, as a function of those there are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "webhook/certificates.h"

namespace kollect::webhook {

/// What replicas share.
struct Certificates {
  std::string authorities_pem;  ///< whom to trust; the newest, which signs, first
  base::Secret authority_key;   ///< of the newest
  KeyPair serving;
  bool operator==(const Certificates& other) const {
    return authorities_pem == other.authorities_pem && authority_key == other.authority_key &&
           serving.certificate_pem == other.serving.certificate_pem &&
           serving.key_pem == other.serving.key_pem;
  }
};

struct RotationRules {
  std::vector<std::string> names;  ///< DNS names, at least one
  base::Duration serving_life = std::chrono::hours(24 * 90);
  base::Duration authority_life = std::chrono::hours(24 * 3650);
  /// A new authority is made known for so long before a certificate of it is used: by then every
  /// API server trusts it.
  base::Duration settle = std::chrono::hours(1);
};

struct Rotation {
  Certificates certificates;
  bool changed = false;      ///< they are not those that were given
  base::WallTime next_look;  ///< when something becomes due
};

/// Makes what is missing or of no use, and renews what has lived two thirds of its life: the
/// serving certificate, and an authority beside the one before it, which stays trusted until it
/// ends. Error: those of make_authority().
base::Result<Rotation> rotate(const std::optional<Certificates>& held, const RotationRules& rules,
                              base::WallTime now);

}  // namespace kollect::webhook
