// The PostgreSQL sink beside a bare COPY of the same rows into a table of the same shape, on a real
// server. Counter "ratio": time of the pass by the median time of that COPY in the same run;
// BM_PeakMemory: memory of a first export above the row store.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench_rows.h"
#include "sinks/postgres/postgres_sink.h"
#include "sinks/sqlite/sqlite_sink.h"
#include "support/postgres_server.h"

namespace kollect::sinks {
namespace {

using kollect::testing::PostgresServer;
using namespace bench;  // NOLINT: what benchmarks share

/// `rows` rows in a store and in a database of their own.
struct Ground {
  explicit Ground(int rows) {
    for (int i = 0; i < rows; ++i) put_row(store, i, 1);
    reader = store.subscribe([](const inventory::Owner&) { return true; });
    database = fmt::format("bench-{}", rows);
    options.dsn.dsn = base::Secret(PostgresServer::shared().make_database(database));
    options.table.table = "inventory";
    sink = make_postgres_sink(options);
  }

  static Ground& of(int rows) {
    static std::map<int, Ground> all;
    return all.try_emplace(rows, rows).first->second;
  }

  [[nodiscard]] Export head() const {
    Export out;
    out.inventory = {"bench", "inventory"};
    out.exported_at =
        base::WallTime(std::chrono::seconds(1'700'000'000 + ++const_cast<Ground*>(this)->second));
    out.cluster = "bench";
    return out;
  }
  ExportReport reconcile(Sink& into) {
    const auto snapshot = reader->snapshot();
    const Pass pass{head(), &snapshot, nullptr, snapshot.size(), snapshot.set_hash()};
    auto report = must(into.apply(context, pass));
    reader->passed(snapshot.version());
    return report;
  }
  ExportReport delta(Sink& into) {
    const auto changes = reader->changes();
    const Pass pass{head(), nullptr, &changes, reader->row_count(), reader->set_hash()};
    auto report = must(into.apply(context, pass));
    reader->passed(changes.to());
    return report;
  }

  /// Seconds of one COPY of all rows into an empty table of the same shape; the median of three.
  double raw_copy() {
    if (raw > 0) return raw;
    std::string text;
    (void)store.subscribe([](const inventory::Owner&) { return true; })
        ->snapshot()
        .for_each([&](const inventory::RowView& row) -> base::Result<> {
          std::string payload;
          inventory::append_row_json(payload, row);
          text += fmt::format("bench\tinventory\t{}\t{}\tbench\t{}\t{}\t2026-02-03T04:05:06Z\n",
                              row.target_name, row.uid, row.ns, payload);
          return {};
        });
    auto connection = must(pgsql::connect(context, options.dsn));
    std::vector<double> times;
    for (int i = 0; i < 3; ++i) {
      must(connection.run(
          context, "bench",
          "DROP TABLE IF EXISTS raw; " + postgres::create_table_sql("public", "raw")));
      const auto began = Clock::now();
      (void)connection.copy_begin(context, "bench", "COPY raw FROM STDIN");
      for (std::size_t at = 0; at < text.size(); at += 256U << 10U) {
        (void)connection.copy_data(context, std::string_view(text).substr(at, 256U << 10U));
      }
      if (!connection.copy_end(context).has_value()) std::abort();
      times.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    }
    std::sort(times.begin(), times.end());
    raw = times[1];
    return raw;
  }

  inventory::RowStore store;
  std::unique_ptr<inventory::Reader> reader;
  std::string database;
  PostgresOptions options;
  std::unique_ptr<Sink> sink;
  base::Context context = base::Context::background();
  double raw = 0;
  int second = 0;
};

/// Runs `pass` per iteration, timing it alone; `prepare` comes before it.
template <class Prepare, class Run>
void measure(benchmark::State& state, Ground& ground, const Prepare& prepare, const Run& pass) {
  const double raw = ground.raw_copy();
  double total = 0;
  for (auto _ : state) {
    prepare();
    const auto began = Clock::now();
    pass();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    state.SetIterationTime(seconds);
    total += seconds;
  }
  state.counters["raw_copy_ms"] = raw * 1000;
  state.counters["ratio"] = total / static_cast<double>(state.iterations()) / raw;
}

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "bench: not as expected: %s\n", what);
  std::abort();
}

void first_export(benchmark::State& state, bool history) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  PostgresOptions options = ground.options;
  options.table.table = history ? "with_history" : "first";
  options.table.history = history;
  const auto sink = make_postgres_sink(options);
  measure(
      state, ground,
      [&] {
        (void)ground.reconcile(*sink);  // the tables are there
        PostgresServer::shared().ask(
            ground.database,
            "TRUNCATE " + options.table.table + (history ? ", with_history_history" : ""));
      },
      [&] {
        check(ground.reconcile(*sink).written == static_cast<std::uint64_t>(rows), "first export");
      });
}
void BM_FirstExport(benchmark::State& state) {
  first_export(state, false);
}
void BM_FirstExportWithHistory(benchmark::State& state) {
  first_export(state, true);
}

void BM_NothingToDo(benchmark::State& state) {
  Ground& ground = Ground::of(static_cast<int>(state.range(0)));
  (void)ground.reconcile(*ground.sink);
  measure(
      state, ground, [] {},
      [&] { check(ground.reconcile(*ground.sink).written == 0, "nothing to do"); });
}

void BM_OneChange(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  (void)ground.reconcile(*ground.sink);
  int version = 2;
  measure(
      state, ground, [&] { put_row(ground.store, rows / 2, ++version); },
      [&] { check(ground.delta(*ground.sink).written == 1, "one change"); });
}

void BM_OnePercentChanged(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  Ground& ground = Ground::of(rows);
  (void)ground.reconcile(*ground.sink);
  int version = 100;
  measure(
      state, ground,
      [&] {
        ++version;
        for (int i = 0; i < rows; i += 100) put_row(ground.store, i, version);
      },
      [&] {
        check(ground.delta(*ground.sink).written == static_cast<std::uint64_t>(rows / 100),
              "one percent");
      });
}

void BM_PeakMemory(benchmark::State& state) {
  Ground ground(static_cast<int>(state.range(0)));
  measure_memory(
      state, [] {}, [&] { ground.reconcile(*ground.sink); });
}

BENCHMARK(BM_PeakMemory) KOLLECT_MEMORY_SIZES;
BENCHMARK(BM_FirstExport)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FirstExportWithHistory)
    ->Arg(100'000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NothingToDo)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_OneChange)
    ->Arg(100'000)
    ->Iterations(50)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_OnePercentChanged)
    ->Arg(100'000)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks
