#include <string_view>
#include <vector>

#include "cli/program.h"
#include "main/commands.h"

int main(int argc, char** argv) {
  std::vector<char*> args(argv, argv + argc);
  if (kollect::called_as(args, "manager") && args.size() > 1 &&
      std::string_view(args[1]) != "--version") {
    // A container's entry point with the operator's flags alone (spec: runtime 1 and 18).
    static char command[] = "operator";
    args.insert(args.begin() + 1, command);
  }
  const bool plugin = kollect::called_as(args, "kubectl-kollect");
  return kollect::cli::main(static_cast<int>(args.size()), args.data(),
                            plugin ? kollect::plugin_commands() : kollect::all_commands());
}
