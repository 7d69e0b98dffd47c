// A reflector by itself: how many events it hands to a receiver that does nothing, beside the limit
// of 10,000 in a second on one core, and what one costs that only waits. The server is another
// process on loopback.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "kube/reflector.h"
#include "support/certificates.h"
#include "support/watch_server.h"

namespace kollect::kube {
namespace {

constexpr double kLimit = 10'000;  ///< events in a second on one core

using testing::HttpServer;
using testing::HttpServerOptions;
using testing::Received;
using testing::Reply;

/// A server in a process of its own, so that neither its time nor its memory counts. Made while no
/// other thread runs.
class ServerProcess {
 public:
  ServerProcess(HttpServer::Answer answer, const HttpServerOptions& options) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const HttpServer server(std::move(answer), options);
      const std::uint16_t port = server.port();
      if (write(ends[1], &port, sizeof port) != sizeof port) _exit(1);
      while (true) pause();
    }
    std::uint16_t port = 0;
    if (read(ends[0], &port, sizeof port) != sizeof port) std::abort();
    close(ends[0]);
    close(ends[1]);
    config.server = fmt::format("{}://127.0.0.1:{}",
                                options.certificate.cert_pem.empty() ? "http" : "https", port);
  }
  ~ServerProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  ClusterConfig config;

 private:
  pid_t child_ = -1;
};

WatchQuery pods() {
  WatchQuery query;
  query.resource.version = "v1";
  query.resource.kind = "Pod";
  query.resource.plural = "pods";
  return query;
}

struct Counter : ObjectReceiver {
  void begin_list() override {}
  void object(base::json::View) override { ++objects; }
  void deleted(base::json::View) override { ++objects; }
  void end_list() override {}
  std::atomic<std::size_t> objects = 0;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Never ends: a watch without news.
void stay() {
  while (true) pause();
}

Reply quiet() {
  Reply reply = testing::watch_reply({testing::end_mark("1")});
  reply.more.emplace_back(stay, "");
  return reply;
}

/// A watch that changes an object this often.
Reply flood(const std::string& object, std::size_t events) {
  const std::string line = R"({"type":"MODIFIED","object":)" + object + "}\n";
  Reply reply = testing::watch_reply({testing::end_mark("1")});
  std::string part;
  for (std::size_t i = 0; i < events; ++i) {
    part += line;
    if (part.size() < (256U << 10U) && i + 1 < events) continue;
    reply.more.emplace_back(nullptr, std::move(part));
    part.clear();
  }
  reply.more.emplace_back(stay, "");
  return reply;
}

/// `idle` reflectors of the same client wait beside the busy one.
void events(benchmark::State& state, const std::string& object, std::size_t idle = 0) {
  constexpr std::size_t kEvents = 50'000;
  const base::SystemClock clock;
  double cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const ServerProcess server(
        [&](const Received& request) {
          return request.query("labelSelector").empty() ? flood(object, kEvents) : quiet();
        },
        {});
    Client client(std::make_shared<http::Client>(), server.config, {}, nullptr);
    ListGate gate(1);
    Counter counter;
    Reflector reflector(client, pods(), counter, gate, clock, nullptr);
    std::vector<std::unique_ptr<Reflector>> others;
    WatchQuery query = pods();
    query.label_selector = "quiet";
    for (std::size_t i = 0; i < idle; ++i) {
      others.push_back(std::make_unique<Reflector>(client, query, counter, gate, clock, nullptr));
      others.back()->start();
      while (!others.back()->status().synced) usleep(500);
    }
    state.ResumeTiming();
    const double before = cpu_seconds();
    reflector.start();
    while (counter.objects < kEvents) usleep(500);
    cpu += cpu_seconds() - before;
    state.PauseTiming();
    reflector.stop();
    for (auto& other : others) other->request_stop();
    others.clear();
    state.ResumeTiming();
  }
  const double all = static_cast<double>(kEvents * state.iterations());
  state.counters["events/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["events/cpu_s"] = all / cpu;
  state.counters["times_limit"] = all / cpu / kLimit;
  state.counters["bytes/event"] = static_cast<double>(object.size());
}

std::size_t resident_bytes() {
  malloc_trim(0);
  const std::string text = *base::read_file("/proc/self/statm", 1000);
  std::size_t total = 0;
  std::size_t pages = 0;
  if (std::sscanf(text.c_str(), "%zu %zu", &total, &pages) != 2) std::abort();
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Resident memory of reflectors that have synced and wait for events.
void idle(benchmark::State& state, bool tls) {
  constexpr std::size_t kReflectors = 100;
  const base::SystemClock clock;
  for (auto _ : state) {
    const testing::TestAuthority authority;
    HttpServerOptions options;
    if (tls) options.certificate = authority.issue("server", {"IP:127.0.0.1"});
    ServerProcess server([](const Received&) { return quiet(); }, options);
    server.config.ca_pem = authority.pem();
    Client client(std::make_shared<http::Client>(), server.config, {}, nullptr);
    ListGate gate(4);
    Counter counter;
    std::vector<std::unique_ptr<Reflector>> reflectors;
    const auto add = [&] {
      reflectors.push_back(
          std::make_unique<Reflector>(client, pods(), counter, gate, clock, nullptr));
      reflectors.back()->start();
      while (!reflectors.back()->status().synced) usleep(500);
    };
    add();  // what all share
    const std::size_t before = resident_bytes();
    for (std::size_t i = 0; i < kReflectors; ++i) add();
    const double grown = static_cast<double>(resident_bytes() - before);
    state.counters["bytes/reflector"] = grown / kReflectors;
  }
}

void register_all() {
  const std::string pod = [] {
    const std::string text = *base::read_file(KOLLECT_SOURCE_DIR "/bench/data/pod.json");
    return base::json::compact(base::json::Document::parse(text)->root());
  }();
  const std::string small =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b",)"
      R"("resourceVersion":"7","uid":"00000000-0000-0000-0000-000000000000"},"data":{"k":"v"}})";
  const auto slow = [](benchmark::internal::Benchmark* benchmark) {
    benchmark->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(3);
  };
  slow(benchmark::RegisterBenchmark("Events/pod", events, pod, 0));
  slow(benchmark::RegisterBenchmark("Events/pod_beside_300_idle", events, pod, 300));
  slow(benchmark::RegisterBenchmark("Events/config_map", events, small, 0));
  benchmark::RegisterBenchmark("Idle/plain", idle, false)->Iterations(1);
  benchmark::RegisterBenchmark("Idle/tls", idle, true)->Iterations(1);
}

[[maybe_unused]] const bool registered = (register_all(), true);

}  // namespace
}  // namespace kollect::kube
