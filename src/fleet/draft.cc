#include "fleet/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "fleet/merge.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

std::string dns_of(const Value& cluster) {
  return std::string(cluster.text("cluster_dns"));
}

bool same(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

std::unexpected<Problem> unknown(Family family, const std::string& id) {
  return not_found(fmt::format("there is no {} {}", noun_of(family), id));
}

}  // namespace

const Value* Draft::find(Family family, const std::string& id) const {
  const auto changed = touched(family).find(id);
  if (changed != touched(family).end()) {
    return changed->second.after ? &*changed->second.after : nullptr;
  }
  const auto& records = view_.records[static_cast<std::size_t>(family)];
  const auto known = records.find(id);
  return known == records.end() ? nullptr : &known->second.data;
}

Outcome<const Value*> Draft::get(Family family, const std::string& id) const {
  const Value* record = find(family, id);
  if (record == nullptr) return unknown(family, id);
  return record;
}

std::optional<std::string> Draft::owner(const std::string& dns) const {
  if (const auto changed = names_.find(dns); changed != names_.end()) return changed->second;
  const auto known = view_.by_dns.find(dns);
  return known == view_.by_dns.end() ? std::nullopt : std::optional(known->second);
}

void Draft::each(Family family,
                 const std::function<void(const std::string& id, const Value& record)>& use) const {
  const auto& changed = touched(family);
  auto next = changed.begin();
  const auto use_changed = [&] {
    if (next->second.after) use(next->first, *next->second.after);
    ++next;
  };
  for (const auto& [id, record] : view_.records[static_cast<std::size_t>(family)]) {
    while (next != changed.end() && next->first < id) use_changed();
    if (next != changed.end() && next->first == id) {
      use_changed();
    } else {
      use(id, record.data);
    }
  }
  while (next != changed.end()) use_changed();
}

std::uint64_t Draft::version(Family family, const std::string& id) const {
  const auto& records = view_.records[static_cast<std::size_t>(family)];
  const auto known = records.find(id);
  return known == records.end() ? 0 : known->second.version;
}

Outcome<> Draft::check_version(Family family, const std::string& id, Version if_match) const {
  if (!if_match || *if_match == version(family, id)) return {};
  return problem(412, "conflict",
                 fmt::format("{} {} has version {}, not {}", noun_of(family), id,
                             version(family, id), *if_match));
}

Outcome<> Draft::set(Family family, const std::string& id, std::optional<Value> after) {
  const auto& records = view_.records[static_cast<std::size_t>(family)];
  const auto known = records.find(id);
  const auto [place, fresh] = touched(family).try_emplace(id);
  Touched& one = place->second;
  if (fresh) {
    one.before = known == records.end() ? nullptr : &known->second;
    one.order = order_++;
  } else if (!one.after && after && one.before != nullptr) {
    return conflict(fmt::format("{} {}: a record that a batch deletes cannot be made anew in it",
                                noun_of(family), id));
  }
  if (family == Family::kCluster) {
    const Value* old = one.after ? &*one.after : nullptr;
    if (fresh && one.before != nullptr) old = &one.before->data;
    if (old != nullptr) names_[dns_of(*old)] = std::nullopt;
    if (after) names_[dns_of(*after)] = id;
  }
  one.after = std::move(after);
  return {};
}

Outcome<> Draft::put(Family family, const std::string& id, Value record, Version if_match) {
  FLEET_TRY(check_version(family, id, if_match));
  const Value* before = find(family, id);
  if (before != nullptr && *before == record) {
    return set(family, id, Value(*before));
  }
  if (family == Family::kCluster) {
    FLEET_TRY(check_references(before != nullptr ? *before : Value(), record));
    FLEET_TRY(check_name(id, record));
  }
  return set(family, id, std::move(record));
}

Outcome<std::string> Draft::create(Family family, const Value& body) {
  FLEET_ASSIGN(Value record, read_new(family, body));
  std::string id(record.text("id"));
  if (family == Family::kCluster) FLEET_TRY(check_references(Value(), record));
  if (find(family, id) != nullptr) {
    return conflict(fmt::format("there is a {} {} already", noun_of(family), id));
  }
  if (family == Family::kCluster) FLEET_TRY(check_name(id, record));
  FLEET_TRY(set(family, id, std::move(record)));
  return id;
}

