#include "fleet/cluster_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// {"member": value}
Value body_of(std::string_view member, Value value) {
  Object body;
  body.set(std::string(member), std::move(value));
  return body;
}

Outcome<Value> with_id(const std::string& id, const Value& reference) {
  if (!reference.is_object()) return bad_shape("the reference must be an object");
  const Value* given = reference.find("id");
  if (given != nullptr && !given->is_null() && *given != Value(id)) {
    return bad_request(fmt::format("id: must be {} or be left out", id));
  }
  Value out = reference;
  out.as_object().set("id", id);
  return out;
}

std::unexpected<Problem> no_reference(const std::string& cluster, Family definitions,
                                      const std::string& id) {
  return not_found(fmt::format("cluster {} has no {} {}", cluster, noun_of(definitions), id));
}

}  // namespace

const Value* reference_in(const Value& cluster, Family definitions, std::string_view id) {
  const Value* list = cluster.find(references_of(definitions));
  if (list == nullptr || !list->is_array()) return nullptr;
  const auto found = std::ranges::find_if(list->as_array(),
                                          [&](const Value& one) { return one.text("id") == id; });
  return found == list->as_array().end() ? nullptr : &*found;
}

const Value* patches_in(const Value& cluster, std::string_view component) {
  return cluster.at_path({"patches", component});
}

Outcome<> assign(Draft& draft, const std::string& cluster, Family definitions,
                 const std::string& id, const Value& reference) {
  FLEET_ASSIGN(Value whole, with_id(id, reference));
  FLEET_ASSIGN(const Value* record, draft.get(Family::kCluster, cluster));
  Array list = record->find(references_of(definitions))->as_array();
  const auto known =
      std::ranges::find_if(list, [&](const Value& one) { return one.text("id") == id; });
  if (known != list.end()) {
    *known = std::move(whole);
  } else {
    list.push_back(std::move(whole));
  }
  return draft.update(Family::kCluster, cluster,
                      body_of(references_of(definitions), std::move(list)));
}

Outcome<> assign_merging(Draft& draft, const std::string& cluster, Family definitions,
                         const std::string& id, const Value& reference) {
  FLEET_ASSIGN(Value whole, with_id(id, reference));
  return draft.merge(Family::kCluster, cluster,
                     body_of(references_of(definitions), Array{std::move(whole)}));
}

Outcome<> unassign(Draft& draft, const std::string& cluster, Family definitions,
                   const std::string& id) {
  FLEET_ASSIGN(const Value* record, draft.get(Family::kCluster, cluster));
  Array list = record->find(references_of(definitions))->as_array();
  if (std::erase_if(list, [&](const Value& one) { return one.text("id") == id; }) == 0) {
    return no_reference(cluster, definitions, id);
  }
  Value body = body_of(references_of(definitions), std::move(list));
  if (definitions == Family::kComponent && patches_in(*record, id) != nullptr) {
    Value patches = *record->find("patches");
    patches.as_object().erase(id);
    body.as_object().set("patches", std::move(patches));
  }
  return draft.update(Family::kCluster, cluster, body);
}

Outcome<> set_patches(Draft& draft, const std::string& cluster, const std::string& component,
                      const Value& patches) {
  FLEET_ASSIGN(const Value* record, draft.get(Family::kCluster, cluster));
  if (reference_in(*record, Family::kComponent, component) == nullptr) {
    return no_reference(cluster, Family::kComponent, component);
  }
  Value all = *record->find("patches");
  if (patches.is_null() || (patches.is_object() && patches.as_object().empty())) {
    all.as_object().erase(component);
  } else {
    all.as_object().set(component, patches);
  }
  return draft.update(Family::kCluster, cluster, body_of("patches", std::move(all)));
}

Outcome<> merge_patches(Draft& draft, const std::string& cluster, const std::string& component,
                        const Value& patches) {
  FLEET_ASSIGN(const Value* record, draft.get(Family::kCluster, cluster));
  if (!patches.is_object()) return bad_shape("patches: must be an object of texts");
  Value all = Object{};
  if (const Value* known = patches_in(*record, component)) all = *known;
  for (const auto& [key, value] : patches.as_object()) {
    if (value.is_null()) {
      all.as_object().erase(key);
    } else {
      all.as_object().set(key, value);
    }
  }
  return set_patches(draft, cluster, component, all);
}

}  // namespace kollect::fleet
