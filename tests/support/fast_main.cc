// kollect_fast: the program on a clock that runs KOLLECT_CLOCK_SPEED (60) times as fast.
#include <cstdlib>
#include <string>

#include "cli/program.h"
#include "main/commands.h"
#include "support/fast_clock.h"

int main(int argc, char** argv) {
  const char* speed = std::getenv("KOLLECT_CLOCK_SPEED");
  const kollect::testing::FastClock clock(speed == nullptr ? 60 : std::stoi(speed));
  return kollect::cli::main(argc, argv, kollect::all_commands(), clock);
}
