// Rows of an inventory written as a Parquet file, timed: parquet_load ROWS FILE [TIMES]. Prints
// JSON. Used by scripts/bench/parquet_bench.py.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "sinks/columns/encoders.h"

namespace {

using kollect::inventory::RowSet;

RowSet workloads(std::size_t count) {
  RowSet rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = fmt::format("workload-{:07}", i);
    const auto uid = fmt::format("5f1c8a60-{:04x}-4000-8000-{:012x}", i % 65536, i * 7919);
    const auto attributes = fmt::format(
        R"({{"cpu":"{}m","image":"registry.example/team-{}/app-{}:{}.{}","labels":{{"app":"app-{}","tier":"backend"}},)"
        R"("ready":{},"replicas":{},"version":"{}.{}"}})",
        (i * 37) % 4000, i % 40, i % 900, i % 9, i % 31, i % 900, i % 3 == 0 ? "false" : "true",
        i % 8, i % 9, i % 31);
    rows.add({"platform", "workloads", fmt::format("namespace-{:04}", i / 50), name, "apps", "v1",
              "Deployment", uid, attributes});
  }
  rows.seal();
  return rows;
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kollect;
  if (argc < 3) return 2;
  const auto rows = workloads(std::strtoull(argv[1], nullptr, 10));
  const int times = argc > 3 ? std::atoi(argv[3]) : 3;
  sinks::Export exp;
  exp.inventory = {"platform", "workloads"};
  exp.rows = &rows;
  sinks::objects::Document document;
  document.exp = &exp;
  document.last = rows.size();
  sinks::columns::ParquetSettings settings;
  // Beside the program, which is one folder above this one.
  settings.places.push_back(settings.places.front().parent_path());
  const auto encoder = sinks::columns::make_parquet_encoder({}, settings);
  double best = 1e9;
  double processor = 1e9;
  std::size_t bytes = 0;
  for (int i = 0; i < times; ++i) {
    std::ofstream out(argv[2], std::ios::binary);
    bytes = 0;
    const auto began = std::chrono::steady_clock::now();
    const auto used = processor_seconds();
    const auto written = (*encoder)->write(document, [&](std::string_view piece) -> base::Result<> {
      out << piece;
      bytes += piece.size();
      return {};
    });
    if (!written.has_value()) {
      fmt::print(stderr, "{}\n", written.error().message);
      return 1;
    }
    out.close();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count());
    processor = std::min(processor, processor_seconds() - used);
  }
  fmt::print("{{\"rows\":{},\"bytes\":{},\"seconds\":{},\"processor\":{}}}\n", rows.size(), bytes,
             best, processor);
  return 0;
}
