// The Kafka sink beside Kafka's own org.apache.kafka.tools.ProducerPerformance: as many messages of
// the same mean size to a topic of the same kind on the same broker, in the same run. Counter
// "ratio": messages per second of the sink by those of the tool's better run of two.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "inventory/row_store.h"
#include "sinks/events/event_sink.h"
#include "sinks/kafka/transport.h"
#include "support/server_script.h"

namespace kollect::sinks {
namespace {

using kollect::testing::ServerScript;

const inventory::Owner kOwner{inventory::OwnerClass::kTarget, "bench", "deployments"};

const ServerScript& broker() {
  static const ServerScript server("kafka.sh", "bench");
  return server;
}

std::unique_ptr<Sink> make_sink(const std::string& topic) {
  kafka::KafkaOptions options;
  options.brokers = {broker().value("KAFKA_PLAIN")};
  options.topic = topic;
  options.partitions = 3;  // as the broker gives those that the tool writes to
  return events::make_sink(events::Mode::kChanges, kafka::make_transport(std::move(options)));
}

void fill(inventory::RowStore& store, int rows) {
  for (int i = 0; i < rows; ++i) {
    const std::string name = fmt::format("app-{:06}", i);
    const std::string ns = fmt::format("load-{:04}", i % 100);
    const std::string uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", i * 2654435761U, i);
    const std::string text = fmt::format(
        R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:1.2","registry.example/proxy:2.1"],"partOf":"team-{1}","replicas":{1},"serviceAccount":"app-{0:06}","version":"1.2.0"}})",
        i, i % 40);
    store.upsert(kOwner, 1,
                 {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
  }
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// "100000 records sent, 65616.797900 records/sec (...": the last such line is of the whole run.
double tool_rate(int messages, std::size_t bytes) {
  double best = 0;
  for (int round = 0; round < 2; ++round) {
    const std::string printed = broker().run(
        "java", {"org.apache.kafka.tools.ProducerPerformance", "--topic",
                 fmt::format("tool-{}-{}", messages, round), "--num-records",
                 std::to_string(messages), "--record-size", std::to_string(bytes), "--throughput",
                 "-1", "--producer-props", "bootstrap.servers=" + broker().value("KAFKA_PLAIN"),
                 "acks=all", "enable.idempotence=true"});
    const auto words = printed.rfind(" records/sec (");
    const auto begin = printed.rfind(' ', words - 1) + 1;
    double rate = 0;
    std::from_chars(printed.data() + begin, printed.data() + words, rate);
    best = std::max(best, rate);
  }
  return best;
}

void BM_Bracket(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  inventory::RowStore store;
  fill(store, rows);
  const auto reader = store.subscribe([](const inventory::Owner&) { return true; });
  const auto context = base::Context::background();
  std::size_t bytes = 0;
  double seconds = 0;
  double cpu = 0;
  int round = 0;
  const auto pass_of = [&](const std::string& topic) {
    const auto sink = make_sink(topic);
    const auto snapshot = reader->snapshot();
    Pass pass{.head = {},
              .rows = &snapshot,
              .row_count = snapshot.size(),
              .set_hash = snapshot.set_hash()};
    pass.head.inventory = {"bench", "inventory"};
    pass.head.cluster = "bench";
    pass.head.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000));
    const auto cpu_before = cpu_seconds();
    const auto began = std::chrono::steady_clock::now();
    const auto report = sink->apply(context, pass);
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began);
    if (!report.has_value()) {
      std::fprintf(stderr, "bench: %s\n", report.error().message.c_str());
      std::abort();
    }
    bytes = report->bytes;
    cpu += cpu_seconds() - cpu_before;
    return took.count();
  };
  pass_of("warm");  // the broker's code is compiled
  cpu = 0;
  for (auto _ : state) {
    const double took = pass_of(fmt::format("sink-{}-{}", rows, round++));
    state.SetIterationTime(took);
    seconds += took;
  }
  const auto count = static_cast<double>(state.iterations()) * rows;
  const double tool = tool_rate(rows, bytes / static_cast<std::size_t>(rows));
  state.counters["rows_per_s"] = count / seconds;
  state.counters["cpu_us_per_row"] = cpu / count * 1e6;
  state.counters["bytes_per_row"] = static_cast<double>(bytes) / rows;
  state.counters["tool_rows_per_s"] = tool;
  state.counters["ratio"] = count / seconds / tool;
}

BENCHMARK(BM_Bracket)->Arg(200'000)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks
