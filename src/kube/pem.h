// Checks on certificates and keys before a connection is tried, so that messages name the entry at
// fault.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::kube {

/// At least one certificate can be read. Error: configuration.
base::Result<> check_authorities(const std::string& pem);
/// Certificate and key can be read and belong together; encrypted keys are refused. Error:
/// configuration.
base::Result<> check_pair(const std::string& cert_pem, const base::Secret& key_pem);
/// End of the first certificate's validity; none when it cannot be read.
std::optional<base::WallTime> valid_until(const std::string& cert_pem);

}  // namespace kollect::kube
