// What a program tells of itself under the names that all Prometheus clients use.
#pragma once

#include <string>

#include "base/clock.h"
#include "metrics/registry.h"

namespace kollect::metrics {

/// What kollect_build_info tells.
struct Build {
  std::string version;
  std::string commit;
};

/// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
/// process_open_fds, process_max_fds, process_start_time_seconds and
/// kollect_build_info{version,commit}; looked up for each page (proc(5)). `registry` must outlive
/// the pages, `clock` is used now only.
void add_process_metrics(Registry& registry, const Build& build, const base::Clock& clock);

}  // namespace kollect::metrics
