// `kollect fleet drift`.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/flags.h"
#include "cli/invocation.h"
#include "fleet/client.h"

namespace kollect::fleet {

struct DriftFlags {
  std::string cluster, environment, finding, component, older_than, max_age;
  std::uint64_t limit = 0;  ///< 0: all
};

void add_drift_flags(CLI::App& app, DriftFlags& flags);
/// Asks for all pages and prints them.
base::Result<> show_drift(const cli::Invocation& invocation, FleetClient& client,
                          const DriftFlags& flags, bool as_table);

}  // namespace kollect::fleet
