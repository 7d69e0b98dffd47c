// The rows that benchmarks of sinks write, and what these need beside.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/heap.h"
#include "inventory/row_store.h"
#include "sinks/sink.h"

namespace kollect::sinks::bench {

using Clock = std::chrono::steady_clock;

/// The value; an error ends the program.
template <class T>
T must(base::Result<T> result) {
  if (!result.has_value()) {
    std::fprintf(stderr, "bench: %s\n", result.error().message.c_str());
    std::abort();
  }
  return std::move(*result);
}

inline double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// Processor time of this process so far.
inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What this process has resident above what it had when this was made, which what others freed
/// before does not lower. One at a time: the kernel keeps one peak.
class MemoryAbove {
 public:
  MemoryAbove() {
    base::keep_heap_small();  // as the program does
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts anew
    begin_ = kib("VmRSS:");
  }
  /// The most so far, in MiB.
  [[nodiscard]] double peak_mib() const { return (kib("VmHWM:") - begin_) / 1024; }

 private:
  static double kib(std::string_view wanted) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
      double number = 0;
      if (word == wanted && status >> number) return number;
    }
    std::fprintf(stderr, "bench: /proc/self/status has no %.*s\n", static_cast<int>(wanted.size()),
                 wanted.data());
    std::abort();
  }

  double begin_ = 0;
};

inline const inventory::Owner kOwner{inventory::OwnerClass::kTarget, "bench", "deployments"};

/// A row with six attributes, as in the comparison of collect with a raw list.
inline void put_row(inventory::RowStore& store, int i, int version) {
  const auto name = fmt::format("app-{:06}", i);
  const auto ns = fmt::format("load-{:04}", i % 100);
  const auto uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", i * 2654435761U, i);
  const auto text = fmt::format(
      R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:{1}.{2}","registry.example/proxy:{2}.1"],"partOf":"team-{3}","replicas":{2},"serviceAccount":"app-{0:06}","version":"{1}.{2}.0"}})",
      i, version, i % 5, i % 40);
  store.upsert(kOwner, 1,
               {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
}

/// Rows in a store, and passes over them.
class Rows {
 public:
  explicit Rows(int rows) {
    for (int i = 0; i < rows; ++i) put_row(store_, i, 1);
    reader_ = store_.subscribe([](const inventory::Owner&) { return true; });
  }
  void change(int i, int version) { put_row(store_, i, version); }
  /// A pass that compares everything.
  ExportReport reconcile(Sink& sink) {
    const auto snapshot = reader_->snapshot();
    const Pass pass{head(), &snapshot, nullptr, snapshot.size(), snapshot.set_hash()};
    auto report = must(sink.apply(context, pass));
    reader_->passed(snapshot.version());
    return report;
  }
  /// A pass with the changes alone.
  ExportReport delta(Sink& sink) {
    const auto changes = reader_->changes();
    const Pass pass{head(), nullptr, &changes, reader_->row_count(), reader_->set_hash()};
    auto report = must(sink.apply(context, pass));
    reader_->passed(changes.to());
    return report;
  }

  base::Context context = base::Context::background();

 private:
  Export head() {
    Export out;
    out.inventory = {"bench", "inventory"};
    out.generation = 1;
    out.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + ++second_));
    out.cluster = "bench";
    return out;
  }

  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
  int second_ = 0;
};

/// Counter "peak_MiB": the most memory that `pass` needs above what was there before it. The number
/// of rows is the benchmark's argument; what the row store has is there before.
template <class Prepare, class Run>
void measure_memory(benchmark::State& state, const Prepare& prepare, const Run& pass) {
  double most = 0;
  for (auto _ : state) {
    prepare();
    const MemoryAbove memory;
    const auto began = Clock::now();
    pass();
    state.SetIterationTime(seconds_since(began));
    most = std::max(most, memory.peak_mib());
  }
  state.counters["peak_MiB"] = most;
}

/// What every benchmark of memory is asked for.
#define KOLLECT_MEMORY_SIZES \
  ->Arg(50'000)->Arg(200'000)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond)

}  // namespace kollect::sinks::bench
