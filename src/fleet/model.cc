#include "fleet/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "base/strings.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

enum class Type : std::uint8_t {
  kText,
  kEnvironment,
  kInt32,
  kBool,
  kTexts,       ///< ["a"]
  kTextMap,     ///< {"a": "b"}
  kComponents,  ///< [{"id", "enabled", "oci_tag", "component_path"}]
  kReferences,  ///< [{"id"}]
  kPatches,     ///< {"component": {"a": "b"}}
  kObjects,     ///< [{...}]
};

/// When a member may be left out.
enum class Presence : std::uint8_t {
  kRequired,
  kRequiredInBodies,  ///< a seed may leave it out
  kDefault,           ///< shown always
  kOptional,          ///< shown when it is set
};

struct Field {
  std::string_view key;
  Type type;
  Presence presence;
};

constexpr std::array kCluster = {
    Field{"cluster_name", Type::kText, Presence::kRequired},
    Field{"cluster_dns", Type::kText, Presence::kRequired},
    Field{"environment", Type::kEnvironment, Presence::kRequired},
    Field{"node_count", Type::kInt32, Presence::kOptional},
    Field{"vm_image", Type::kText, Presence::kOptional},
    Field{"k0s_version", Type::kText, Presence::kOptional},
    Field{"platform_components", Type::kComponents, Presence::kRequired},
    Field{"namespaces", Type::kReferences, Presence::kDefault},
    Field{"rolebindings", Type::kReferences, Presence::kDefault},
    Field{"patches", Type::kPatches, Presence::kDefault},
};
constexpr std::array kComponent = {
    Field{"component_path", Type::kText, Presence::kRequired},
    Field{"component_version", Type::kText, Presence::kRequired},
    Field{"cluster_env_enabled", Type::kBool, Presence::kDefault},
    Field{"oci_url", Type::kText, Presence::kRequired},
    Field{"oci_tag", Type::kText, Presence::kRequired},
    Field{"depends_on", Type::kTexts, Presence::kRequiredInBodies},
};
constexpr std::array kNamespace = {
    Field{"labels", Type::kTextMap, Presence::kDefault},
    Field{"annotations", Type::kTextMap, Presence::kDefault},
};
constexpr std::array kRoleBinding = {
    Field{"role", Type::kText, Presence::kRequired},
    Field{"subjects", Type::kObjects, Presence::kRequired},
};

std::span<const Field> fields_of(Family family) {
  switch (family) {
    case Family::kCluster:
      return kCluster;
    case Family::kComponent:
      return kComponent;
    case Family::kNamespace:
      return kNamespace;
    case Family::kRoleBinding:
      break;
  }
  return kRoleBinding;
}

Value default_of(Type type) {
  switch (type) {
    case Type::kBool:
      return false;
    case Type::kTextMap:
    case Type::kPatches:
      return Object{};
    default:
      return Array{};
  }
}

