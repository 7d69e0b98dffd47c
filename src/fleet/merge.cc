#include "fleet/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/write.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

void append_separator(std::string& out) {
  if (!out.ends_with('[')) out += ',';
}

Value identity_of(const Value& cluster) {
  Object out;
  out.set("name", cluster.text("cluster_name"));
  out.set("dns", cluster.text("cluster_dns"));
  out.set("environment", cluster.text("environment"));
  return out;
}

const Value& override_or(const Value& reference, const Value& definition, const char* key) {
  const Value* own = reference.find(key);
  return own != nullptr && !own->is_null() ? *own : *definition.find(key);
}

Value component_input(const Value& reference, const Value& definition, const Value& cluster) {
  Object out;
  out.set("id", *reference.find("id"));
  out.set("component_path", override_or(reference, definition, "component_path"));
  out.set("component_version", *definition.find("component_version"));
  out.set("cluster_env_enabled", *definition.find("cluster_env_enabled"));
  out.set("depends_on", *definition.find("depends_on"));
  out.set("enabled", *reference.find("enabled"));
  const Value* patches = cluster.at_path({"patches", reference.text("id")});
  out.set("patches", patches != nullptr ? *patches : Value(Object{}));
  out.set("cluster", identity_of(cluster));
  Object source;
  source.set("oci_url", *definition.find("oci_url"));
  source.set("oci_tag", override_or(reference, definition, "oci_tag"));
  out.set("source", std::move(source));
  return out;
}

/// Ids of the components that are rendered on a cluster.
std::set<std::string, std::less<>> enabled_on(const Value& cluster,
                                              const Definitions& definitions) {
  std::set<std::string, std::less<>> out;
  for (const Value& reference : cluster.find(references_of(Family::kComponent))->as_array()) {
    const std::string_view id = reference.text("id");
    if (reference.find("enabled")->as_bool() && definitions(id) != nullptr) out.emplace(id);
  }
  return out;
}

void trim_dependencies(Value& input, const std::set<std::string, std::less<>>& enabled) {
  Array kept;
  for (const Value& id : input.find("depends_on")->as_array()) {
    if (id != *input.find("id") && enabled.contains(id.as_string())) kept.push_back(id);
  }
  input.as_object().set("depends_on", std::move(kept));
}

/// Lists of references: one of a known id changes it, others come behind.
Value merge_references(const Value& old, const Value& given) {
  Array out = old.as_array();
  for (const Value& one : given.as_array()) {
    const auto place = std::ranges::find_if(
        out, [&](const Value& known) { return known.text("id") == one.text("id"); });
    if (place == out.end()) {
      out.push_back(one);
      continue;
    }
    for (const auto& [key, value] : one.as_object()) {
      if (value.is_null()) {
        place->as_object().erase(key);
      } else {
        place->as_object().set(key, value);
      }
    }
  }
  return out;
}

Value merge_maps(const Value& old, const Value& given) {
  Value out = old;
  for (const auto& [key, value] : given.as_object()) {
    if (value.is_null()) {
      out.as_object().erase(key);
      continue;
    }
    const Value* known = out.find(key);
    const bool deeper = known != nullptr && known->is_object() && value.is_object();
    out.as_object().set(key, deeper ? merge_maps(*known, value) : value);
  }
  return out;
}

bool is_reference_list(std::string_view key) {
  return key == "platform_components" || key == "namespaces" || key == "rolebindings";
}

bool has_texts_of_id(const Value& list) {
  return std::ranges::all_of(list.as_array(), [](const Value& one) {
    const Value* id = one.find("id");
    return id != nullptr && id->is_string();
  });
}

}  // namespace

void append_inputs(std::string& out, Family family, const Value& cluster,
                   const Definitions& definitions, Dependencies dependencies) {
  const bool trim = family == Family::kComponent && dependencies == Dependencies::kEnabled;
  const auto enabled =
      trim ? enabled_on(cluster, definitions) : std::set<std::string, std::less<>>();
  for (const Value& reference : cluster.find(references_of(family))->as_array()) {
    const Value* definition = definitions(reference.text("id"));
    if (definition == nullptr) continue;
    append_separator(out);
    if (family == Family::kComponent) {
      Value input = component_input(reference, *definition, cluster);
      if (trim) trim_dependencies(input, enabled);
      base::json::append_compact(out, input);
      continue;
    }
    Value input = *definition;
    input.as_object().set("cluster", identity_of(cluster));
    base::json::append_compact(out, input);
  }
}

void append_cluster_input(std::string& out, const Value& cluster) {
  append_separator(out);
  Object input;
  for (const char* key : {"id", "cluster_name", "cluster_dns", "environment"}) {
    input.set(key, cluster.text(key));
  }
  base::json::append_compact(out, Value(std::move(input)));
}

Outcome<Value> merged(Family family, const Value& record, const Value& body) {
  if (!body.is_object()) return bad_shape("the body must be an object");
  Value whole = base::json::Object{};
  Value bare = record;
  for (const auto& [key, given] : body.as_object()) {
    const Value* old = record.find(key);
    if (key == "id") continue;
    if (given.is_null()) {
      if (old == nullptr) continue;
      if (old->is_array() || old->is_object()) {
        whole.as_object().set(key, old->is_array() ? Value(Array{}) : Value(Object{}));
      } else if (key == "node_count" || key == "vm_image" || key == "k0s_version") {
        bare.as_object().erase(key);
      } else {
        return bad_shape(fmt::format("{}: cannot be cleared", key));
      }
    } else if (old != nullptr && old->is_object() && given.is_object()) {
      whole.as_object().set(key, merge_maps(*old, given));
    } else if (family == Family::kCluster && is_reference_list(key) && old != nullptr &&
               given.is_array() && has_texts_of_id(given)) {
      whole.as_object().set(key, merge_references(*old, given));
    } else {
      whole.as_object().set(key, given);
    }
  }
  return read_change(family, bare, whole);
}

}  // namespace kollect::fleet
