#include "manager/telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "manager/telemetry/engine_page.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;

kube::Resource pods() {
  return {.group = "",
          .version = "v1",
          .kind = "Pod",
          .plural = "pods",
          .namespaced = true,
          .verbs = {}};
}

collector::CollectorStats collector_stats() {
  collector::CollectorStats stats;
  for (const char* ns : {"a", "b"}) {
    collector::WatchStats watch{.resource = pods(), .ns = ns, .status = {}, .objects = 10};
    watch.namespace_misses = 2;
    watch.status.lists = 2;
    watch.status.objects = 20;
    stats.watches.push_back(watch);
  }
  stats.access_hits = 9;
  stats.access_misses = 1;
  stats.durations[0] = 5;
  stats.durations.back() = 1;
  stats.duration_sum = 2.5;
  return stats;
}

/// Does in apply() what it is told.
class Sink final : public sinks::Sink {
 public:
  explicit Sink(base::Result<sinks::ExportReport> report) : report_(std::move(report)) {}
  base::Result<sinks::ExportReport> export_all(const base::Context& /*context*/,
                                               const std::vector<sinks::Export>& /*exports*/,
                                               bool /*dry_run*/) override {
    return report_;
  }
  base::Result<sinks::ExportReport> apply(const base::Context& /*context*/,
                                          const sinks::Pass& /*pass*/) override {
    return report_;
  }
  base::Result<> probe(const base::Context& /*context*/) override { return {}; }

 private:
  base::Result<sinks::ExportReport> report_;
};

/// The whole page, as an operator would show it after some work: tests/cases/metrics/operator.txt.
TEST(Telemetry, ThePageIsTheCatalogue) {
  metrics::Registry registry;
  Telemetry telemetry(registry);
  TargetErrors errors(registry);
  const base::ManualClock clock;
  WorkQueue queue(clock);
  telemetry.reconciled("KollectTarget", 20ms, nullptr);
  base::Error error = base::conflict("somebody was first", "conflict");
  telemetry.reconciled("KollectTarget", 7ms, &error);
  error = base::retryable("no answer", "unreachable");
  telemetry.reconciled("KollectInventory", 3s, &error);
  telemetry.debounced("KollectInventory", 2);
  telemetry.sink_probed("postgres", true);
  telemetry.static_ref("KollectClusterTarget", "profile", nullptr);
  sinks::Pass pass;
  pass.head.inventory = {.ns = "shop", .name = "all"};
  sinks::ExportReport report;
  report.bytes = 2U << 20U;
  const std::vector<base::Result<sinks::ExportReport>> outcomes = {
      report, base::denied("no", "forbidden"), base::terminal("4 MiB", "too-large"),
      base::cancelled("stop", "fenced")};
  for (const auto& outcome : outcomes) {
    (void)metered(telemetry, clock, "git", std::make_unique<Sink>(outcome))
        ->apply(base::Context(clock, {}), pass);
  }
  queue.add({.ns = "shop", .name = "all"});
  queue.add_failed({.ns = "shop", .name = "later"});
  collector::Signals signals;
  signals.extraction_failures = 3;
  signals.forbidden_namespaces = {"a", "b"};
  const inventory::Owner target{.owner_class = {}, .ns = "shop", .name = "maps"};
  errors.look({{target, signals}});
  signals.extraction_failures = 1;
  errors.look({{target, signals}});  // fewer is no news
  registry.on_page([&](metrics::Page& page) {
    show_queue(page, "KollectInventory", queue);
    show_collector(page, collector_stats());
    show_store(page, {.rows = 42});
    exporter::InventoryStatus status;
    status.bindings.resize(2);
    status.bindings[0].last_export = base::WallTime(1700000000s);
    show_inventory(page, "KollectInventory", "shop", "all", status);
    show_requests(page, "https://10.0.0.1", {{{"200", "GET"}, 7}, {{"<error>", "PATCH"}, 1}});
  });
  const auto golden = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/metrics/operator.txt");
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(registry.text(), *golden);
}

}  // namespace
}  // namespace kollect::manager
