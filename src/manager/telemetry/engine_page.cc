#include "manager/telemetry/engine_page.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace kollect::manager {
namespace {

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

/// Watches of one kind, however many there are.
struct Kind {
  std::uint64_t objects = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t listed_again = 0;
  bool cluster_wide = false;
};

}  // namespace

void show_queue(metrics::Page& page, const std::string& controller, const WorkQueue& queue) {
  const WorkQueue::Counts counts = queue.counts();
  page.gauge("kollect_workqueue_depth", "Objects that wait for a pass, or are in one.",
             {{"controller", controller}}, number(counts.due + counts.running));
  const metrics::Labels labels{{"controller", controller}, {"name", controller}};
  page.gauge("workqueue_depth", "Objects that wait for a pass.", labels, number(counts.due));
  page.counter("workqueue_adds_total", "Objects that were added.", labels, number(counts.adds));
  page.counter("workqueue_retries_total", "Passes that are tried again after a failure.", labels,
               number(counts.retries));
}

void show_collector(metrics::Page& page, const collector::CollectorStats& stats) {
  std::map<std::tuple<std::string, std::string, std::string>, Kind> kinds;
  std::uint64_t waiting = 0;
  std::uint64_t held_up = stats.held_up_before;
  for (const collector::WatchStats& watch : stats.watches) {
    Kind& kind = kinds[{watch.resource.group, watch.resource.version, watch.resource.plural}];
    kind.objects += watch.objects;
    kind.mismatches += watch.namespace_misses;
    kind.listed_again += watch.listed_again;
    waiting += watch.status.waiting;
    held_up += watch.status.held_up;
    kind.cluster_wide = kind.cluster_wide || watch.ns.empty();
  }
  for (const auto& [key, kind] : kinds) {
    const auto& [group, version, resource] = key;
    const metrics::Labels labels{{"group", group}, {"version", version}, {"resource", resource}};
    page.gauge("kollect_informer_objects", "Objects of a kind that there are.", labels,
               number(kind.objects));
    page.gauge("kollect_informer_cluster_wide_scope",
               "1: the kind is watched in all namespaces with one watch.", labels,
               kind.cluster_wide ? 1 : 0);
    page.counter("kollect_informer_resync_dispatches_total",
                 "Objects that were handed over by lists after the first.", labels,
                 number(kind.listed_again));
    page.counter("kollect_collect_namespace_mismatch_total",
                 "Objects outside the namespaces of every target.", labels,
                 number(kind.mismatches));
  }
  page.gauge("kollect_collect_dispatch_queue_depth",
             "Events of watches that have come and were not handled yet.", {}, number(waiting));
  page.counter("kollect_collect_dispatch_backpressure_total",
               "Times that a watch was not read on because too much was waiting.", {},
               number(held_up));
  page.histogram("kollect_collect_dispatch_duration_seconds", "Time of one object for all targets.",
                 collector::CollectorStats::kBounds, stats.durations, stats.duration_sum);
  page.counter("kollect_access_cache_total", "Access reviews.", {{"result", "hit"}},
               number(stats.access_hits));
  page.counter("kollect_access_cache_total", "Access reviews.", {{"result", "miss"}},
               number(stats.access_misses));
}

void show_store(metrics::Page& page, const inventory::RowStoreStats& stats) {
  page.gauge("kollect_collect_items_total", "Rows in the store.", {}, number(stats.rows));
}

void show_looks(metrics::Page& page, const std::string& controller,
                const exporter::LookCounts& looks) {
  const auto show = [&](const char* result, std::uint64_t count) {
    page.counter("kollect_namespace_fingerprint_cache_total",
                 "Looks at the rows of an inventory; hit: none had changed since the last export.",
                 {{"controller", controller}, {"result", result}}, number(count));
  };
  show("hit", looks.unchanged);
  show("miss", looks.changed);
}

void show_breaker(metrics::Page& page, const std::string& sink_type, const std::string& ns,
                  const std::string& name, exporter::Breaker::State state) {
  using State = exporter::Breaker::State;
  const double value = state == State::kClosed ? 0 : state == State::kHalfOpen ? 1 : 2;
  page.gauge("kollect_sink_breaker_state",
             "0: exports go to the sink; 2: it failed too often and is left alone; 1: the next "
             "export tries it.",
             {{"sink_type", sink_type}, {"namespace", ns}, {"name", name}}, value);
}

