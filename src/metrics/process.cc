#include "metrics/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/files.h"

namespace kollect::metrics {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kNano = 1e-9;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

double open_files() {
  std::error_code error;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

/// Pages: the whole, and what is resident.
std::pair<double, double> memory() {
  const auto text = base::read_file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  if (text) std::istringstream(*text) >> all >> resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {all * page, resident * page};
}

}  // namespace

void add_process_metrics(Registry& registry, const Build& build, const base::Clock& clock) {
  registry
      .gauge("kollect_build_info", "Always 1; the labels tell what runs.",
             {{"version", build.version}, {"commit", build.commit}})
      .set(1);
  registry
      .gauge("process_start_time_seconds", "When the process was started, in seconds since 1970.")
      .set(static_cast<double>(clock.now().time_since_epoch().count()) * kNano);
  const auto cpu = registry.counter("process_cpu_seconds_total", "CPU time used, in seconds.");
  const auto resident =
      registry.gauge("process_resident_memory_bytes", "Memory that is resident, in bytes.");
  const auto all = registry.gauge("process_virtual_memory_bytes", "Address space, in bytes.");
  const auto open = registry.gauge("process_open_fds", "Open file descriptors.");
  const auto most = registry.gauge("process_max_fds", "How many file descriptors may be open.");
  registry.before_text([=] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    cpu.add(std::max(0.0, seconds(usage.ru_utime) + seconds(usage.ru_stime) - cpu.value()));
    const auto [total, here] = memory();
    all.set(total);
    resident.set(here);
    open.set(open_files());
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    most.set(static_cast<double>(limit.rlim_cur));
  });
}

}  // namespace kollect::metrics
