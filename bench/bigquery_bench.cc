// The BigQuery sink beside a plain load job of the lines that it sends itself, and beside that load
// with the MERGE that brings the lines from the loaded table into the inventory's: what a sink that
// knows nothing of the table has to do at least. All to the emulator. Counters: "ratio": time of
// the pass by the median time of the load in the same run; "of_load", "of_load_and_merge": rows per
// second by those of the load, and by those of both jobs; peak_memory: above the row store.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/json/write.h"
#include "bench_rows.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/bigquery/payload.h"
#include "support/server_script.h"

namespace kollect::sinks {
namespace {

using kollect::testing::ServerScript;
using namespace bench;  // NOLINT: what benchmarks share

void put(inventory::RowStore& store, int i, int version) {
  const std::string name = fmt::format("app-{:06}", i);
  const std::string ns = fmt::format("load-{:04}", i % 100);
  const std::string uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", i * 2654435761U, i);
  const std::string text = fmt::format(
      R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:{1}.{2}"],"partOf":"team-{3}","replicas":{2},"version":"{1}.{2}.0"}})",
      i, version, i % 5, i % 40);
  store.upsert(kOwner, 1,
               {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
}

/// `rows` rows in a store, and an emulator.
struct Ground {
  explicit Ground(int rows) : server("bigquery.sh", fmt::format("bench-{}", rows)) {
    for (int i = 0; i < rows; ++i) put(store, i, 1);
    reader = store.subscribe([](const inventory::Owner&) { return true; });
    options.api.name = "bigquery";
    options.api.base_url = server.value("BIGQUERY_EMULATOR_HOST");
    options.api.unknown_is_terminal = false;
    options.table = {"test", "bench", "inventory"};
    post("", R"({"datasetReference":{"projectId":"test","datasetId":"bench"},"location":"EU"})");
  }
  static Ground& of(int rows) {
    static std::map<int, std::unique_ptr<Ground>> all;
    auto& made = all[rows];
    if (!made) made = std::make_unique<Ground>(rows);
    return *made;
  }
  void post(const std::string& path, std::string body) {
    google::Api api(options.api);
    must(api.send(context, {.method = "POST",
                            .path = "/bigquery/v2/projects/test/datasets" + path,
                            .doing = "preparing",
                            .body = std::move(body)}));
  }
  void drop() {
    google::Api api(options.api);
    must(api.send(context, {.method = "DELETE",
                            .path = "/bigquery/v2/projects/test/datasets/bench/tables/inventory",
                            .doing = "dropping",
                            .accept = {404}}));
  }
  ExportReport pass(Sink& sink, bool whole) {
    Export head;
    head.inventory = {"bench", "inventory"};
    head.cluster = "bench";
    head.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + ++second));
    const auto changes = reader->changes();
    const auto snapshot = reader->snapshot();
    const Pass out{head, whole ? &snapshot : nullptr, whole ? nullptr : &changes, snapshot.size(),
                   snapshot.set_hash()};
    auto report = must(sink.apply(context, out));
    reader->passed(snapshot.version());
    return report;
  }

  /// Seconds; medians of three.
  struct Limits {
    double load = 0;   ///< one load of all rows into an empty table
    double merge = 0;  ///< the MERGE from that table into an empty one of the inventory's shape
  };
  const Limits& limits() {
    if (raw.load > 0) return raw;
    std::string text;
    bigquery::Payload payload;
    const auto snapshot = reader->snapshot();
    if (!snapshot
             .for_each([&](const inventory::RowView& row) -> base::Result<> {
               KL_ASSIGN(const auto json, payload.write(row));
               bigquery::append_stage_line(
                   text,
                   {std::string(row.target_name), std::string(row.uid),
                    std::string(row.target_namespace), std::string(row.ns), std::string(json)});
               return {};
             })
             .has_value()) {
      std::abort();
    }
    std::vector<double> loads;
    std::vector<double> merges;
    google::Api api(options.api);
    bigquery::Jobs jobs(api, "test", {});
    for (int i = 0; i < 3; ++i) {
      const bigquery::TableName table{"test", "bench", fmt::format("raw_{}", i)};
      base::json::Object resource;
      resource.set("tableReference", table.reference());
      resource.set("schema", bigquery::stage_schema());
      post("/bench/tables", base::json::compact(base::json::Value(resource)));
      const auto began = Clock::now();
      auto load = must(jobs.start_load(context, table));
      if (!load.write(context, text).has_value() || !load.finish(context).has_value()) {
        std::abort();
      }
      loads.push_back(seconds_since(began));
      merges.push_back(merge_seconds(jobs, table, i));
    }
    std::sort(loads.begin(), loads.end());
    std::sort(merges.begin(), merges.end());
    raw = {loads[1], merges[1]};
    return raw;
  }
  double merge_seconds(bigquery::Jobs& jobs, const bigquery::TableName& from, int number) {
    const bigquery::TableName into{"test", "bench", fmt::format("merged_{}", number)};
    post("/bench/tables", base::json::compact(bigquery::table_resource(into, 0)));
    const auto began = Clock::now();
    const auto done = must(jobs.run(
        context, bigquery::merge_stage(
                     {into, "bench", "bench", "inventory", "2026-02-03T04:05:06.000000Z"}, from)));
    const double took = seconds_since(began);
    if (done.affected + done.inserted == 0) std::abort();
    return took;
  }

  ServerScript server;
  inventory::RowStore store;
  std::unique_ptr<inventory::Reader> reader;
  BigqueryOptions options;
  base::Context context = base::Context::background();
  Limits raw;
  int second = 0;
};

template <class Prepare, class Run>
void measure(benchmark::State& state, Ground& ground, const Prepare& prepare, const Run& run) {
  const auto limits = ground.limits();
  double total = 0;
  double cpu = 0;
  for (auto _ : state) {
    prepare();
    const double used = cpu_seconds();
    const auto began = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    cpu += cpu_seconds() - used;
    state.SetIterationTime(seconds);
    total += seconds;
  }
  const auto passes = static_cast<double>(state.iterations());
  const auto rows = static_cast<double>(state.range(0));
  state.counters["raw_load_ms"] = limits.load * 1000;
  state.counters["raw_merge_ms"] = limits.merge * 1000;
  state.counters["ratio"] = total / passes / limits.load;
  state.counters["of_load"] = limits.load * passes / total;
  state.counters["of_load_and_merge"] = (limits.load + limits.merge) * passes / total;
  state.counters["rows_per_s"] = rows * passes / total;
  state.counters["cpu_us_per_row"] = cpu / passes / rows * 1e6;
}

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "bench: not as expected: %s\n", what);
  std::abort();
}

