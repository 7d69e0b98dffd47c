// Pruning and defaulting (spec: crds 2.2 steps 1 to 3).
#include <algorithm>

#include "api/describe.h"
#include "api/validate.h"
#include "base/strings.h"

namespace kollect::api {

namespace {

using base::json::Object;
using base::json::Value;

std::string member_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void prune_object(const Schema& schema, Object& object, const std::string& path,
                  std::vector<std::string>& pruned) {
  std::vector<std::string> gone;
  for (auto& [name, value] : object) {
    const Property* property = schema.find(name);
    if (property == nullptr) {
      pruned.push_back(member_path(path, name));
      gone.push_back(name);
    } else if (value.is_null() && !property->schema.default_value) {
      gone.push_back(name);
    } else if (value.is_null() && property->schema.default_in_crd_only) {
      gone.push_back(name);
    } else if (value.is_null()) {
      value = *property->schema.default_value;
    }
  }
  for (const std::string& name : gone) {
    object.erase(name);
  }
  for (const Property& property : schema.properties) {
    if (property.schema.default_value && !property.schema.default_in_crd_only &&
        !object.contains(property.name)) {
      object.set(property.name, *property.schema.default_value);
    }
  }
  for (auto& [name, value] : object) {
    prune_and_default(schema.find(name)->schema, value, member_path(path, name), pruned);
  }
}

}  // namespace

void prune_and_default(const Schema& schema, Value& value, const std::string& path,
                       std::vector<std::string>& pruned) {
  if (schema.type == Schema::Type::kObject && value.is_object()) {
    if (!schema.properties.empty()) {
      prune_object(schema, value.as_object(), path, pruned);
    }
  } else if (schema.type == Schema::Type::kArray && value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      prune_and_default(*schema.items, value.as_array()[i], fmt::format("{}[{}]", path, i), pruned);
    }
  } else if (schema.type == Schema::Type::kStringMap && value.is_object()) {
    std::vector<std::string> nulls;
    for (const auto& [name, entry] : value.as_object()) {
      if (entry.is_null()) {
        nulls.push_back(name);
      }
    }
    for (const std::string& name : nulls) {
      value.as_object().erase(name);
    }
  }
}

std::vector<std::string> prune_and_default(std::string_view kind, Value& object) {
  std::vector<std::string> pruned;
  if (const KindDescription* description = find_description(kind);
      description != nullptr && object.is_object()) {
    prune_and_default(description->root, object, "", pruned);
  }
  std::sort(pruned.begin(), pruned.end());
  return pruned;
}

std::vector<std::string> known_siblings(std::string_view kind, std::string_view path) {
  const KindDescription* description = find_description(kind);
  if (description == nullptr) {
    return {};
  }
  const Schema* schema = &description->root;
  const std::size_t end = path.rfind('.');
  const std::string_view parent = end == std::string_view::npos ? "" : path.substr(0, end);
  for (const std::string_view step : base::split(parent, '.')) {
    const std::string_view name = step.substr(0, step.find('['));
    if (name.empty()) {
      continue;
    }
    const Property* property = schema->find(name);
    if (property == nullptr) {
      return {};
    }
    schema = &property->schema;
    if (name.size() != step.size() && schema->items) {
      schema = schema->items.get();
    }
  }
  std::vector<std::string> names;
  for (const Property& property : schema->properties) {
    names.push_back(property.name);
  }
  return names;
}

}  // namespace kollect::api