const Value* present(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::unexpected<Problem> wrong(const std::string& place, const char* wanted, const Value& got) {
  return bad_shape(fmt::format("{}: must be {}, not {}", place, wanted, got.type_name()));
}

Outcome<Value> read_text(const Value& value, const std::string& place) {
  if (!value.is_string()) return wrong(place, "a text", value);
  return value;
}

/// Members sorted, so that equal maps have equal bytes.
Outcome<Value> read_text_map(const Value& value, const std::string& place) {
  if (!value.is_object()) return wrong(place, "an object of texts", value);
  std::map<std::string_view, const std::string*> sorted;
  for (const auto& [key, one] : value.as_object()) {
    if (!one.is_string()) return wrong(place + "." + key, "a text", one);
    sorted.emplace(key, &one.as_string());
  }
  Object out;
  for (const auto& [key, text] : sorted) out.set(std::string(key), *text);
  return Value(std::move(out));
}

Outcome<Value> read_patches(const Value& value, const std::string& place) {
  if (!value.is_object()) return wrong(place, "an object of objects of texts", value);
  std::map<std::string, Value> sorted;
  for (const auto& [key, one] : value.as_object()) {
    FLEET_ASSIGN(auto map, read_text_map(one, place + "." + key));
    sorted.emplace(key, std::move(map));
  }
  Object out;
  for (auto& [key, map] : sorted) out.set(key, std::move(map));
  return Value(std::move(out));
}

Outcome<Value> read_reference(const Value& value, const std::string& place, bool component) {
  if (!value.is_object()) return wrong(place, "an object", value);
  const Value* id = present(value, "id");
  if (id == nullptr) return bad_shape(place + ".id: is missing");
  Object out;
  FLEET_ASSIGN(auto text, read_text(*id, place + ".id"));
  out.set("id", std::move(text));
  if (!component) return Value(std::move(out));
  const Value* enabled = present(value, "enabled");
  if (enabled != nullptr && !enabled->is_bool()) {
    return wrong(place + ".enabled", "true or false", *enabled);
  }
  out.set("enabled", enabled == nullptr || enabled->as_bool());
  for (const char* key : {"oci_tag", "component_path"}) {
    const Value* override_ = present(value, key);
    if (override_ == nullptr) continue;
    FLEET_ASSIGN(auto set, read_text(*override_, place + "." + key));
    out.set(key, std::move(set));
  }
  return Value(std::move(out));
}

Outcome<Value> read_list(Type type, const Value& value, const std::string& place) {
  if (!value.is_array()) return wrong(place, "a list", value);
  Array out;
  for (const Value& one : value.as_array()) {
    const std::string here = fmt::format("{}[{}]", place, out.size());
    if (type == Type::kObjects) {
      if (!one.is_object()) return wrong(here, "an object", one);
      out.push_back(one);
    } else if (type == Type::kTexts) {
      FLEET_ASSIGN(auto text, read_text(one, here));
      out.push_back(std::move(text));
    } else {
      FLEET_ASSIGN(auto reference, read_reference(one, here, type == Type::kComponents));
      out.push_back(std::move(reference));
    }
  }
  return Value(std::move(out));
}

Outcome<Value> read_value(const Field& field, const Value& value) {
  const std::string place(field.key);
  switch (field.type) {
    case Type::kText:
      return read_text(value, place);
    case Type::kEnvironment: {
      constexpr std::array kNames = {"dev", "qa", "uat", "prod"};
      if (!value.is_string()) return wrong(place, "a text", value);
      if (std::ranges::find(kNames, value.as_string()) == kNames.end()) {
        return bad_shape(place + ": must be dev, qa, uat or prod");
      }
      return value;
    }
    case Type::kInt32:
      if (!value.is_int() || value.as_int() < std::numeric_limits<std::int32_t>::min() ||
          value.as_int() > std::numeric_limits<std::int32_t>::max()) {
        return bad_shape(place + ": must be a whole number of 32 bits");
      }
      return value;
    case Type::kBool:
      if (!value.is_bool()) return wrong(place, "true or false", value);
      return value;
    case Type::kTextMap:
      return read_text_map(value, place);
    case Type::kPatches:
      return read_patches(value, place);
    case Type::kTexts:
    case Type::kObjects:
    case Type::kComponents:
    case Type::kReferences:
      break;
  }
  return read_list(field.type, value, place);
}

Outcome<Value> read_record(Family family, const Value& body, std::string id, bool body_rules) {
  Object out;
  out.set("id", std::move(id));
  for (const Field& field : fields_of(family)) {
    const Value* given = present(body, field.key);
    if (given != nullptr) {
      FLEET_ASSIGN(auto value, read_value(field, *given));
      out.set(std::string(field.key), std::move(value));
      continue;
    }
    const bool required = field.presence == Presence::kRequired ||
                          (field.presence == Presence::kRequiredInBodies && body_rules);
    if (required) return bad_shape(fmt::format("{}: is missing", field.key));
    if (field.presence != Presence::kOptional) {
      out.set(std::string(field.key), default_of(field.type));
    }
  }
  return Value(std::move(out));
}

/// "_id" for the first two families (spec: fleet-api 9).
const char* stored_id(Family family) {
  return family == Family::kCluster || family == Family::kComponent ? "_id" : "id";
}

}  // namespace

std::string_view collection_of(Family family) {
  constexpr std::array<std::string_view, kFamilies> kNames = {"clusters", "platform_components",
                                                              "namespaces", "rolebindings"};
  return kNames.at(static_cast<std::size_t>(family));
}

