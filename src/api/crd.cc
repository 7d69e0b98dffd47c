// The CustomResourceDefinitions (spec: crds 2.1): apiextensions v1 from the descriptions.
#include <algorithm>

#include "api/codec.h"
#include "api/describe.h"
#include "base/yaml/write.h"

namespace kollect::api {

namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

Value schema_to_value(const Schema& schema);

void add_type(const Schema& schema, Object& out) {
  if (schema.object_or_name) {
    // A structural schema has no "string or object": the type is left open, members stay typed, and
    // an empty name is refused (spec: crds 9 D2).
    out.set("x-kubernetes-preserve-unknown-fields", true);
    out.set("minLength", 1);
    return;
  }
  out.set("type", to_string(schema.type));
}

void add_bounds(const Schema& schema, Object& out) {
  const std::pair<const char*, const std::optional<std::int64_t>*> bounds[] = {
      {"minLength", &schema.min_length},
      {"maxLength", &schema.max_length},
      {"minimum", &schema.minimum},
      {"maximum", &schema.maximum},
      {"maxItems", &schema.max_items}};
  for (const auto& [name, bound] : bounds) {
    if (*bound) {
      out.set(name, **bound);
    }
  }
}

void add_list_rules(const Schema& schema, Object& out) {
  switch (schema.list_type) {
    case Schema::ListType::kUnset:
      break;
    case Schema::ListType::kAtomic:
      out.set("x-kubernetes-list-type", "atomic");
      break;
    case Schema::ListType::kSet:
      out.set("x-kubernetes-list-type", "set");
      break;
    case Schema::ListType::kMap:
      out.set("x-kubernetes-list-type", "map");
      out.set("x-kubernetes-list-map-keys", Array{schema.map_key});
      break;
  }
  if (schema.atomic_map) {
    out.set("x-kubernetes-map-type", "atomic");
  }
}

void add_members(const Schema& schema, Object& out) {
  std::vector<const Property*> members;
  for (const Property& property : schema.properties) {
    members.push_back(&property);
  }
  std::sort(members.begin(), members.end(),
            [](const Property* a, const Property* b) { return a->name < b->name; });
  Object properties;
  Array required;
  for (const Property* property : members) {
    properties.set(property->name, schema_to_value(property->schema));
    if (property->is_required) {
      required.emplace_back(property->name);
    }
  }
  if (!properties.empty()) {
    out.set("properties", std::move(properties));
  }
  if (!required.empty()) {
    out.set("required", std::move(required));
  }
}

Value schema_to_value(const Schema& schema) {
  Object out;
  add_type(schema, out);
  if (!schema.doc.empty()) {
    out.set("description", schema.doc);
  }
  if (schema.default_value) {
    out.set("default", *schema.default_value);
  }
  if (!schema.enums.empty()) {
    Array values;
    for (const std::string& value : schema.enums) {
      values.emplace_back(value);
    }
    out.set("enum", std::move(values));
  }
  if (!schema.pattern.empty()) {
    out.set("pattern", schema.pattern);
  }
  if (!schema.format.empty()) {
    out.set("format", schema.format);
  }
  add_bounds(schema, out);
  add_list_rules(schema, out);
  if (schema.items) {
    out.set("items", schema_to_value(*schema.items));
  }
  if (schema.type == Schema::Type::kStringMap) {
    Object entry;
    entry.set("type", "string");
    out.set("additionalProperties", std::move(entry));
  }
  add_members(schema, out);
  return out;
}

Value version_of(const KindDescription& kind) {
  Object version;
  version.set("name", kVersion);
  version.set("served", true);
  version.set("storage", true);
  Object schema;
  schema.set("openAPIV3Schema", schema_to_value(kind.root));
  version.set("schema", std::move(schema));
  if (kind.info.has_status) {
    Object subresources;
    subresources.set("status", Object{});
    version.set("subresources", std::move(subresources));
  }
  Array columns;
  for (const PrinterColumn& column : kind.columns) {
    Object entry;
    entry.set("name", column.name);
    entry.set("type", column.type);
    entry.set("jsonPath", column.json_path);
    columns.emplace_back(std::move(entry));
  }
  if (!columns.empty()) {
    version.set("additionalPrinterColumns", std::move(columns));
  }
  return version;
}

}  // namespace

Value crd(std::string_view kind) {
  const KindDescription* description = find_description(kind);
  if (description == nullptr) {
    return {};
  }
  const KindInfo& info = description->info;
  Object names;
  names.set("kind", info.kind);
  names.set("listKind", info.kind + "List");
  names.set("plural", info.plural);
  names.set("singular", info.singular);
  names.set("shortNames", Array{info.short_name});
  Object spec;
  spec.set("group", kGroup);
  spec.set("names", std::move(names));
  spec.set("scope", info.namespaced ? "Namespaced" : "Cluster");
  spec.set("versions", Array{version_of(*description)});
  Object metadata;
  metadata.set("name", fmt::format("{}.{}", info.plural, kGroup));
  Object out;
  out.set("apiVersion", "apiextensions.k8s.io/v1");
  out.set("kind", "CustomResourceDefinition");
  out.set("metadata", std::move(metadata));
  out.set("spec", std::move(spec));
  return out;
}

std::string crds_yaml() {
  std::string out;
  for (const KindInfo& info : kinds()) {
    out += "---\n";
    out += base::yaml::write(crd(info.kind));
  }
  return out;
}

}  // namespace kollect::api
