// The client commands of `kollect fleet` (spec: fleet-api 12).
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::fleet {

/// Exit codes: 0, 1 when something failed, 2 for wrong usage.
int run_client(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::fleet
