// `kollect fleet`.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::fleet {

int run_fleet_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::fleet
