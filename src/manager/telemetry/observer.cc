#include "manager/telemetry/observer.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "manager/cluster_inventory_controller.h"
#include "manager/inventory_conditions.h"
#include "manager/telemetry/shown_targets.h"

namespace kollect::manager {
namespace {

constexpr std::string_view kTarget = "KollectTarget";
constexpr std::string_view kClusterTarget = "KollectClusterTarget";
constexpr std::string_view kInventory = "KollectInventory";
constexpr std::string_view kClusterInventory = "KollectClusterInventory";

sinks::InventoryId id_of(std::string_view controller, const Key& key) {
  const bool cluster = controller == kClusterInventory;
  return {.ns = cluster ? std::string(ClusterInventoryController::kPlace) : key.ns,
          .name = key.name};
}

/// What went wrong with the exports of an inventory, or stands in their way.
std::optional<base::Error> failure_of(const base::json::Value& manifest,
                                      const exporter::InventoryStatus* status) {
  if (status != nullptr) {
    for (const exporter::BindingStatus& binding : status->bindings) {
      if (binding.error) return binding.error;
    }
  }
  const base::json::Value* list = manifest.at_path({"status", "conditions"});
  if (list == nullptr || !list->is_array()) return std::nullopt;
  for (const base::json::Value& one : list->as_array()) {
    if (one.text("type") == "Degraded" && one.text("status") == "True" &&
        one.text("reason") != "Suspended") {
      return base::retryable(std::string(one.text("message")), std::string(one.text("reason")));
    }
  }
  return std::nullopt;
}

template <class T>
std::optional<base::Error> failure_in(const ObjectCache<T>& cache, const Key& key,
                                      const exporter::InventoryStatus* status) {
  const auto inventory = cache.get(key);
  return inventory ? failure_of(inventory->manifest, status) : std::nullopt;
}

}  // namespace

Observer::Observer(Observed parts, metrics::Registry& registry, Telemetry& telemetry,
                   const base::Clock& clock, base::Duration metrics_interval)
    : parts_(parts),
      registry_(registry),
      telemetry_(telemetry),
      domain_(parts.store, clock, metrics_interval),
      target_errors_(registry) {}

void Observer::add_queue(const std::string& controller, const WorkQueue& queue) {
  queues_[controller] = &queue;
}

void Observer::start() {
  registry_.before_text([this] {
    std::map<inventory::Owner, collector::Signals> signals;
    for (const auto& target : parts_.collector.targets()) {
      signals[target] = parts_.collector.signals(target);
    }
    const std::scoped_lock lock(mutex_);
    target_errors_.look(signals);
  });
  registry_.on_page([this](metrics::Page& page) { fill(page); });
}

// ---- Passes

Workers::Seen Observer::seen_by(const std::string& controller) {
  return [this, controller](const Key& key, base::Duration took, const base::Error* error) {
    passed(controller, key, took, error);
  };
}

void Observer::passed(const std::string& controller, const Key& key, base::Duration took,
                      const base::Error* error) {
  std::optional<base::Error> failure;
  if (controller == kInventory || controller == kClusterInventory) {
    const sinks::InventoryId id = id_of(controller, key);
    const auto status = parts_.exporter.status(id);
    const exporter::InventoryStatus* known = status ? &*status : nullptr;
    inventory_passed(controller, id, known);
    failure = controller == kInventory
                  ? failure_in(parts_.inventories, key, known)
                  : failure_in(parts_.cluster_inventories, Key{.ns = "", .name = key.name}, known);
  }
  if (controller == kClusterInventory) count_sinks_of(key);
  if (controller == kClusterTarget) count_profile_of(key);
  if (error == nullptr && failure) error = &*failure;
  telemetry_.reconciled(controller, took, error);
}

void Observer::inventory_passed(const std::string& controller, const sinks::InventoryId& id,
                                const exporter::InventoryStatus* status) {
  const bool large = status != nullptr && status->rows >= kManyRows;
  bool grown = false;
  {
    const std::scoped_lock lock(mutex_);
    grown = large ? large_.insert(id).second : (large_.erase(id), false);
  }
  if (grown) telemetry_.many_rows();
  if (status == nullptr) return;
  telemetry_.debounced(controller, static_cast<std::size_t>(std::ranges::count(
                                       status->bindings, exporter::BindingStatus::State::kDebounced,
                                       &exporter::BindingStatus::state)));
}

bool Observer::watched(const std::string& ns) const {
  const auto& all = parts_.watch_namespaces;
  return all.empty() || std::ranges::find(all, ns) != all.end();
}

void Observer::count_profile_of(const Key& cluster_target) {
  const auto target = parts_.cluster_targets.get(cluster_target);
  if (!target) return;
  const auto& ref = target->object.spec.profile_ref;
  std::optional<base::Error> error;
  if (!watched(ref.ns)) {
    error = base::denied("the operator does not read that namespace");
  } else if (!parts_.profiles.get({.ns = ref.ns, .name = ref.name})) {
    error = base::not_found("no such profile");
  }
  telemetry_.static_ref(std::string(kClusterTarget), "profile", error ? &*error : nullptr);
}

template <class T>
void Observer::count_sink(const ObjectCache<T>& cache, const char* family, const Key& sink) {
  std::optional<base::Error> error;
  if (!watched(sink.ns)) {
    error = base::denied("the operator does not read that namespace");
  } else if (!cache.get(sink)) {
    error = cache.lookup_error();
    if (!error && !cache.synced()) return;  // nobody knows yet
    if (!error) error = base::not_found("no such sink");
  }
  telemetry_.static_ref(std::string(kClusterInventory), family, error ? &*error : nullptr);
}

void Observer::count_sinks_of(const Key& cluster_inventory) {
  const auto inventory = parts_.cluster_inventories.get({.ns = "", .name = cluster_inventory.name});
  if (!inventory) return;
  const api::ClusterInventorySpec& spec = inventory->object.spec;
  const auto key_of = [&](const api::SinkReference& ref) {
    return Key{.ns = ref.ns.empty() ? ClusterInventoryController::sink_namespace(spec) : ref.ns,
               .name = ref.name};
  };
  for (const auto& ref : spec.snapshot_sink_refs) {
    count_sink(parts_.sinks.snapshot, "snapshot", key_of(ref));
  }
  for (const auto& ref : spec.database_sink_refs) {
    count_sink(parts_.sinks.database, "database", key_of(ref));
  }
  for (const auto& ref : spec.event_sink_refs) {
    count_sink(parts_.sinks.event, "event", key_of(ref));
  }
}

void Observer::waking_inventories(const std::string& watch) {
  if (parts_.inventories.lookup_error()) {
    telemetry_.dependents_unknown(std::string(kInventory), watch);
  }
  if (parts_.cluster_inventories.lookup_error()) {
    telemetry_.dependents_unknown(std::string(kClusterInventory), watch);
  }
}

// ---- Pages

std::string Observer::sink_type(std::string_view family, const Key& sink) const {
  const auto type_in = [&](const auto& cache) {
    const auto known = cache.get(sink);
    return known ? known->object.spec.type : std::string();
  };
  if (family == "snapshot") return type_in(parts_.sinks.snapshot);
  if (family == "database") return type_in(parts_.sinks.database);
  return type_in(parts_.sinks.event);
}

void Observer::show_breakers(metrics::Page& page) const {
  for (const auto& [sink, state] : parts_.exporter.breakers()) {
    // Binding::sink_key: family/namespace/name.
    const auto words = base::split(sink, '/');
    if (words.size() != 3) continue;
    const Key key{.ns = std::string(words[1]), .name = std::string(words[2])};
    const std::string type = sink_type(words[0], key);
    if (!type.empty()) show_breaker(page, type, key.ns, key.name, state);
  }
}

void Observer::show_inventories(metrics::Page& page) const {
  std::size_t rows = 0;
  const auto show = [&](std::string_view kind, const Key& key) {
    const auto status = parts_.exporter.status(id_of(kind, key));
    if (status) rows += show_inventory(page, std::string(kind), key.ns, key.name, *status);
  };
  for (const auto& inventory : parts_.inventories.all()) show(kInventory, inventory->key());
  for (const auto& inventory : parts_.cluster_inventories.all()) {
    show(kClusterInventory, {.ns = "", .name = inventory->key().name});
  }
  page.gauge("kollect_inventory_items_total", "Rows of all inventories.", {},
             static_cast<double>(rows));
}

void Observer::fill(metrics::Page& page) {
  for (const auto& [controller, queue] : queues_) show_queue(page, controller, *queue);
  show_collector(page, parts_.collector.stats());
  show_prune_errors(page, parts_.collector);
  show_mistyped(page, parts_.collector);
  show_store(page, parts_.store.stats());
  show_requests(page, parts_.client.config().server, parts_.client.request_counts());
  show_looks(page, std::string(kInventory), parts_.exporter.looks(false));
  show_looks(page, std::string(kClusterInventory), parts_.exporter.looks(true));
  show_breakers(page);
  show_inventories(page);
  domain_.show(
      page, shown_targets(parts_.profiles, parts_.targets, parts_.cluster_targets, parts_.tenures));
}

}  // namespace kollect::manager
