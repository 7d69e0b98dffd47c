// The program: hands its arguments to the subcommand table.
#include "pipeline/cli.h"

int main(int argc, char** argv) { return kollect::pipeline::main(argc, argv); }
