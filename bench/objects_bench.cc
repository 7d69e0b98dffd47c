// The object sink on a real S3 server beside a bare PUT of the same bytes by the same client.
// Counters: "rows/s", "cpu_us/row" of this process, and "ratio": median time of a pass by that of
// such PUTs, one between two passes. The memory of first exports into each kind of store:
// "peak_MiB" above what the process has while it only holds the rows.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "base/hash.h"
#include "bench_rows.h"
#include "inventory/envelope.h"
#include "sinks/objects/azure/azure_bucket.h"
#include "sinks/objects/gcs/gcs_bucket.h"
#include "sinks/objects/s3/s3_bucket.h"
#include "support/azure_server.h"
#include "support/s3_server.h"

namespace kollect::sinks::objects {
namespace {

using kollect::testing::S3Server;
using namespace bench;  // NOLINT: what benchmarks share

std::unique_ptr<Bucket> new_bucket() {
  auto& server = S3Server::shared();
  s3::ClientOptions options;
  options.endpoint = must(s3::parse_endpoint(server.url() + "/bench", false));
  options.region = "us-east-1";
  return s3::make_bucket(
      std::make_shared<s3::Client>(
          options, s3::fixed_credentials({server.key(), base::Secret(server.secret()), {}})),
      {});
}

/// `rows` rows in a store, and a bucket.
struct Ground {
  explicit Ground(int rows) {
    for (int i = 0; i < rows; ++i) put_row(store, i, 1);
    reader = store.subscribe([](const inventory::Owner&) { return true; });
    bucket = new_bucket();
    const auto made = bucket->create(context);
    if (!made.has_value()) must<int>(made.error());
  }

  static Ground& of(int rows) {
    static std::map<int, Ground> all;
    return all.try_emplace(rows, rows).first->second;
  }

  [[nodiscard]] Export head() {
    Export out;
    out.inventory = {"bench", fmt::format("ledger-{}", ++number)};
    out.generation = 1;
    out.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + number));
    out.max_bytes = 0;
    return out;
  }

  /// What a pass writes.
  [[nodiscard]] std::string document() const {
    const auto rows = reader->snapshot().to_row_set();
    inventory::EnvelopeMeta meta;
    meta.generation = 1;
    meta.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000));
    return inventory::envelope_json(rows, meta);
  }

  /// Seconds of one PUT of a new object.
  double bare_put(const std::string& body) {
    const auto begin = Clock::now();
    const auto done = bucket->put(context, "bare", body, {"application/json", "", {}});
    if (!done.has_value()) must<int>(done.error());
    const double seconds = seconds_since(begin);
    remove("bare");
    return seconds;
  }

  void remove(const std::string& key) {
    const auto done = bucket->remove(context, key);
    if (!done.has_value()) must<int>(done.error());
  }

  inventory::RowStore store;
  std::unique_ptr<inventory::Reader> reader;
  std::unique_ptr<Bucket> bucket;
  base::Context context = base::Context::background();
  int number = 0;
};

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

/// Passes of one sink; `first`: each is the first of its inventory, else each has one changed row.
void run(benchmark::State& state, Compression compression, bool first, bool changed) {
  const int rows = static_cast<int>(state.range(0));
  auto& ground = Ground::of(rows);
  const auto body = ground.document();
  ObjectSinkOptions options;
  options.encoder = make_json_encoder();
  options.compression = compression;
  options.shown = "the bucket";
  const auto sink = make_object_sink(options, new_bucket());
  auto head = ground.head();
  const auto pass = [&](bool with_changes) {
    const auto changes = ground.reader->changes();
    const auto snapshot = ground.reader->snapshot();
    const Pass one{head, &snapshot, with_changes ? &changes : nullptr, snapshot.size(),
                   snapshot.set_hash()};
    benchmark::DoNotOptimize(must(sink->apply(ground.context, one)));
    ground.reader->passed(snapshot.version());
  };
  pass(false);
  std::vector<double> bare;
  std::vector<double> passes;
  double cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    bare.push_back(ground.bare_put(body));
    if (first) {
      ground.remove(fmt::format("inventory/bench/{}.json", head.inventory.name));
      head = ground.head();
    }
    head.exported_at += std::chrono::seconds(1);
    if (changed) put_row(ground.store, 7, ++ground.number);
    state.ResumeTiming();
    const auto begin = Clock::now();
    const double before = cpu_seconds();
    pass(!first);
    cpu += cpu_seconds() - before;
    passes.push_back(seconds_since(begin));
  }
  const double seconds = median(std::move(passes));
  state.counters["rows/s"] = rows / seconds;
  state.counters["cpu_us/row"] = cpu * 1e6 / static_cast<double>(state.iterations()) / rows;
  state.counters["ratio"] = seconds / median(std::move(bare));
}