std::string_view noun_of(Family family) {
  constexpr std::array<std::string_view, kFamilies> kNames = {"cluster", "component", "namespace",
                                                              "role binding"};
  return kNames.at(static_cast<std::size_t>(family));
}

std::string_view references_of(Family family) {
  return collection_of(family);
}

Outcome<Value> read_new(Family family, const Value& body) {
  if (!body.is_object()) return bad_shape("the body must be an object");
  const Value* id = body.find("id");
  if (id == nullptr) return bad_shape("id: is missing");
  FLEET_ASSIGN(auto record, read_record(family, body, "", true));
  if (!id->is_string() || base::trim(id->as_string()).empty()) {
    return bad_request("id: must be a text that is not blank");
  }
  record.as_object().set("id", id->as_string());
  return record;
}

Outcome<Value> read_change(Family family, const Value& record, const Value& body) {
  if (!body.is_object()) return bad_shape("the body must be an object");
  Object out;
  out.set("id", *record.find("id"));
  for (const Field& field : fields_of(family)) {
    if (const Value* given = present(body, field.key)) {
      FLEET_ASSIGN(auto value, read_value(field, *given));
      out.set(std::string(field.key), std::move(value));
    } else if (const Value* kept = record.find(field.key)) {
      out.set(std::string(field.key), *kept);
    }
  }
  return Value(std::move(out));
}

base::Result<Value> from_storage(Family family, const Value& stored) {
  const Value* id = stored.find(stored_id(family));
  if (id == nullptr || !id->is_string()) {
    return base::configuration(fmt::format("a {} has no {}", noun_of(family), stored_id(family)));
  }
  auto record = [&] {
    if (family != Family::kRoleBinding) return read_record(family, stored, id->as_string(), false);
    // Subjects of any type are kept as they are.
    Value plain = stored;
    const Value* subjects = stored.find("subjects");
    const bool odd = subjects != nullptr && subjects->is_array();
    if (odd) plain.as_object().set("subjects", Array{});
    auto read = read_record(family, plain, id->as_string(), false);
    if (read && odd) read->as_object().set("subjects", *subjects);
    return read;
  }();
  if (!record) {
    return base::configuration(
        fmt::format("{} {}: {}", noun_of(family), id->as_string(), record.error().message));
  }
  return *std::move(record);
}

Value to_storage(Family family, const Value& record) {
  Object out;
  out.set(stored_id(family), *record.find("id"));
  for (const Field& field : fields_of(family)) {
    const Value* value = record.find(field.key);
    out.set(std::string(field.key), value != nullptr ? *value : Value());
  }
  if (family != Family::kCluster) return out;
  // The reference writes overrides that are not set as null.
  for (Value& reference : out.find("platform_components")->as_array()) {
    for (const char* key : {"oci_tag", "component_path"}) {
      if (reference.find(key) == nullptr) reference.as_object().set(key, nullptr);
    }
  }
  return out;
}

Value shown(Family family, const Value& record) {
  const Value* subjects = record.find("subjects");
  if (family != Family::kRoleBinding || subjects == nullptr) return record;
  Array objects;
  for (const Value& subject : subjects->as_array()) {
    if (subject.is_object()) objects.push_back(subject);
  }
  Value out = record;
  out.as_object().set("subjects", std::move(objects));
  return out;
}

std::vector<std::string_view> referred(const Value& cluster, Family family) {
  std::vector<std::string_view> ids;
  const Value* list = cluster.find(references_of(family));
  if (list == nullptr || !list->is_array()) return ids;
  for (const Value& reference : list->as_array()) ids.push_back(reference.text("id"));
  return ids;
}

bool has_repeated_members(base::json::View value) {
  if (value.is_array()) {
    for (const base::json::View item : value.items()) {
      if (has_repeated_members(item)) return true;
    }
    return false;
  }
  std::set<std::string_view> seen;
  for (const auto& [key, member] : value.members()) {
    if (!seen.insert(key).second || has_repeated_members(member)) return true;
  }
  return false;
}

}  // namespace kollect::fleet
