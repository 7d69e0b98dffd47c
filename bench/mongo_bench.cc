// The MongoDB sink beside a bare bulk insert of the same documents, by the client library of
// MongoDB's authors, into a collection with the same unique index, on the same server in the same
// run. Counters: rows per second, processor microseconds per row of this process, and "ratio": time
// of the pass by the time of that insert.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/files.h"
#include "bench_rows.h"
#include "sinks/mongo/handles.h"
#include "sinks/mongo/mongo_sink.h"
#include "support/mongo_server.h"

namespace kollect::sinks::bench {
namespace {

using kollect::testing::MongoServer;
using mongo::Handle;

constexpr std::size_t kBatch = 1'000;

void check(bool good, const bson_error_t& error) {
  if (good) return;
  std::fprintf(stderr, "bench: %s\n", error.message);
  std::abort();
}

class Ground {
 public:
  explicit Ground(int count)
      : rows(count), database_(fmt::format("bench-{}", count)), count_(count) {
    const MongoServer& server = MongoServer::shared();
    options_.access.uri = base::Secret(server.uri());
    options_.access.ca_pem = must(base::read_file(server.ca_file()));
    options_.database = database_;
    options_.collection = "inventory";
    client_.reset(mongoc_client_new(
        fmt::format("{}&tlsCAFile={}", server.uri(), server.ca_file().string()).c_str()));
  }
  static Ground& of(int rows) {
    static std::map<int, std::unique_ptr<Ground>> all;
    auto& made = all[rows];
    if (!made) made = std::make_unique<Ground>(rows);
    return *made;
  }

  [[nodiscard]] std::unique_ptr<Sink> make_sink() const { return make_mongo_sink(options_); }
  void drop(const char* name) const {
    mongoc_collection_drop(collection(name).get(), nullptr);  // it need not be there
  }

  /// Seconds of the bare insert of what the sink has written.
  double limit() {
    if (limit_ > 0) return limit_;
    std::vector<std::unique_ptr<mongo::Bson>> documents = exported();
    drop("plain");
    bson_error_t error;
    mongo::Bson index;
    check(bson_init_from_json(index.refill(),
                              R"({"createIndexes":"plain","indexes":[{"name":"rows","unique":true,)"
                              R"("key":{"cluster":1,"inventory_namespace":1,"inventory_name":1,)"
                              R"("target_name":1,"source_uid":1}}]})",
                              -1, &error),
          error);
    check(mongoc_client_command_simple(client_.get(), database_.c_str(), index.get(), nullptr,
                                       nullptr, &error),
          error);
    const auto began = Clock::now();
    const auto into = collection("plain");
    mongo::Bson unordered;
    bson_append_bool(unordered.get(), "ordered", -1, false);
    for (std::size_t at = 0; at < documents.size(); at += kBatch) {
      const Handle<mongoc_bulk_operation_t> bulk(
          mongoc_collection_create_bulk_operation_with_opts(into.get(), unordered.get()));
      for (std::size_t i = at; i < std::min(documents.size(), at + kBatch); ++i) {
        mongoc_bulk_operation_insert(bulk.get(), documents[i]->get());
      }
      check(mongoc_bulk_operation_execute(bulk.get(), nullptr, &error) != 0, error);
    }
    limit_ = seconds_since(began);
    return limit_;
  }

  Rows rows;

 private:
  [[nodiscard]] Handle<mongoc_collection_t> collection(const char* name) const {
    return Handle<mongoc_collection_t>(
        mongoc_client_get_collection(client_.get(), database_.c_str(), name));
  }
  [[nodiscard]] std::vector<std::unique_ptr<mongo::Bson>> exported() const {
    std::vector<std::unique_ptr<mongo::Bson>> out;
    const auto from = collection("inventory");
    const mongo::Bson all;
    mongo::Bson without_id;
    check(bson_init_from_json(without_id.refill(), R"({"projection":{"_id":0}})", -1, nullptr), {});
    const Handle<mongoc_cursor_t> cursor(
        mongoc_collection_find_with_opts(from.get(), all.get(), without_id.get(), nullptr));
    const bson_t* document = nullptr;
    while (mongoc_cursor_next(cursor.get(), &document)) {
      out.push_back(std::make_unique<mongo::Bson>());
      bson_copy_to(document, out.back()->refill());
    }
    if (out.size() != static_cast<std::size_t>(count_)) std::abort();
    return out;
  }

  std::string database_;
  int count_;
  MongoOptions options_;
  Handle<mongoc_client_t> client_;
  double limit_ = 0;
};

template <class Prepare, class Run>
void measure(benchmark::State& state, const Prepare& prepare, const Run& pass) {
  Ground& ground = Ground::of(static_cast<int>(state.range(0)));
  double took = 0;
  double used = 0;
  for (auto _ : state) {
    auto sink = prepare(ground);
    const double before = cpu_seconds();
    const auto began = Clock::now();
    pass(ground, *sink);
    const double seconds = seconds_since(began);
    used += cpu_seconds() - before;
    took += seconds;
    state.SetIterationTime(seconds);
  }
  const auto passes = static_cast<double>(state.iterations());
  const double rows = static_cast<double>(state.range(0)) * passes;
  state.counters["rows/s"] = rows / took;
  state.counters["cpu_us/row"] = used / rows * 1e6;
  state.counters["limit_rows/s"] = static_cast<double>(state.range(0)) / ground.limit();
  state.counters["ratio"] = took / passes / ground.limit();
}

void BM_FirstExport(benchmark::State& state) {
  measure(
      state,
      [](Ground& ground) {
        ground.drop("inventory");
        return ground.make_sink();
      },
      [](Ground& ground, Sink& sink) { ground.rows.reconcile(sink); });
}

void BM_NothingToDo(benchmark::State& state) {
  measure(
      state, [](Ground& ground) { return ground.make_sink(); },
      [](Ground& ground, Sink& sink) { ground.rows.reconcile(sink); });
}

void BM_OnePercentChanged(benchmark::State& state) {
  int version = 1;
  measure(
      state,
      [&](Ground& ground) {
        auto sink = ground.make_sink();
        ground.rows.reconcile(*sink);
        ++version;
        for (int i = 0; i < state.range(0) / 100; ++i) ground.rows.change(i * 100, version);
        return sink;
      },
      [](Ground& ground, Sink& sink) { ground.rows.delta(sink); });
}

/// Above the row store.
void BM_PeakMemory(benchmark::State& state) {
  Ground& ground = Ground::of(static_cast<int>(state.range(0)));
  std::unique_ptr<Sink> sink;
  measure_memory(
      state,
      [&] {
        ground.drop("inventory");
        sink = ground.make_sink();
      },
      [&] { ground.rows.reconcile(*sink); });
}

#define KOLLECT_ROWS ->Arg(50'000)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond)

BENCHMARK(BM_PeakMemory) KOLLECT_MEMORY_SIZES;
BENCHMARK(BM_FirstExport) KOLLECT_ROWS;
BENCHMARK(BM_NothingToDo) KOLLECT_ROWS;
BENCHMARK(BM_OnePercentChanged) KOLLECT_ROWS;

}  // namespace
}  // namespace kollect::sinks::bench
