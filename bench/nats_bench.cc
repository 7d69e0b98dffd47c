// Change events of 50,000 rows to a real nats-server, beside an asynchronous publisher that does
// nothing but hand over the same messages by the client library of NATS' authors. Counters:
// rows_per_s and cpu_us_per_row of this process, the same of that publisher (limit_...), "ratio":
// rows_per_s by its rows_per_s, medians of one run; BM_PeakMemory: memory of a bracket above the
// row store.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nats/nats.h>

#include <algorithm>

#include "bench_rows.h"
#include "sinks/events/event_sink.h"
#include "sinks/nats/nats_transport.h"
#include "support/server_script.h"

namespace kollect::sinks {
namespace {

using namespace bench;  // NOLINT: what benchmarks share

constexpr int kRows = 50'000;
constexpr int kRounds = 3;

void check(bool good, std::string_view what) {
  if (good) return;
  std::fprintf(stderr, "bench: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

struct Cost {
  double seconds = 0;
  double cpu = 0;  ///< seconds of this process
};

template <class Work>
Cost cost_of(const Work& work) {
  const double cpu = cpu_seconds();
  const auto began = Clock::now();
  work();
  const double took = seconds_since(began);
  return {.seconds = took, .cpu = cpu_seconds() - cpu};
}

Cost median(std::vector<Cost> all) {
  std::ranges::sort(all, {}, &Cost::seconds);
  return all[all.size() / 2];
}

/// Keeps what a sink sends.
class Recorder final : public events::Transport {
 public:
  explicit Recorder(std::vector<events::Message>& into) : into_(into) {}
  base::Result<> open(const base::Context&, const InventoryId&, const std::string&) override {
    return {};
  }
  base::Result<> send(const base::Context&, events::Message message) override {
    into_.push_back(std::move(message));
    return {};
  }
  base::Result<> flush(const base::Context&) override { return {}; }
  [[nodiscard]] std::size_t max_body() const override { return 1U << 20U; }
  base::Result<> probe(const base::Context&) override { return {}; }

 private:
  std::vector<events::Message>& into_;
};

class Ground {
 public:
  Ground() {
    options_.servers = nats::read_servers(server_.value("NATS_HOST"), options_.login).value();
    options_.login.username = base::Secret(server_.value("NATS_USER"));
    options_.login.password = base::Secret(server_.value("NATS_PASSWORD"));
    options_.subject = "bench";
    options_.stream = "bench";
    options_.changes = true;
    rows_.reconcile(
        *events::make_sink(events::Mode::kChanges, std::make_unique<Recorder>(messages_)));
  }

  Cost ours() {
    const auto sink = make_sink();
    return cost_of([&] { check(rows_.reconcile(*sink).written == kRows, "our export"); });
  }
  /// One that has seen the server.
  std::unique_ptr<Sink> make_sink() {
    auto sink = events::make_sink(events::Mode::kChanges, nats::make_transport(options_));
    check(sink->probe(rows_.context).has_value(), "no server");
    return sink;
  }

  /// The limit.
  Cost theirs() {
    natsOptions* options = nullptr;
    natsOptions_Create(&options);
    natsOptions_SetURL(options, server_.value("NATS_URL").c_str());
    natsOptions_SetUserInfo(options, server_.value("NATS_USER").c_str(),
                            server_.value("NATS_PASSWORD").c_str());
    natsConnection* connection = nullptr;
    check(natsConnection_Connect(&connection, options) == NATS_OK, "their connection");
    jsCtx* stream = nullptr;
    check(natsConnection_JetStream(&stream, connection, nullptr) == NATS_OK, "their context");
    ++round_;
    const Cost cost = cost_of([&] {
      for (const auto& one : messages_) {
        natsMsg* message = nullptr;
        const std::string subject = "bench." + one.type;
        natsMsg_Create(&message, subject.c_str(), nullptr, one.body->data(),
                       static_cast<int>(one.body->size()));
        for (const auto& [name, value] : one.headers) {
          natsMsgHeader_Set(message, name.c_str(), value.c_str());
        }
        // Ids of earlier rounds would be taken for repetitions.
        const std::string id = one.id + std::to_string(round_);
        natsMsgHeader_Set(message, "Nats-Msg-Id", id.c_str());
        check(js_PublishMsgAsync(stream, &message, nullptr) == NATS_OK, "their publish");
      }
      check(js_PublishAsyncComplete(stream, nullptr) == NATS_OK, "their acknowledgements");
    });
    jsCtx_Destroy(stream);
    natsConnection_Destroy(connection);
    natsOptions_Destroy(options);
    return cost;
  }

 private:
  kollect::testing::ServerScript server_{"nats.sh", "bench"};
  nats::NatsOptions options_;
  Rows rows_{kRows};
  std::vector<events::Message> messages_;
  int round_ = 0;
};

void BM_ChangeEvents(benchmark::State& state) {
  Ground ground;
  std::vector<Cost> ours;
  std::vector<Cost> theirs;
  for (auto _ : state) {
    for (int i = 0; i < kRounds; ++i) {
      ours.push_back(ground.ours());
      theirs.push_back(ground.theirs());
    }
    state.SetIterationTime(median(ours).seconds);
  }
  const Cost mine = median(ours);
  const Cost limit = median(theirs);
  state.counters["rows_per_s"] = kRows / mine.seconds;
  state.counters["cpu_us_per_row"] = mine.cpu / kRows * 1e6;
  state.counters["limit_rows_per_s"] = kRows / limit.seconds;
  state.counters["limit_cpu_us_per_row"] = limit.cpu / kRows * 1e6;
  state.counters["ratio"] = limit.seconds / mine.seconds;
}

void BM_PeakMemory(benchmark::State& state) {
  Ground ground;
  Rows rows(static_cast<int>(state.range(0)));
  std::unique_ptr<Sink> sink;
  measure_memory(
      state, [&] { sink = ground.make_sink(); }, [&] { rows.reconcile(*sink); });
}

BENCHMARK(BM_PeakMemory) KOLLECT_MEMORY_SIZES;
BENCHMARK(BM_ChangeEvents)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks
