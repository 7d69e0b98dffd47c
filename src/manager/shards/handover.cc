#include "manager/shards/handover.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace kollect::manager {
namespace {

std::uint64_t begun(const kube::ReflectorStatus& status) {
  const kube::ListCauses& causes = status.begun;
  return causes.start + causes.expired + causes.unreadable + causes.failed + causes.asked;
}

/// Waiting does not mend it.
bool out_of_reach(const kube::ReflectorStatus& status) {
  return status.error && status.error->kind != base::ErrorKind::kRetryable;
}

}  // namespace

std::function<bool()> Handover::refresh() {
  std::vector<std::uint64_t> before;
  for (const auto& reflector : at_.reflectors) {
    before.push_back(begun(reflector->status()));
    reflector->relist_now();
  }
  return [this, before = std::move(before)] {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const kube::ReflectorStatus status = at_.reflectors[i]->status();
      if (out_of_reach(status)) continue;
      if (begun(status) <= before[i] || status.state != kube::ReflectorState::kWatching) {
        return false;
      }
    }
    return true;
  };
}

void Handover::open(std::size_t part) {
  at_.tenures.open(part);
  const auto add_all = [&](const auto& cache, const auto& add) {
    for (const auto& object : cache.all()) {
      if (at_.tenures.part_of(object->key().ns) == part) add(object->key());
    }
  };
  const auto to = [](WorkQueue& queue) { return [&queue](const Key& key) { queue.add(key); }; };
  const auto probed = [&](const char* family) {
    return [this, family](const Key& key) { at_.checks.sink_changed(family, key); };
  };
  add_all(at_.targets, to(at_.target_queue));
  add_all(at_.cluster_targets, to(at_.cluster_target_queue));
  add_all(at_.inventories, to(at_.inventory_queue));
  add_all(at_.cluster_inventories, to(at_.cluster_inventory_queue));
  add_all(at_.sinks.snapshot, probed("snapshot"));
  add_all(at_.sinks.database, probed("database"));
  add_all(at_.sinks.event, probed("event"));
  add_all(at_.sinks.tests, [&](const Key& key) { at_.checks.test_changed(key); });
}

void Handover::close(const std::set<std::size_t>& parts, base::Duration grace) {
  const auto goes = [&](std::string_view ns) { return parts.contains(at_.tenures.part_of(ns)); };
  const auto key_goes = [&](const Key& key) { return goes(key.ns); };
  at_.tenures.close(parts);
  // Exports first: rows that go below are no news for any sink.
  const auto left = at_.exporter.leave(
      [&](const sinks::InventoryId& inventory) { return goes(inventory.ns); }, grace);
  for (const sinks::InventoryId& inventory : left) {
    at_.inventory_controller.forget(inventory);
    at_.cluster_inventory_controller.forget(inventory);
  }
  for (const inventory::Owner& target : at_.collector.targets()) {
    if (goes(target.ns)) at_.collector.unregister_target(target);
  }
  at_.board.forget_if(key_goes);
  if (goes("")) at_.cluster_board.forget_all();
  at_.checks.forget(key_goes);
}

}  // namespace kollect::manager
