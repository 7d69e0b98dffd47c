// How a context went, sinks included, and what that means for the exit code (spec: pipeline 11).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/run/result.h"
#include "sinks/sink.h"

namespace kollect::pipeline {

struct SinkOutcome {
  std::string sink;  ///< "snapshot/name", "output", "stdout", "sqlite"
  std::size_t exports = 0;
  sinks::ExportReport report;
  std::optional<base::Error> error;
};

struct ContextOutcome {
  ContextResult result;
  std::vector<SinkOutcome> sinks;
};

/// 0, 1 or 2 for one context.
int exit_code_of(const ContextOutcome& outcome);
/// "ok", "partial" or "failed".
std::string_view status_of(const ContextOutcome& outcome);

}  // namespace kollect::pipeline
