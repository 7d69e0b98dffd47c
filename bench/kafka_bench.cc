// The Kafka sink beside Kafka's own org.apache.kafka.tools.ProducerPerformance: as many messages of
// the same mean size to a topic of the same kind on the same broker, in the same run. Counter
// "ratio": messages per second of the sink by those of the tool's better run of two; BM_PeakMemory:
// memory of a bracket above the row store.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench_rows.h"
#include "sinks/events/event_sink.h"
#include "sinks/kafka/transport.h"
#include "support/server_script.h"

namespace kollect::sinks {
namespace {

using kollect::testing::ServerScript;
using namespace bench;  // NOLINT: what benchmarks share

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
  Rows all(rows);
  std::size_t bytes = 0;
  double seconds = 0;
  double cpu = 0;
  int round = 0;
  const auto pass_of = [&](const std::string& topic) {
    const auto sink = make_sink(topic);
    const auto cpu_before = cpu_seconds();
    const auto began = Clock::now();
    bytes = all.reconcile(*sink).bytes;
    const double took = seconds_since(began);
    cpu += cpu_seconds() - cpu_before;
    return took;
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

void BM_PeakMemory(benchmark::State& state) {
  const auto count = static_cast<int>(state.range(0));
  Rows rows(count);
  std::unique_ptr<Sink> sink;
  measure_memory(
      state, [&] { sink = make_sink(fmt::format("memory-{}", count)); },
      [&] { rows.reconcile(*sink); });
}

BENCHMARK(BM_PeakMemory) KOLLECT_MEMORY_SIZES;
BENCHMARK(BM_Bracket)->Arg(200'000)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks
