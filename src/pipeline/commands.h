// Commands that are a few lines each; the larger ones have headers of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/invocation.h"
#include "pipeline/cli_names.h"

namespace kollect::pipeline {

/// The one-shot commands, in the order of the help text.
const std::vector<Command>& commands();

/// The program with the commands of this room alone: for tests.
int run_program(const Invocation& invocation);

int run_crds(const Invocation& invocation, const std::vector<std::string>& args);
int run_init_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_validate_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_extract_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_probe_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_query_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_diff_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_cel_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_completion(const Invocation& invocation, const std::vector<std::string>& args);
/// Words for the shell's completion, a line each; never fails (spec: pipeline 15).
int run_complete_words(const Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::pipeline
