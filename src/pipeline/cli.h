// The subcommand table of `kollect` (and `kollect-pipeline`, the same program).
#pragma once

namespace kollect::pipeline {

/// Runs the program; returns its exit code (spec: pipeline 1 and 11). Never throws.
int main(int argc, char** argv);

}  // namespace kollect::pipeline
