#include "collector/kind_watches.h"

#include <algorithm>

#include <fmt/format.h>

namespace kollect::collector {
namespace {

/// More new namespaces of a lane than this are one list of everything.
constexpr std::size_t kMostNamespaces = 8;

std::vector<std::string> without(const std::vector<std::string>& all,
                                 const std::vector<std::string>& some) {
  std::vector<std::string> rest;
  std::ranges::set_difference(all, some, std::back_inserter(rest));
  return rest;
}

}  // namespace

KindWatches::KindWatches(Tools tools, kube::Resource resource)
    : tools_(tools),
      resource_(std::move(resource)),
      index_(std::make_shared<const LaneIndex>(std::vector<LanePtr>(), resource_.namespaced)) {}

KindWatches::~KindWatches() {
  for (auto& [ns, watch] : watches_) bury(std::move(watch));
  for (auto& [ns, watch] : leaving_) bury(std::move(watch));
}

// ---- Lanes

void KindWatches::set_lane(LanePtr lane, std::vector<Leftover> leftovers) {
  Placed& placed = lanes_[lane->core->target];
  const LanePtr old = std::exchange(placed.lane, lane);
  placed.leftovers.insert(placed.leftovers.end(), leftovers.begin(), leftovers.end());
  dirty_ = true;
  if (old) {
    const auto lost = without(old->effective, lane->effective);
    placed.lost.insert(lost.begin(), lost.end());
  }
  for (const std::string& ns : lane->effective) placed.lost.erase(ns);
  if (!old || old->core != lane->core) {
    if (old) old->core->closed = true;
    new_cores_.push_back(lane->core);
    return;
  }
  const auto added = without(lane->effective, old->effective);
  if (added.size() > kMostNamespaces) {
    new_cores_.push_back(lane->core);
  } else {
    new_namespaces_.insert(added.begin(), added.end());
  }
}

std::vector<Leftover> KindWatches::take_lane(const inventory::Owner& target) {
  const auto found = lanes_.find(target);
  if (found == lanes_.end()) return {};
  const Placed placed = std::move(found->second);
  lanes_.erase(found);
  dirty_ = true;
  placed.lane->core->closed = true;
  std::vector<Leftover> leftovers = placed.leftovers;
  std::vector<inventory::Owner> owners = placed.lane->owners;
  for (const std::string& ns : placed.lost) owners.push_back(placed.lane->owner_in(ns));
  for_watches([&](Watch& watch) {
    // Whoever handles an object now still has the lane.
    watch.barrier();
    for (const inventory::Owner& owner : owners) {
      leftovers.push_back({.owner = owner, .source = watch.source()});
    }
  });
  return leftovers;
}

void KindWatches::relabelled(const std::set<std::string>& namespaces) {
  if (!resource_.namespaced) return;
  for_watches([&](Watch& watch) { watch.want_namespaces(namespaces); });
}

void KindWatches::hurry() {
  for_watches([](Watch& watch) { watch.hurry(); });
}

void KindWatches::refresh_index() {
  if (!dirty_) return;
  dirty_ = false;
  std::vector<LanePtr> lanes;
  needed_.clear();
  for (const auto& [target, placed] : lanes_) {
    lanes.push_back(placed.lane);
    needed_.insert(placed.lane->effective.begin(), placed.lane->effective.end());
  }
  index_ = std::make_shared<const LaneIndex>(std::move(lanes), resource_.namespaced);
  for_watches([&](Watch& watch) { watch.set_index(index_, new_cores_, new_namespaces_); });
  new_cores_.clear();
  new_namespaces_.clear();
  for (auto& [target, placed] : lanes_) {
    drop_rows(*placed.lane, std::exchange(placed.lost, {}));
  }
}

void KindWatches::drop_rows(const Lane& lane, const std::set<std::string>& namespaces) {
  if (namespaces.empty()) return;
  const auto of_kind = [&](const inventory::RowView& row) {
    return row.kind == resource_.kind && row.group == resource_.group &&
           namespaces.contains(std::string(row.ns));
  };
  inventory::RowStore& store = tools_.services.store;
  if (lane.core->target.owner_class == inventory::OwnerClass::kTarget) {
    remove_rows(store, lane.core->target, of_kind);
  } else {
    for (const std::string& ns : namespaces) remove_rows(store, lane.owner_in(ns), of_kind);
  }
  std::set<std::uint64_t> hashes;
  for (const std::string& ns : namespaces) hashes.insert(Tally::hash(ns));
  lane.core->tally->drop_namespaces(hashes);
}

// ---- How it stands

std::vector<const Watch*> KindWatches::watches_of(const Lane& lane) const {
  std::vector<const Watch*> watches;
  const auto everything = watches_.find("");
  const Watch* all = everything == watches_.end() ? nullptr : everything->second.get();
  if (!resource_.namespaced || (all != nullptr && leaving_.empty())) return {all};
  for (const std::string& ns : lane.effective) {
    if (goal_.forbidden.contains(ns)) continue;
    const auto leaving = leaving_.find(ns);
    const auto own = watches_.find(ns);
    const Watch* watch = leaving != leaving_.end() ? leaving->second.get()
                         : own != watches_.end()   ? own->second.get()
                                                   : all;
    const bool again =
        watch != nullptr && watch == all && std::ranges::find(watches, all) != watches.end();
    if (!again) watches.push_back(watch);
  }
  return watches;
}

bool KindWatches::settled(const Lane& lane) const {
  if (dirty_) return false;
  if (resource_.namespaced && lane.effective.empty()) return true;
  return std::ranges::all_of(watches_of(lane), [&](const Watch* watch) {
    return watch != nullptr && watch->done(*lane.core) && !watch->wants_any(lane.effective);
  });
}

KindWatches::View KindWatches::view(const inventory::Owner& target, base::SteadyTime now) const {
  View view;
  const auto found = lanes_.find(target);
  if (found == lanes_.end()) return view;
  const Lane& lane = *found->second.lane;
  view.access_error = goal_.access_error;
  bool refused = goal_.forbidden_everything;
  if (resource_.namespaced) {
    std::ranges::copy_if(lane.effective, std::back_inserter(view.forbidden),
                         [&](const std::string& ns) { return goal_.forbidden.contains(ns); });
    refused = !lane.effective.empty() && view.forbidden.size() == lane.effective.size();
  }
  if (refused) view.error = base::denied(goal_.message, "forbidden");
  const bool settled = this->settled(lane);
  view.done = settled && !refused;
  view.evaluating = !settled;
  if (resource_.namespaced && lane.effective.empty()) return view;
  for (const Watch* watch : watches_of(lane)) {
    if (watch == nullptr) continue;
    ++view.watches;
    if (!view.error) view.error = watch->problem(now);
  }
  return view;
}

std::vector<WatchStats> KindWatches::stats() const {
  std::vector<WatchStats> stats;
  for_watches([&](const Watch& watch) { stats.push_back(watch.stats()); });
  return stats;
}

base::SteadyTime KindWatches::next(base::SteadyTime now) const {
  auto next = base::SteadyTime::max();
  for_watches([&](const Watch& watch) { next = std::min(next, watch.next(now)); });
  return next;
}

}  // namespace kollect::collector
