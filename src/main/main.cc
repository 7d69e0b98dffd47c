#include "cli/program.h"
#include "main/commands.h"

int main(int argc, char** argv) {
  return kollect::cli::main(argc, argv, kollect::all_commands());
}
