// The program: all commands in one table.
#include <vector>

#include "cli/program.h"
#include "manager/operator_command.h"
#include "pipeline/commands.h"
#include "sandbox/command.h"

int main(int argc, char** argv) {
  std::vector<kollect::cli::Command> all = kollect::pipeline::commands();
  all.push_back(
      {"operator", "Keep inventories in step with a cluster", kollect::manager::run_operator});
  const auto& more = kollect::sandbox::commands();
  all.insert(all.end(), more.begin(), more.end());
  return kollect::cli::main(argc, argv, all);
}
