// Commands around an installation of the operator.
#pragma once

#include <vector>

#include "cli/invocation.h"

namespace kollect::install {

/// In the order of the help text.
const std::vector<cli::Command>& commands();

int run_rbac_command(const cli::Invocation& invocation, const std::vector<std::string>& args);
int run_doctor_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::install