Outcome<> Draft::update(Family family, const std::string& id, const Value& body, Version if_match) {
  const Value* found = find(family, id);
  // The shape is judged before existence: any record will do for that.
  Value nothing = base::json::Object{};
  nothing.as_object().set("id", id);
  FLEET_ASSIGN(Value after, read_change(family, found != nullptr ? *found : nothing, body));
  if (found == nullptr) return unknown(family, id);
  return put(family, id, std::move(after), if_match);
}

Outcome<> Draft::merge(Family family, const std::string& id, const Value& body, Version if_match) {
  FLEET_ASSIGN(const Value* found, get(family, id));
  FLEET_TRY(check_version(family, id, if_match));
  FLEET_ASSIGN(Value after, merged(family, *found, body));
  return put(family, id, std::move(after));
}

Outcome<> Draft::remove(Family family, const std::string& id, bool force, Version if_match) {
  FLEET_TRY(get(family, id));
  FLEET_TRY(check_version(family, id, if_match));
  FLEET_TRY(set(family, id, std::nullopt));
  touched(family).at(id).forced = force;
  return {};
}

Outcome<> Draft::check_references(const Value& before, const Value& after) const {
  for (const Family family : kDefinitions) {
    const std::string_view key = references_of(family);
    if (same(before.find(key), after.find(key))) continue;
    std::set<std::string_view> seen;
    for (const std::string_view id : referred(after, family)) {
      if (!seen.insert(id).second)
        return bad_request(fmt::format("{}: {} is there twice", key, id));
    }
  }
  for (const Family family : kDefinitions) {
    const std::string_view key = references_of(family);
    if (same(before.find(key), after.find(key))) continue;
    const auto known = referred(before, family);
    for (const std::string_view id : referred(after, family)) {
      if (find(family, std::string(id)) != nullptr) continue;
      // What dangled before the change is not its fault.
      if (std::ranges::find(known, id) != known.end()) continue;
      return bad_request(fmt::format("{}: there is no {} {}", key, noun_of(family), id));
    }
  }
  const bool touched = !same(before.find("patches"), after.find("patches")) ||
                       !same(before.find("platform_components"), after.find("platform_components"));
  const Value* patches = after.find("patches");
  if (!touched || patches == nullptr) return {};
  const auto components = referred(after, Family::kComponent);
  for (const auto& [id, map] : patches->as_object()) {
    if (std::ranges::find(components, id) == components.end()) {
      return bad_request(
          fmt::format("patches: {} is none of the cluster's platform_components", id));
    }
  }
  return {};
}

Outcome<> Draft::check_name(const std::string& id, const Value& after) const {
  const auto taken = owner(dns_of(after));
  if (!taken || *taken == id) return {};
  return conflict(fmt::format("cluster_dns {} belongs to cluster {}", dns_of(after), *taken));
}

Change Draft::change_of(Family family, const std::string& id, const Touched& one) const {
  Change change{.family = family, .id = id, .after = one.after, .at = now_, .actor = actor_};
  if (one.before != nullptr) {
    change.before = one.before->data;
    change.version = one.before->version + (one.after ? 1 : 0);
  }
  if (family != Family::kCluster) return change;
  if (!one.after) {
    const std::string dns = dns_of(one.before->data);
    change.buried = Tombstone{.dns = dns, .cluster = id, .actor = actor_.name, .at = now_};
  } else if (view_.tombstones.contains(dns_of(*one.after))) {
    change.unearthed = dns_of(*one.after);
  }
  return change;
}

Outcome<std::vector<Change>> Draft::finish() {
  FLEET_TRY(check_texts());
  FLEET_TRY(check_deleted());
  FLEET_TRY(check_dependencies());
  FLEET_TRY(check_sizes());
  std::vector<std::pair<std::size_t, Change>> ordered;
  for (const Family family : kAllFamilies) {
    for (const auto& [id, one] : touched(family)) {
      if (one.before == nullptr && !one.after) continue;
      if (one.before != nullptr && one.after && one.before->data == *one.after) continue;
      ordered.emplace_back(one.order, change_of(family, id, one));
    }
  }
  // Deletions first: a name that one cluster leaves another may take.
  std::ranges::sort(ordered, {}, [](const auto& one) {
    return std::pair(one.second.after.has_value(), one.first);
  });
  std::vector<Change> changes;
  changes.reserve(ordered.size());
  std::set<std::string> buried;
  for (auto& [order, change] : ordered) {
    if (change.buried) buried.insert(change.buried->dns);
    if (change.family == Family::kCluster && change.after &&
        buried.contains(dns_of(*change.after))) {
      change.unearthed = dns_of(*change.after);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace kollect::fleet
