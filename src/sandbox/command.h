// `kollect sandbox`.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::sandbox {

/// The commands of this room, for the program's table.
const std::vector<cli::Command>& commands();

int run_sandbox_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::sandbox
