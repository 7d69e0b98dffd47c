// The first export of a Git sink (a file for every row, pushed to a real server over http) beside
// `git fast-import` of the same files into an empty repository in the same run. Counter
// "of_limit": rows per second by those of fast-import; "pack_bytes_per_row": size of the repository
// that was pushed; "peak_MiB": most memory of the process during the export above the row store's.
#include <benchmark/benchmark.h>

#include "base/process.h"
#include "git_ground.h"

namespace kollect::sinks::bench {
namespace {

std::string shell(const std::string& line) {
  base::Command command;
  command.program = "sh";
  command.args = {"-c", line};
  auto result = must(base::run(base::Context::background(), command));
  check(result.exit_code == 0, result.err.c_str());
  return result.out;
}

/// Seconds for the stream of the branch that `repository` holds.
double fast_import(const std::filesystem::path& repository, const base::TempDir& folder) {
  const std::string stream = (folder.path() / "stream").string();
  const std::string target = (folder.path() / "imported.git").string();
  shell(fmt::format("git -C '{}' fast-export main > '{}'", repository.string(), stream));
  shell(fmt::format("rm -rf '{0}' && git init -q --bare -b main '{0}'", target));
  const auto begin = Clock::now();
  shell(fmt::format("git -C '{}' fast-import --quiet < '{}'", target, stream));
  const double took = seconds_since(begin);
  const auto tree = [](const std::string& path) {
    return shell(fmt::format("git -C '{}' rev-parse 'main^{{tree}}'", path));
  };
  check(tree(target) == tree(repository.string()), "fast-import made the same tree");
  return took;
}

double bytes_of(const std::filesystem::path& folder) {
  double out = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pack") out += static_cast<double>(entry.file_size());
  }
  return out;
}

void BM_FirstExport(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  double ours = 0;
  double packed = 0;
  double most = 0;
  double limit = 0;
  double used = 0;
  int round = 0;
  for (auto _ : state) {
    Ground ground(rows, fmt::format("first-{}-{}", rows, ++round));
    const MemoryAbove memory;
    const Cost before;
    const auto begin = Clock::now();
    ground.first_export();
    const double took = seconds_since(begin);
    const Cost after;
    most = std::max(most, memory.peak_mib());
    packed += bytes_of(ground.folder_of_repository);
    state.SetIterationTime(took);
    ours += took;
    used += after.own - before.own + after.programs - before.programs;
    limit += fast_import(ground.folder_of_repository, ground.folder);
  }
  const double all = static_cast<double>(rows) * static_cast<double>(state.iterations());
  state.counters["rows_per_s"] = all / ours;
  state.counters["cpu_us_per_row"] = used / all * 1e6;
  state.counters["limit_rows_per_s"] = all / limit;
  state.counters["of_limit"] = limit / ours;
  state.counters["pack_bytes_per_row"] = packed / all;
  state.counters["peak_MiB"] = most;
}

BENCHMARK(BM_FirstExport)
    ->Arg(10'000)
    ->Arg(50'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FirstExport)
    ->Arg(200'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks::bench
