#include "readstore/tally.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace kollect::readstore {

namespace {

bool allows(const std::optional<std::vector<std::string>>& list, std::string_view text) {
  return !list || std::find(list->begin(), list->end(), text) != list->end();
}

bool wanted(const std::string& text, std::string_view value) {
  return text.empty() || text == value;
}

bool passes(const TallyGroup& group, const readapi::RowFilter& filter,
            const readapi::Sight& sight) {
  return wanted(filter.cluster, group.value(Field::kCluster)) &&
         wanted(filter.inventory_namespace, group.value(Field::kInventoryNamespace)) &&
         wanted(filter.inventory, group.value(Field::kInventory)) &&
         wanted(filter.target, group.value(Field::kTarget)) &&
         wanted(filter.group, group.value(Field::kGroup)) &&
         wanted(filter.version, group.value(Field::kVersion)) &&
         wanted(filter.kind, group.value(Field::kKind)) &&
         (wanted(filter.ns, group.value(Field::kNamespace)) ||
          filter.ns == group.value(Field::kTargetNamespace)) &&
         allows(sight.clusters, group.value(Field::kCluster)) &&
         (allows(sight.namespaces, group.value(Field::kTargetNamespace)) ||
          allows(sight.namespaces, group.value(Field::kInventoryNamespace)));
}

}  // namespace

bool TallyGroup::agrees(const TallyGroup& other, std::size_t fields) const {
  return std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(fields),
                    other.values.begin());
}

std::string_view InventoryTally::keep(std::string_view text) {
  const auto found = texts_.find(text);
  return found != texts_.end() ? std::string_view(found->first)
                               : std::string_view(texts_.emplace(text, true).first->first);
}

void InventoryTally::add(const std::array<std::string_view, kTallyFields>& values,
                         std::uint64_t rows) {
  TallyGroup group{.values = {}, .rows = rows};
  for (std::size_t i = 0; i < kTallyFields; ++i) group.values[i] = keep(values[i]);
  groups_.push_back(group);
}

void InventoryTally::sort() {
  std::sort(groups_.begin(), groups_.end(),
            [](const TallyGroup& a, const TallyGroup& b) { return a.values < b.values; });
}

std::vector<const TallyGroup*> Tally::matching(const readapi::RowFilter& filter,
                                               const readapi::Sight& sight) const {
  std::vector<const TallyGroup*> out;
  for (const auto& inventory : inventories_) {
    for (const TallyGroup& group : inventory->groups()) {
      if (passes(group, filter, sight)) out.push_back(&group);
    }
  }
  return out;
}

std::uint64_t total_of(const std::vector<const TallyGroup*>& groups) {
  std::uint64_t out = 0;
  for (const TallyGroup* group : groups) out += group->rows;
  return out;
}

void sort_groups(std::vector<const TallyGroup*>& groups, Field by, bool descending) {
  std::stable_sort(groups.begin(), groups.end(), [by](const TallyGroup* a, const TallyGroup* b) {
    return a->value(by) < b->value(by);
  });
  if (descending) std::reverse(groups.begin(), groups.end());
}

std::size_t count_places(const std::vector<const TallyGroup*>& groups, std::size_t fields) {
  std::size_t out = groups.empty() ? 0 : 1;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (!groups[i]->agrees(*groups[i - 1], fields)) ++out;
  }
  return out;
}

std::vector<Slice> cut(const std::vector<const TallyGroup*>& groups, std::uint64_t offset,
                       std::uint64_t limit, std::size_t fields) {
  std::vector<Slice> out;
  std::uint64_t left = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit;
  for (std::size_t i = 0; i < groups.size() && left > 0;) {
    const TallyGroup& first = *groups[i];
    std::uint64_t rows = 0;
    do {
      rows += groups[i++]->rows;
    } while (i < groups.size() && groups[i]->agrees(first, fields));
    if (offset >= rows) {
      offset -= rows;
      continue;
    }
    const std::uint64_t take = std::min(rows - offset, left);
    out.push_back({.group = first, .fields = fields, .skip = offset, .take = take});
    left -= take;
    offset = 0;
  }
  return out;
}

std::vector<readapi::Group> count_by(const std::vector<const TallyGroup*>& groups,
                                     const std::vector<Column>& by, std::size_t limit) {
  std::map<std::vector<std::string_view>, std::uint64_t> counts;
  std::vector<std::string_view> key(by.size());
  for (const TallyGroup* group : groups) {
    for (std::size_t i = 0; i < by.size(); ++i) key[i] = group->value(by[i].field);
    counts[key] += group->rows;
  }
  std::vector<std::pair<const std::vector<std::string_view>*, std::uint64_t>> order;
  order.reserve(counts.size());
  for (const auto& [values, rows] : counts) order.emplace_back(&values, rows);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() > limit) order.resize(limit);
  std::vector<readapi::Group> out;
  for (const auto& [values, rows] : order) {
    out.push_back({.values = {values->begin(), values->end()}, .rows = rows});
  }
  return out;
}

}  // namespace kollect::readstore
