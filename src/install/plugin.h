// `kubectl kollect`: the plugin of kubectl, a name under which the program can be called (spec:
// runtime 22).
#pragma once

#include <vector>

#include "cli/invocation.h"

namespace kollect::install {

/// status, sinks, rows, diff, trigger, and the commands of the room.
const std::vector<cli::Command>& plugin_commands();

int run_status_command(const cli::Invocation& invocation, const std::vector<std::string>& args);
int run_sinks_command(const cli::Invocation& invocation, const std::vector<std::string>& args);
int run_rows_command(const cli::Invocation& invocation, const std::vector<std::string>& args);
int run_live_diff_command(const cli::Invocation& invocation, const std::vector<std::string>& args);
int run_trigger_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::install
