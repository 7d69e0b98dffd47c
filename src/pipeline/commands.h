// Commands that are a few lines each; the larger ones have headers of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/invocation.h"

namespace kollect::pipeline {

/// A command of the program.
struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Invocation& invocation, const std::vector<std::string>& args);
};
/// In the order of the help text.
const std::vector<Command>& commands();

/// The whole program with everything it needs given; main() gives the real world.
int run_program(const Invocation& invocation);

int run_crds(const Invocation& invocation, const std::vector<std::string>& args);
int run_init_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_validate_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_extract_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_query_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_diff_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_cel_command(const Invocation& invocation, const std::vector<std::string>& args);
int run_completion(const Invocation& invocation, const std::vector<std::string>& args);
/// Words for the shell's completion, a line each; never fails (spec: pipeline 15).
int run_complete_words(const Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::pipeline
