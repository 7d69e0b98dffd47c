// `kollect top`
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::top {

int run_top_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::top