std::size_t show_inventory(metrics::Page& page, const std::string& kind, const std::string& ns,
                           const std::string& name, const exporter::InventoryStatus& status) {
  const metrics::Labels labels{{"kind", kind}, {"namespace", ns}, {"name", name}};
  std::optional<base::WallTime> last;
  base::Duration interval{};
  for (const exporter::BindingStatus& binding : status.bindings) {
    interval = std::max(interval, binding.interval);
    if (binding.last_export && (!last || *binding.last_export > *last)) last = binding.last_export;
  }
  if (last) {
    page.gauge("kollect_export_last_success_timestamp_seconds",
               "When an export of the inventory succeeded last.", labels,
               std::chrono::duration<double>(last->time_since_epoch()).count());
  }
  // Below a second there are no exports without a change.
  if (!status.suspended && interval >= std::chrono::seconds(1)) {
    page.gauge("kollect_export_interval_seconds",
               "Longest time between two exports of the inventory that nothing asked for.", labels,
               std::chrono::duration<double>(interval).count());
  }
  return status.rows;
}

void show_requests(metrics::Page& page, const std::string& server,
                   const kube::RequestCounts& counts) {
  for (const auto& [key, count] : counts) {
    page.counter("rest_client_requests_total", "Requests to the API server.",
                 {{"code", key.first}, {"host", server}, {"method", key.second}}, number(count));
  }
}

namespace {
std::string label_of(const inventory::Owner& target) {
  return target.ns.empty() ? target.name : target.ns + "/" + target.name;
}
}  // namespace

void show_mistyped(metrics::Page& page, const inventory::Owner& target,
                   const std::map<std::string, std::uint64_t>& by_attribute) {
  for (const auto& [attribute, count] : by_attribute) {
    page.counter("kollect_attribute_type_mismatch_total",
                 "Values that do not fit the type of their attribute.",
                 {{"target", label_of(target)}, {"attribute", attribute}}, number(count));
  }
}

void show_mistyped(metrics::Page& page, const collector::Collector& collector) {
  for (const auto& target : collector.targets()) {
    show_mistyped(page, target, collector.signals(target).mistyped);
  }
}

void show_prune_errors(metrics::Page& page, const inventory::Owner& target, std::uint64_t errors) {
  page.counter("kollect_prune_errors_total",
               "Evaluations of export.prune.cel that failed and cut nothing.",
               {{"target", label_of(target)}}, number(errors));
}

void show_prune_errors(metrics::Page& page, const collector::Collector& collector) {
  for (const auto& target : collector.targets()) {
    show_prune_errors(page, target, collector.signals(target).prune_errors);
  }
}

TargetErrors::TargetErrors(metrics::Registry& registry)
    : terminal_(registry.counter(kReconcileErrors, kReconcileErrorsHelp,
                                 {{"kind", "KollectTarget"}, {"error_class", "terminal"}})),
      forbidden_(registry.counter(kReconcileErrors, kReconcileErrorsHelp,
                                  {{"kind", "KollectTarget"}, {"error_class", "forbidden"}})),
      transient_(registry.counter(kReconcileErrors, kReconcileErrorsHelp,
                                  {{"kind", "KollectTarget"}, {"error_class", "transient"}})) {}

void TargetErrors::look(const std::map<inventory::Owner, collector::Signals>& targets) {
  std::erase_if(seen_, [&](const auto& item) { return !targets.contains(item.first); });
  for (const auto& [target, signals] : targets) {
    Seen& seen = seen_[target];
    const Seen now{.failures = signals.extraction_failures,
                   .forbidden = signals.forbidden_namespaces.size(),
                   .access = signals.access_check_error.has_value()};
    if (now.failures > seen.failures) terminal_.add(number(now.failures - seen.failures));
    if (now.forbidden > seen.forbidden) forbidden_.add(number(now.forbidden - seen.forbidden));
    if (now.access && !seen.access) transient_.add();
    seen = now;
  }
}

}  // namespace kollect::manager
