// `kollect fleet token`: tokens for the tokens file of `kollect fleet serve`.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"

namespace kollect::fleet {

/// `new NAME --role ROLE... [--cluster-dns NAME]`: prints a new token, which is not to be had
/// again, and its entry for the file. Exit codes: 0, 2 for wrong usage.
int run_token_command(const cli::Invocation& invocation, const std::vector<std::string>& args);

}  // namespace kollect::fleet
