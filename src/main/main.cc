// The program: all commands in one table.
#include "cli/program.h"
#include "pipeline/commands.h"

int main(int argc, char** argv) {
  return kollect::cli::main(argc, argv, kollect::pipeline::commands());
}
