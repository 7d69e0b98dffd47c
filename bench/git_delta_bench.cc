// One changed row of a few and of many in a Git repository with a file for every row, pushed to a
// real server. Counter "ratio": processor time of such a pass (ours and that of the git programs
// that push, not the server's) by the one among 1,000 rows in the same run; "whole_ratio": by a
// pass over all rows of the same size.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "inventory/row_store.h"
#include "sinks/factory.h"
#include "support/git_server.h"

namespace kollect::sinks {
namespace {

template <class T>
T must(base::Result<T> result) {
  if (!result.has_value()) {
    std::fprintf(stderr, "bench: %s\n", result.error().message.c_str());
    std::abort();
  }
  return std::move(*result);
}

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "bench: not as expected: %s\n", what);
  std::abort();
}

const inventory::Owner kOwner{inventory::OwnerClass::kTarget, "bench", "deployments"};
constexpr int kRowsOfANamespace = 100;

std::string uid_of(int i) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", static_cast<unsigned>(i) * 2654435761U, i);
}

/// A row with six attributes.
void put(inventory::RowStore& store, int i, int version) {
  const std::string name = fmt::format("app-{:06}", i);
  const std::string ns = fmt::format("load-{:04}", i / kRowsOfANamespace);
  const std::string uid = uid_of(i);
  const std::string text = fmt::format(
      R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:{1}"],"partOf":"team-{2}","replicas":{3},"serviceAccount":"app-{0:06}","version":"{1}.0"}})",
      i, version, i % 40, i % 5);
  store.upsert(kOwner, 1,
               {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
}

double seconds_of(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Processor time so far.
struct Cost {
  double own = seconds_of(RUSAGE_SELF);
  double programs = seconds_of(RUSAGE_CHILDREN);
};

/// `rows` rows in a store and in a repository of their own.
struct Ground {
  explicit Ground(int rows) : folder(must(base::TempDir::create())) {
    for (int i = 0; i < rows; ++i) put(store, i, 1);
    reader = store.subscribe([](const inventory::Owner&) { return true; });
    name = fmt::format("bench-{}", rows);
    kollect::testing::GitServer::shared().make_repository(name);
    sink = make_sink();
    check(pass(false).written == static_cast<std::uint64_t>(rows) + 1, "first export");
  }

  static Ground& of(int rows) {
    static std::map<int, Ground> all;
    return all.try_emplace(rows, rows).first->second;
  }

  [[nodiscard]] std::unique_ptr<Sink> make_sink() const {
    api::SnapshotSink spec;
    spec.metadata.name = "bench";
    spec.spec.type = "git";
    spec.spec.endpoint = kollect::testing::GitServer::shared().http_url() + "/" + name + ".git";
    spec.spec.git.emplace();
    auto& layout = spec.spec.layout.emplace();
    layout.mode = "perResource";
    layout.content = "item";
    SinkOptions options;
    options.guard_addresses = false;
    options.mirror_dir = folder.path() / "mirrors";
    const SecretData secret = {{"username", base::Secret("test")},
                               {"password", base::Secret("secret")}};
    return must(make_snapshot_sink(spec, secret, {}, options));
  }

  ExportReport pass(bool differences) {
    const auto changes = reader->changes();
    const auto rows = reader->snapshot();
    Pass pass;
    pass.head.inventory = {"bench", "inventory"};
    pass.head.generation = 1;
    pass.head.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + ++second));
    pass.head.cluster = "bench";
    pass.rows = &rows;
    pass.changes = differences ? &changes : nullptr;
    pass.row_count = rows.size();
    pass.set_hash = rows.set_hash();
    auto report = must(sink->apply(context, pass));
    reader->passed(differences ? changes.to() : rows.version());
    return report;
  }

  base::Context context = base::Context::background();
  base::TempDir folder;
  std::string name;
  inventory::RowStore store;
  std::unique_ptr<inventory::Reader> reader;
  std::unique_ptr<Sink> sink;
  int second = 0;
};

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
}  // namespace kollect::sinks
