// The program around its commands: help, version, signals.
#pragma once

#include <vector>

#include "base/clock.h"
#include "cli/invocation.h"

namespace kollect::cli {

/// Runs the command that the arguments name; `invocation.commands` is the table.
int run_program(const Invocation& invocation);

/// What --version prints first.
const char* version();
/// Of the source that it was built from; "unknown" in builds that nobody stamped.
const char* commit();

/// main() with the real world: returns the exit code (spec: pipeline 1 and 11). Never throws.
int main(int argc, char** argv, const std::vector<Command>& commands,
         const base::Clock& clock = base::SystemClock());

}  // namespace kollect::cli
