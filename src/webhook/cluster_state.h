// Certificates in a Secret, and whom the API server is told to trust. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "base/result.h"
#include "webhook/rotation.h"

namespace kollect::webhook {

/// What a Secret holds; nothing when it lacks keys or they are not base64. Error: configuration
/// (the certificate in it is somebody else's).
base::Result<std::optional<Certificates>> certificates_in(const base::json::Value& secret);
/// The member `data` of the Secret.
base::json::Value data_of(const Certificates& certificates);

/// The webhooks of a configuration with the authorities as caBundle, wherever they call the
/// Service; nothing when they all have it already.
std::optional<base::json::Value> with_authorities(const base::json::Value& configuration,
                                                  std::string_view ns, std::string_view service,
                                                  const std::string& authorities_pem);

}  // namespace kollect::webhook
