#include "main/commands.h"

#include "api/codec.h"
#include "fleet/command.h"
#include "install/commands.h"
#include "install/plugin.h"
#include "manager/operator_command.h"
#include "pipeline/commands.h"
#include "sandbox/command.h"
#include "serve/command.h"
#include "top/command.h"

namespace kollect {

std::vector<cli::Command> all_commands() {
  std::vector<cli::Command> all = pipeline::commands();
  all.push_back({"operator", "Keep inventories in step with a cluster", manager::run_operator});
  all.push_back({"sandbox", "Serve a small Kubernetes API from memory",
                 [](const cli::Invocation& invocation, const std::vector<std::string>& args) {
                   return sandbox::run_sandbox_command(invocation, args, api::crds_yaml());
                 }});
  all.push_back({"serve", "Serve the inventory of a database over HTTP, with the web console",
                 serve::run_serve});
  all.push_back({"fleet", "Serve the desired state of a fleet", fleet::run_fleet_command});
  all.insert(all.end(), install::commands().begin(), install::commands().end());
  all.push_back(
      {"top", "Show clusters, inventories and sinks in a terminal", top::run_top_command});
  return all;
}

std::vector<cli::Command> plugin_commands() {
  return install::plugin_commands();
}

bool called_as(const std::vector<char*>& args, std::string_view name) {
  if (args.empty()) return false;
  const std::string_view path(args.front());
  return path.substr(path.rfind('/') + 1) == name;  // without a slash: the whole
}

}  // namespace kollect
