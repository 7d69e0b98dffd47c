// `kollect collect` (spec: pipeline).
#pragma once

#include <string>
#include <vector>

#include "pipeline/cli_names.h"

namespace kollect::pipeline {

/// Runs the command with the arguments behind its name; returns the exit code.
int run_collect(const Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::pipeline
