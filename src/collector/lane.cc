#include "collector/lane.h"

namespace kollect::collector {

Lane::Lane(std::shared_ptr<Core> the_core, std::vector<std::string> namespaces, bool namespaced)
    : core(std::move(the_core)), effective(std::move(namespaces)) {
  if (core->target.owner_class == inventory::OwnerClass::kTarget || !namespaced) {
    owners.push_back(core->target);
    return;
  }
  for (const std::string& ns : effective) owners.push_back(owner_in(ns));
}

inventory::Owner Lane::owner_in(const std::string& ns) const {
  if (core->target.owner_class == inventory::OwnerClass::kTarget) return core->target;
  return {.owner_class = core->target.owner_class, .ns = ns, .name = core->target.name};
}

LaneIndex::LaneIndex(std::vector<LanePtr> lanes, bool namespaced) : lanes_(std::move(lanes)) {
  for (const LanePtr& lane : lanes_) {
    if (!namespaced) {
      by_namespace_[""].push_back({.lane = lane.get(), .owner = &lane->owners.front()});
      continue;
    }
    const bool one = lane->owners.size() != lane->effective.size();
    for (std::size_t i = 0; i < lane->effective.size(); ++i) {
      by_namespace_[lane->effective[i]].push_back(
          {.lane = lane.get(), .owner = &lane->owners[one ? 0 : i]});
    }
  }
}

const std::vector<LaneIndex::Entry>& LaneIndex::in(std::string_view ns) const {
  const auto found = by_namespace_.find(ns);
  return found == by_namespace_.end() ? none_ : found->second;
}

std::size_t remove_rows(inventory::RowStore& store, const inventory::Owner& owner,
                        const std::function<bool(const inventory::RowView&)>& wanted) {
  if (store.row_count(owner) == 0) return 0;
  std::vector<std::string> uids;
  {
    const auto reader =
        store.subscribe([&](const inventory::Owner& other) { return other == owner; });
    const auto visited = reader->snapshot().for_each([&](const inventory::RowView& row) {
      if (wanted(row)) uids.emplace_back(row.uid);
      return base::Result<>();
    });
    if (!visited) return 0;
  }
  std::size_t removed = 0;
  for (const std::string& uid : uids) removed += store.remove(owner, uid) ? 1 : 0;
  return removed;
}

}  // namespace kollect::collector
