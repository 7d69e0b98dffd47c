// One changed row of a few and of many in a Git repository with a file for every row, pushed to a
// real server. Counter "ratio": processor time of such a pass (ours and that of the git programs
// that push, not the server's) by the one among 1,000 rows in the same run; "whole_ratio": by a
// pass over all rows of the same size.
#include <benchmark/benchmark.h>

#include <map>

#include "git_ground.h"

namespace kollect::sinks::bench {
namespace {

/// Processor seconds per pass, by what was done and the number of rows.
std::map<std::pair<std::string, int>, double>& figures() {
  static std::map<std::pair<std::string, int>, double> all;
  return all;
}

template <class Prepare, class Run>
void measure(benchmark::State& state, const std::string& what, const Prepare& prepare,
             const Run& pass) {
  const int rows = static_cast<int>(state.range(0));
  double own = 0;
  double programs = 0;
  for (auto _ : state) {
    prepare();
    const Cost before;
    pass();
    const Cost after;
    own += after.own - before.own;
    programs += after.programs - before.programs;
    state.SetIterationTime(after.own - before.own + after.programs - before.programs);
  }
  const auto passes = static_cast<double>(state.iterations());
  figures()[{what, rows}] = (own + programs) / passes;
  state.counters["own_ms"] = own / passes * 1000;
  state.counters["git_ms"] = programs / passes * 1000;
  const auto few = figures().find({what, 1000});
  if (few != figures().end()) {
    state.counters["ratio"] = (own + programs) / passes / few->second;
  }
  const auto whole = figures().find({"all rows", rows});
  if (whole != figures().end()) {
    state.counters["whole_ratio"] = (own + programs) / passes / whole->second;
  }
}

/// What a pass without memory of the branch costs.
void BM_AllRowsOneChanged(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  int version = 1'000;
  measure(
      state, "all rows",
      [&] {
        ground.sink = ground.make_sink();
        put(ground.store, rows / 2, ++version);
      },
      [&] { check(ground.pass(false).written == 1, "all rows"); });
}

void BM_OneRowChanged(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  int version = 2'000;
  measure(
      state, "one row", [&] { put(ground.store, rows / 2, ++version); },
      [&] {
        const auto report = ground.pass(true);
        check(report.written == 1 && report.unchanged == 0, "one row changed");
      });
}

/// The set manifest lists every file, so its size is part of this cost.
void BM_OneRowMoreOneLess(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  bool there = false;
  measure(
      state, "one row more or less",
      [&] {
        if (there) {
          ground.store.remove(kOwner, uid_of(rows));
        } else {
          put(ground.store, rows, 1);
        }
        there = !there;
      },
      [&] {
        const auto report = ground.pass(true);
        check(report.written + report.removed == 2 && report.unchanged == 0, "one row more");
      });
  if (!there) return;
  ground.store.remove(kOwner, uid_of(rows));
  ground.pass(true);
}

#define KOLLECT_SIZES(count) \
  ->Arg(1'000)->Arg(100'000)->Iterations(count)->UseManualTime()->Unit(benchmark::kMillisecond)

BENCHMARK(BM_AllRowsOneChanged) KOLLECT_SIZES(3);
BENCHMARK(BM_OneRowChanged) KOLLECT_SIZES(130);
BENCHMARK(BM_OneRowMoreOneLess) KOLLECT_SIZES(10);

}  // namespace
}  // namespace kollect::sinks::bench
