// The program's commands.
#pragma once

#include <string_view>
#include <vector>

#include "cli/invocation.h"

namespace kollect {

/// All commands of all rooms, in the order of the help.
std::vector<cli::Command> all_commands();
/// Those of the plugin of kubectl.
std::vector<cli::Command> plugin_commands();

/// Whether the program was called by this name, whatever the folder.
bool called_as(const std::vector<char*>& args, std::string_view name);

}  // namespace kollect
