// Signed assertions of service accounts.
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::sinks::google {

/// Base64 with the alphabet of URLs and without padding (RFC 4648, section 5).
std::string base64url(std::string_view bytes);

/// Error (configuration) unless the PEM text is an RSA private key without a password.
base::Result<> check_rsa_key(const base::Secret& pem);

/// A JSON Web Token in compact form (RFC 7515), algorithm RS256. Errors: configuration (the key),
/// terminal.
base::Result<base::Secret> sign_rs256(const base::Secret& pem, const std::string& key_id,
                                      const base::json::Object& claims);

}  // namespace kollect::sinks::google
