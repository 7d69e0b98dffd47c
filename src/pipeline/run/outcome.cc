#include "pipeline/run/outcome.h"

#include <algorithm>

#include "pipeline/cli_names.h"

namespace kollect::pipeline {

int exit_code_of(const ContextOutcome& outcome) {
  const ContextResult& result = outcome.result;
  if (result.error) return kExitFailed;
  std::size_t read = 0;
  std::size_t skipped = 0;
  bool incomplete = result.incomplete_input;
  for (const TargetResult& target : result.targets) {
    if (target.was_read()) ++read;
    if (target.status == TargetResult::Status::kSkipped) ++skipped;
    if (target.status == TargetResult::Status::kPartial) incomplete = true;
  }
  if (read == 0 && skipped > 0) return kExitFailed;
  const auto failed = [](const SinkOutcome& sink) { return sink.error.has_value(); };
  const auto failures = std::ranges::count_if(outcome.sinks, failed);
  if (failures > 0 && static_cast<std::size_t>(failures) == outcome.sinks.size()) {
    return kExitFailed;
  }
  return failures > 0 || skipped > 0 || incomplete ? kExitPartial : kExitOk;
}

std::string_view status_of(const ContextOutcome& outcome) {
  switch (exit_code_of(outcome)) {
    case kExitOk:
      return "ok";
    case kExitPartial:
      return "partial";
    default:
      return "failed";
  }
}

}  // namespace kollect::pipeline
