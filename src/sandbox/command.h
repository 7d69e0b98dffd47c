// `kollect sandbox`.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::sandbox {

/// `definitions`: YAML stream of the CustomResourceDefinitions that are served from the beginning,
/// unless --no-crds is given.
int run_sandbox_command(const cli::Invocation& invocation, const std::vector<std::string>& args,
                        const std::string& definitions);

}  // namespace kollect::sandbox
