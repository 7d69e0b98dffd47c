#include "manager/telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

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
    watch.listed_again = 10;
    watch.status.waiting = 3;
    watch.status.held_up = 1;
    stats.watches.push_back(watch);
  }
  stats.held_up_before = 2;
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

class Thrower final : public sinks::Sink {
 public:
  base::Result<sinks::ExportReport> export_all(const base::Context& /*context*/,
                                               const std::vector<sinks::Export>& /*exports*/,
                                               bool /*dry_run*/) override {
    throw std::runtime_error("of a library");
  }
  base::Result<sinks::ExportReport> apply(const base::Context& /*context*/,
                                          const sinks::Pass& /*pass*/) override {
    throw std::runtime_error("of a library");
  }
  base::Result<> probe(const base::Context& /*context*/) override { return {}; }
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
  report.replaced = 3;
  const std::vector<base::Result<sinks::ExportReport>> outcomes = {
      report, base::terminal("2 MiB", "spill_required"), base::denied("no", "forbidden"),
      base::terminal("4 MiB", "too-large"), base::cancelled("stop", "fenced")};
  for (const auto& outcome : outcomes) {
    (void)metered(telemetry, clock, "git", std::make_unique<Sink>(outcome))
        ->apply(base::Context(clock, {}), pass);
  }
  EXPECT_THROW((void)metered(telemetry, clock, "git", std::make_unique<Thrower>())
                   ->apply(base::Context(clock, {}), pass),
               std::runtime_error);
  telemetry.backend_failed(base::configuration("no such option"));
  telemetry.many_rows();
  telemetry.dependents_unknown("KollectInventory", "sink");
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
    show_prune_errors(page, target, 3);
    show_mistyped(page, target, {{"ready", 2}});
    show_store(page, {.rows = 42});
    exporter::InventoryStatus status;
    status.bindings.resize(2);
    status.bindings[1].interval = 30s;
    status.bindings[0].last_export = base::WallTime(1700000000s);
    show_inventory(page, "KollectInventory", "shop", "all", status);
    status.suspended = true;
    show_inventory(page, "KollectInventory", "shop", "suspended", status);
    show_looks(page, "KollectInventory", {.unchanged = 5, .changed = 2});
    show_breaker(page, "git", "shop", "repo", exporter::Breaker::State::kOpen);
    show_breaker(page, "git", "shop", "tried", exporter::Breaker::State::kHalfOpen);
    show_breaker(page, "postgres", "shop", "pg", exporter::Breaker::State::kClosed);
    show_requests(page, "https://10.0.0.1", {{{"200", "GET"}, 7}, {{"<error>", "PATCH"}, 1}});
  });
  const auto golden = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/metrics/operator.txt");
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(registry.text(), *golden);
}

}  // namespace
}  // namespace kollect::manager
