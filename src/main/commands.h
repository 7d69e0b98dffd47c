// The program's commands.
#pragma once

#include <vector>

#include "cli/invocation.h"

namespace kollect {

/// All commands of all rooms, in the order of the help.
std::vector<cli::Command> all_commands();

}  // namespace kollect
