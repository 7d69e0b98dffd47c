#include "readapi/live/live_select.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/json/document.h"
#include "readapi/item.h"
#include "readapi/query.h"
#include "readapi/row_match.h"

namespace kollect::readapi {
namespace {

using inventory::Owner;
using inventory::OwnerClass;

/// Equal texts: equal places in one set.
std::string name_of(const LiveQuery& query) {
  std::string name;
  const auto add = [&name](std::string_view part) {
    name += part;
    name += '\0';
  };
  const RowFilter& f = query.filter;
  for (const std::string* part : {&f.cluster, &f.ns, &f.target, &f.group, &f.version, &f.kind,
                                  &f.name, &f.uid, &f.search, &query.order.by, &query.wanted_key}) {
    add(*part);
  }
  add(query.order.descending ? "-" : "+");
  add(query.choice == inventory::RowChoice::kLastOfUid ? "once" : "all");
  for (const auto& [attribute, text] : f.attributes) {
    add(attribute);
    add(text);
  }
  for (const auto& list : {query.sight.namespaces, query.sight.clusters}) {
    add(list ? "list" : "*");
    if (!list) continue;
    for (const std::string& one : *list) add(one);
  }
  return name;
}

/// Rows of the owner can be among those that are asked for.
bool may_match(const LiveQuery& query, const Owner& owner) {
  if (!query.filter.target.empty() && owner.name != query.filter.target) return false;
  // A collector of a cluster target has the objects of its own namespace.
  if (!query.filter.ns.empty() && owner.owner_class == OwnerClass::kClusterTarget &&
      owner.ns != query.filter.ns) {
    return false;
  }
  const auto& seen = query.sight.namespaces;
  if (seen && std::ranges::find(*seen, owner.ns) == seen->end()) return false;
  return !query.wanted || query.wanted(owner);
}

/// Every row of the owner is one, without looking at it.
bool all_match(const LiveQuery& query, const Owner& owner) {
  RowFilter rest = query.filter;
  rest.target.clear();
  if (rest.ns == owner.ns) rest.ns.clear();
  return rest == RowFilter{} && !query.sight.clusters;
}

SourceRow source_row(const inventory::RowView& row) {
  return {.cluster = {}, .inventory_namespace = {}, .inventory = {}, .exported_at = {}, .row = row};
}

base::Result<Places> matching(const base::Context& context, const LiveSet& set,
                              const LiveQuery& query) {
  Places places;
  RowMatch match(query.filter, query.sight);
  std::uint64_t seen = 0;
  for (const LiveSet::Run& run : set.runs()) {
    if (!may_match(query, run.owner)) continue;
    if (all_match(query, run.owner)) {
      for (std::size_t i = 0; i < run.count; ++i) {
        places.push_back(static_cast<std::uint32_t>(run.start + i));
      }
      continue;
    }
    KL_TRY(set.visit(run, match.reads_attributes(),
                     [&](std::size_t place, const inventory::RowView& row) -> base::Result<> {
                       if (++seen % kCheckEvery == 0) KL_TRY(context.check());
                       if (match.matches(source_row(row))) {
                         places.push_back(static_cast<std::uint32_t>(place));
                       }
                       return {};
                     }));
  }
  return places;
}

/// Of rows with one uid and one target namespace the last one stays (spec: selection 12.2).
base::Result<> keep_last_of_uid(const LiveSet& set, Places& places) {
  std::unordered_map<std::string, std::size_t> last;
  std::string key;
  for (std::size_t i = 0; i < places.size(); ++i) {
    KL_TRY(set.visit(places[i], [&](const inventory::RowView& row) -> base::Result<> {
      key.assign(row.target_namespace);
      key += '/';
      key += row.uid;
      return {};
    }));
    last[key] = i;
  }
  std::vector<bool> stays(places.size());
  for (const auto& [text, i] : last) stays[i] = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (stays[i]) places[kept++] = places[i];
  }
  places.resize(kept);
  return {};
}

/// What is missing comes first, then numbers, then texts.
struct SortKey {
  enum class Kind { kMissing, kNumber, kText } kind = Kind::kMissing;
  double number = 0;
  std::string text;
  std::uint32_t place = 0;
};

bool comes_before(const SortKey& a, const SortKey& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == SortKey::Kind::kNumber) return a.number < b.number;
  return a.text < b.text;
}

SortKey key_of(ColumnReader& columns, const std::string& by, std::size_t place) {
  SortKey key;
  key.place = static_cast<std::uint32_t>(place);
  if (const auto name = attribute_of(by)) {
    const auto value = columns.attribute(*name);
    if (!value || value->is_null()) return key;
    if (value->is_number()) {
      key.kind = SortKey::Kind::kNumber;
      key.number = value->number().as_double();
      return key;
    }
  }
  key.kind = SortKey::Kind::kText;
  key.text = columns.text(by);
  return key;
}

base::Result<> order(const base::Context& context, const LiveSet& set, const Order& order,
                     Places& places) {
  std::vector<SortKey> keys;
  keys.reserve(places.size());
  ColumnReader columns;
  for (const std::uint32_t place : places) {
    if (keys.size() % kCheckEvery == 0) KL_TRY(context.check());
    KL_TRY(set.visit(place, [&](const inventory::RowView& row) -> base::Result<> {
      const SourceRow found = source_row(row);
      columns.at(found);
      keys.push_back(key_of(columns, order.by, place));
      return {};
    }));
  }
  // Equal ones stay in canonical order, whichever way.
  std::ranges::stable_sort(keys, [&](const SortKey& a, const SortKey& b) {
    return order.descending ? comes_before(b, a) : comes_before(a, b);
  });
  for (std::size_t i = 0; i < keys.size(); ++i) places[i] = keys[i].place;
  return {};
}

}  // namespace

base::Result<std::shared_ptr<const Places>> select_rows(const base::Context& context,
                                                        const LiveSet& set,
                                                        const LiveQuery& query) {
  const bool everything = query.filter == RowFilter{} && query.sight == Sight{} && !query.wanted;
  if (everything && query.order.by.empty()) return std::shared_ptr<const Places>();
  const std::string name = name_of(query);
  if (auto known = set.remembered(name)) return known;
  KL_ASSIGN(Places places, matching(context, set, query));
  if (query.choice == inventory::RowChoice::kLastOfUid) KL_TRY(keep_last_of_uid(set, places));
  if (!query.order.by.empty()) KL_TRY(order(context, set, query.order, places));
  places.shrink_to_fit();
  auto found = std::make_shared<const Places>(std::move(places));
  set.remember(name, found);
  return found;
}

}  // namespace kollect::readapi
