#include "install/commands.h"

namespace kollect::install {

const std::vector<cli::Command>& commands() {
  static const std::vector<cli::Command> kCommands = {
      {"rbac", "Print the rights that an operator needs", run_rbac_command},
      {"doctor", "Find what is wrong with an installed operator", run_doctor_command},
  };
  return kCommands;
}

}  // namespace kollect::install
