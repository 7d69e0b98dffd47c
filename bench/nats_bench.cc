// Change events of 50,000 rows to a real nats-server, beside an asynchronous publisher that does
// nothing but hand over the same messages by the client library of NATS' authors. Counters:
// rows_per_s and cpu_us_per_row of this process, the same of that publisher (limit_...), "ratio":
// rows_per_s by its rows_per_s, medians of one run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nats/nats.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "inventory/row_store.h"
#include "sinks/events/event_sink.h"
#include "sinks/nats/nats_transport.h"
#include "support/server_script.h"

namespace kollect::sinks {
namespace {

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

double cpu_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class Work>
Cost cost_of(const Work& work) {
  const double cpu = cpu_now();
  const auto began = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return {.seconds = took.count(), .cpu = cpu_now() - cpu};
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
    for (int i = 0; i < kRows; ++i) {
      const std::string name = fmt::format("app-{:06}", i);
      const std::string ns = fmt::format("load-{:04}", i % 100);
      const std::string uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", i * 2654435761U, i);
      const std::string text = fmt::format(
          R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:1.{1}","registry.example/proxy:{1}.1"],"partOf":"team-{2}","replicas":{1},"serviceAccount":"app-{0:06}","version":"1.{1}.0"}})",
          i, i % 5, i % 40);
      store_.upsert({inventory::OwnerClass::kTarget, "bench", "deployments"}, 1,
                    {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
    }
    options_.servers = nats::read_servers(server_.value("NATS_HOST"), options_.login).value();
    options_.login.username = base::Secret(server_.value("NATS_USER"));
    options_.login.password = base::Secret(server_.value("NATS_PASSWORD"));
    options_.subject = "bench";
    options_.stream = "bench";
    options_.changes = true;
    Export head = this->head();
    (void)pass(*events::make_sink(events::Mode::kChanges, std::make_unique<Recorder>(messages_)),
               head);
  }

  Cost ours() {
    const auto sink = events::make_sink(events::Mode::kChanges, nats::make_transport(options_));
    const Export head = this->head();
    check(sink->probe(context_).has_value(), "no server");
    return cost_of([&] {
      const auto report = pass(*sink, head);
      check(report.has_value() && report->written == kRows, "our export");
    });
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
  Export head() {
    Export out;
    out.inventory = {"bench", "inventory"};
    out.cluster = "bench";
    out.max_bytes = 0;
    out.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + ++second_));
    return out;
  }
  base::Result<ExportReport> pass(Sink& sink, const Export& head) {
    const auto rows = reader_->snapshot();
    return sink.apply(
        context_,
        {.head = head, .rows = &rows, .row_count = rows.size(), .set_hash = rows.set_hash()});
  }

  kollect::testing::ServerScript server_{"nats.sh", "bench"};
  nats::NatsOptions options_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_ =
      store_.subscribe([](const inventory::Owner&) { return true; });
  std::vector<events::Message> messages_;
  base::Context context_ = base::Context::background();
  int second_ = 0;
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
BENCHMARK(BM_ChangeEvents)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kollect::sinks
