// From host names to addresses, for backends whose addresses are checked before they are dialled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kollect::base {

/// Numeric addresses of a host name.
using Resolver = std::function<Result<std::vector<std::string>>(const std::string& host)>;
/// The system's resolver. Waits as long as that does. Error: retryable.
Result<std::vector<std::string>> resolve_host(const std::string& host);
/// True for IPv4 and IPv6 literals (a zone may follow the latter).
bool is_numeric_address(const std::string& host);

}  // namespace kollect::base
