// Selectors: which clusters an operation is about.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fleet/batch.h"
#include "fleet/cluster_parts.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

using Texts = std::set<std::string, std::less<>>;

/// A text, or a list of texts.
Outcome<Texts> texts_of(std::string_view name, const Value& value) {
  Texts out;
  if (value.is_string()) {
    out.insert(value.as_string());
    return out;
  }
  if (!value.is_array()) return bad_shape(fmt::format("{}: must be a text or a list", name));
  for (const Value& one : value.as_array()) {
    if (!one.is_string()) return bad_shape(fmt::format("{}: must be a list of texts", name));
    out.insert(one.as_string());
  }
  if (out.empty()) return bad_shape(fmt::format("{}: names nothing", name));
  return out;
}

/// "has_component" and its like.
struct Condition {
  std::string_view name;
  Family definitions;
  bool has = true;
  bool overridden = false;
};
constexpr Condition kConditions[] = {
    {"has_component", Family::kComponent},
    {"lacks_component", Family::kComponent, false},
    {"has_namespace", Family::kNamespace},
    {"lacks_namespace", Family::kNamespace, false},
    {"has_rolebinding", Family::kRoleBinding},
    {"lacks_rolebinding", Family::kRoleBinding, false},
    {"overrides_component", Family::kComponent, true, true},
};

bool holds(const Condition& condition, const Value& cluster, const std::string& id) {
  const Value* reference = reference_in(cluster, condition.definitions, id);
  if (!condition.has || reference == nullptr) return condition.has == (reference != nullptr);
  return !condition.overridden || reference->find("oci_tag") != nullptr ||
         reference->find("component_path") != nullptr;
}

struct Selector {
  bool all = false;
  Texts ids, names, environments;  ///< empty: any
  std::vector<std::pair<Condition, Texts>> conditions;
  std::size_t limit = SIZE_MAX;

  static Outcome<Selector> read(const Value& value);
  Outcome<> check(const Draft& draft) const;
  bool takes(const std::string& id, const Value& cluster) const {
    const auto in = [](const Texts& wanted, std::string_view is) {
      return wanted.empty() || wanted.contains(is);
    };
    return in(ids, id) && in(names, cluster.text("cluster_dns")) &&
           in(environments, cluster.text("environment")) &&
           std::ranges::all_of(conditions, [&](const auto& one) {
             return std::ranges::all_of(one.second, [&](const std::string& name) {
               return holds(one.first, cluster, name);
             });
           });
  }
};

Outcome<Selector> Selector::read(const Value& value) {
  if (!value.is_object()) return bad_shape("selector: must be an object");
  Selector out;
  bool empty = true;
  for (const auto& [key, member] : value.as_object()) {
    if (key == "limit") {
      if (!member.is_int() || member.as_int() < 1) return bad_shape("limit: must be at least 1");
      out.limit = static_cast<std::size_t>(member.as_int());
      continue;
    }
    empty = false;
    if (key == "all") {
      if (member != Value(true)) return bad_shape("all: must be true or be left out");
      out.all = true;
      continue;
    }
    FLEET_ASSIGN(Texts texts, texts_of(key, member));
    const auto* condition = std::ranges::find(kConditions, key, &Condition::name);
    if (key == "ids" || key == "id") {
      out.ids = std::move(texts);
    } else if (key == "cluster_dns" || key == "dns") {
      out.names = std::move(texts);
    } else if (key == "environment") {
      out.environments = std::move(texts);
    } else if (condition != std::end(kConditions)) {
      out.conditions.emplace_back(*condition, std::move(texts));
    } else {
      return bad_shape(fmt::format("selector: {} is not known", key));
    }
  }
  if (empty) return bad_shape("selector: says nothing; {\"all\": true} takes every cluster");
  return out;
}

Outcome<> Selector::check(const Draft& draft) const {
  for (const std::string& id : ids) FLEET_TRY(draft.get(Family::kCluster, id));
  for (const std::string& name : names) {
    if (!draft.owner(name)) return not_found(fmt::format("no cluster has the name {}", name));
  }
  for (const std::string& name : environments) {
    constexpr std::string_view kKnown[] = {"dev", "qa", "uat", "prod"};
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
      return bad_shape(fmt::format("environment: {} is none of dev, qa, uat, prod", name));
    }
  }
  for (const auto& [condition, names_of_it] : conditions) {
    for (const std::string& id : names_of_it) FLEET_TRY(draft.get(condition.definitions, id));
  }
  return {};
}

}  // namespace

Outcome<std::vector<std::string>> select_clusters(const Draft& draft, const Value& selector,
                                                  bool allow_empty) {
  FLEET_ASSIGN(const Selector wanted, Selector::read(selector));
  FLEET_TRY(wanted.check(draft));
  std::vector<std::string> out;
  const auto judge = [&](const std::string& id, const Value& cluster) {
    if (out.size() < wanted.limit && wanted.takes(id, cluster)) out.push_back(id);
  };
  if (!wanted.ids.empty() || !wanted.names.empty()) {
    // Those alone, not the fleet.
    Texts named = wanted.ids;
    for (const std::string& name : wanted.names) {
      const auto owner = draft.owner(name);
      if (owner && wanted.ids.empty()) named.insert(*owner);
    }
    for (const std::string& id : named) judge(id, *draft.find(Family::kCluster, id));
  } else {
    draft.each(Family::kCluster, judge);
  }
  if (out.empty() && !allow_empty) return not_found("the selector finds no cluster");
  return out;
}

}  // namespace kollect::fleet
