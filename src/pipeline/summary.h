// The summary of a run (spec: pipeline 12).
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "pipeline/run/outcome.h"
#include "pipeline/run/plan.h"

namespace kollect::pipeline {

struct RunSummary {
  int exit_code = 0;
  bool dry_run = false;
  base::WallTime started_at{};
  base::Duration took{};
  std::vector<std::string> warnings;
};

/// Schema kollect.dev/summary/v1; keys are only ever added.
base::json::Value summary_json(const RunSummary& summary, const Plan& plan,
                               const std::vector<ContextOutcome>& outcomes);
/// For people: a line per context, target with trouble, and sink.
std::string summary_text(const RunSummary& summary, const Plan& plan,
                         const std::vector<ContextOutcome>& outcomes);

}  // namespace kollect::pipeline
