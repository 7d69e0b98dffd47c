#include "pipeline/collect_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "pipeline/collect_options.h"
#include "pipeline/collect_run.h"

namespace kollect::pipeline {

int run_collect(const Invocation& invocation, const std::vector<std::string>& args) {
  CollectOptions options;
  if (const auto code = parse_collect_flags(invocation, args, options)) return *code;
  CollectRun run(invocation, std::move(options));
  return invocation.exit_code(run.run());
}

}  // namespace kollect::pipeline
