#include "pipeline/run/sink_wiring.h"

#include <fmt/format.h>

namespace kollect::pipeline {

base::Result<std::vector<WiredSink>> make_sinks(const Config& config, SecretStore&,
                                                const WiringOptions&, const base::Logger&) {
  if (!config.has_sinks()) return std::vector<WiredSink>();
  return base::configuration("sinks of the configuration are not served by this build");
}

base::Result<std::unique_ptr<sinks::Sink>> make_sqlite(const std::string&) {
  return base::configuration("--sqlite is not served by this build");
}

}  // namespace kollect::pipeline