void first_export(benchmark::State& state) {
  auto& ground = Ground::of(static_cast<int>(state.range(0)));
  std::unique_ptr<Sink> sink;
  measure(
      state, ground,
      [&] {
        ground.drop();
        sink = make_bigquery_sink(ground.options);
      },
      [&] {
        const auto report = ground.pass(*sink, true);
        check(report.written == static_cast<std::uint64_t>(state.range(0)), "all rows written");
      });
}

void nothing_changed(benchmark::State& state) {
  auto& ground = Ground::of(static_cast<int>(state.range(0)));
  const auto sink = make_bigquery_sink(ground.options);
  ground.pass(*sink, true);
  measure(
      state, ground, [] {},
      [&] { check(ground.pass(*sink, true).written == 0, "nothing written"); });
}

void hundred_changes(benchmark::State& state) {
  auto& ground = Ground::of(static_cast<int>(state.range(0)));
  const auto sink = make_bigquery_sink(ground.options);
  ground.pass(*sink, true);
  int version = 1;
  measure(
      state, ground,
      [&] {
        ++version;
        for (int i = 0; i < 100; ++i) put(ground.store, i, version);
      },
      [&] { check(ground.pass(*sink, false).written == 100, "the changes written"); });
}

void peak_memory(benchmark::State& state) {
  auto& ground = Ground::of(static_cast<int>(state.range(0)));
  const auto sink = make_bigquery_sink(ground.options);
  measure_memory(
      state, [&] { ground.drop(); }, [&] { ground.pass(*sink, true); });
}

BENCHMARK(first_export)->Arg(50'000)->UseManualTime()->Iterations(2)->Unit(benchmark::kMillisecond);
BENCHMARK(nothing_changed)
    ->Arg(50'000)
    ->UseManualTime()
    ->Iterations(2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(hundred_changes)
    ->Arg(50'000)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(peak_memory) KOLLECT_MEMORY_SIZES;

}  // namespace
}  // namespace kollect::sinks
