// The program: all commands in one table.
#include <vector>

#include "api/codec.h"
#include "cli/program.h"
#include "fleet/command.h"
#include "manager/operator_command.h"
#include "pipeline/commands.h"
#include "sandbox/command.h"

int main(int argc, char** argv) {
  std::vector<kollect::cli::Command> all = kollect::pipeline::commands();
  all.push_back(
      {"operator", "Keep inventories in step with a cluster", kollect::manager::run_operator});
  all.push_back(
      {"sandbox", "Serve a small Kubernetes API from memory",
       [](const kollect::cli::Invocation& invocation, const std::vector<std::string>& args) {
         return kollect::sandbox::run_sandbox_command(invocation, args, kollect::api::crds_yaml());
       }});
  all.push_back({"fleet", "Serve the desired state of a fleet", kollect::fleet::run_fleet_command});
  return kollect::cli::main(argc, argv, all);
}