/// A line of /proc/self/status, in MiB.
double memory_of(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != line + ":") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

/// The sink as its type makes it.
using Made = std::function<std::unique_ptr<Sink>(const base::Context&)>;

std::unique_ptr<Sink> s3_sink(const base::Context& /*context*/) {
  ObjectSinkOptions options;
  options.encoder = make_json_encoder();
  options.shown = "the bucket";
  return make_object_sink(std::move(options), new_bucket());
}

std::unique_ptr<Sink> gcs_sink(const base::Context& context) {
  static const kollect::testing::ServerScript server("gcs.sh", "bench");
  api::SnapshotSink spec;
  spec.metadata.name = "ledger";
  spec.spec.type = "gcs";
  spec.spec.endpoint = "gs://bench";
  auto options = must(gcs::gcs_options(spec, {}, std::nullopt,
                                       [](const std::string& name) -> std::optional<std::string> {
                                         if (name != "STORAGE_EMULATOR_HOST") return std::nullopt;
                                         return server.value(name);
                                       },
                                       {}));
  options.bucket.project = "bench";
  const auto bucket = gcs::make_bucket(std::make_shared<google::Api>(options.api), options.bucket);
  if (const auto made = bucket->create(context); !made.has_value()) must<int>(made.error());
  return gcs::make_gcs_sink(std::move(options));
}

std::unique_ptr<Sink> azure_sink(const base::Context& context) {
  auto& server = kollect::testing::AzureServer::shared();
  api::SnapshotSink spec;
  spec.metadata.name = "ledger";
  spec.spec.type = "azureblob";
  spec.spec.endpoint = server.url() + "/bench";
  spec.spec.options["createBucket"] = "true";
  auto options = must(azure::azure_options(
      spec,
      {{"accountName", base::Secret(server.account())}, {"accountKey", base::Secret(server.key())}},
      std::nullopt));
  auto sink = must(azure::make_azure_sink(std::move(options)));
  if (const auto there = sink->probe(context); !there.has_value()) must<int>(there.error());
  return sink;
}

void memory(benchmark::State& state, const Made& made) {
  auto& ground = Ground::of(static_cast<int>(state.range(0)));
  double most = 0;
  for (auto _ : state) {
    const auto sink = made(ground.context);
    const auto head = ground.head();
    const auto snapshot = ground.reader->snapshot();
    const Pass pass{head, &snapshot, nullptr, snapshot.size(), snapshot.set_hash()};
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
    const double before = memory_of("VmRSS");
    must(sink->apply(ground.context, pass));
    most = std::max(most, memory_of("VmHWM") - before);
  }
  state.counters["peak_MiB"] = most;
}

void memory_s3(benchmark::State& state) {
  memory(state, s3_sink);
}
void memory_gcs(benchmark::State& state) {
  memory(state, gcs_sink);
}
void memory_azure(benchmark::State& state) {
  memory(state, azure_sink);
}

void first_pass(benchmark::State& state) {
  run(state, Compression::kNone, true, false);
}
void changed_pass(benchmark::State& state) {
  run(state, Compression::kNone, false, true);
}
void changed_pass_zstd(benchmark::State& state) {
  run(state, Compression::kZstd, false, true);
}
void unchanged_pass(benchmark::State& state) {
  run(state, Compression::kNone, false, false);
}

BENCHMARK(first_pass)->Arg(5'000)->Arg(50'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(changed_pass)->Arg(5'000)->Arg(50'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(changed_pass_zstd)->Arg(50'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(unchanged_pass)->Arg(50'000)->Unit(benchmark::kMillisecond)->UseRealTime();

// Few runs: what counts is the largest.
void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {10'000, 50'000, 150'000, 400'000}) benchmark->Arg(rows);
  benchmark->Iterations(2)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(memory_s3)->Apply(sizes);
BENCHMARK(memory_gcs)->Apply(sizes);
BENCHMARK(memory_azure)->Apply(sizes);

}  // namespace
}  // namespace kollect::sinks::objects
