// The command `kollect serve`.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::serve {

/// Serves until it is asked to stop; then answers under way come to their end. Exit code 2 with one
/// line of what is wrong where it cannot start.
int run_serve(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::serve
