// Stacks of what runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "profiling/profile_format.h"
#include "profiling/stack.h"

namespace kollect::profiling {

struct SampleRing;

/// Samples all threads of the process from start() to finish() or to the end of its life: a signal
/// (SIGPROF) every ten milliseconds of processor time goes to a thread that runs. One at a time in
/// a process. For one thread.
class CpuSampler {
 public:
  /// `clock` must outlive it. Errors: conflict (another one is at work), terminal.
  static base::Result<std::unique_ptr<CpuSampler>> start(const base::Clock& clock);
  ~CpuSampler();
  CpuSampler(const CpuSampler&) = delete;
  CpuSampler& operator=(const CpuSampler&) = delete;

  /// Takes over what was sampled since the last call. There is room for kRoom samples in between;
  /// what comes when it is full is counted and lost.
  void collect();
  /// Ends it. Once.
  Profile finish();

  static constexpr std::size_t kRoom = 2048;
  static constexpr base::Duration kPeriod = std::chrono::milliseconds(10);

 private:
  CpuSampler(const base::Clock& clock, std::unique_ptr<SampleRing> ring);
  void stop();

  const base::Clock& clock_;
  const base::WallTime began_;
  const base::SteadyTime began_steady_;
  std::unique_ptr<SampleRing> ring_;
  bool running_ = true;
  std::map<std::vector<std::uintptr_t>, std::int64_t> counts_;
};

}  // namespace kollect::profiling
