// `kollect operator` (spec: runtime 1 and 2).
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::manager {

/// Runs until a signal: 0 after an orderly end, 1 when something failed, 2 for wrong flags. Flags
/// may be given as environment variables KOLLECT_<FLAG_IN_UPPER_SNAKE> too; a flag wins.
int run_operator(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::manager
