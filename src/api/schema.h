// The schema of one field as data: what the CRD YAML, defaulting and validation are made from.
// Internal to the room; other rooms use codec.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/value.h"

namespace kollect::api {

struct Property;

/// A structural schema node (the subset of apiextensions v1 that our kinds use; spec: crds 2 and
/// 3).
struct Schema {
  enum class Type { kString, kInteger, kBoolean, kObject, kArray, kStringMap };
  enum class ListType { kUnset, kAtomic, kSet, kMap };

  Type type = Type::kObject;
  std::string doc;
  std::vector<Property> properties;     ///< kObject
  std::shared_ptr<const Schema> items;  ///< kArray
  std::optional<base::json::Value> default_value;
  /// The default stands in the CRD only: prune_and_default leaves the member absent, so that a
  /// program that reads files can tell "not given" from "given" (spec: crds 9 D15).
  bool default_in_crd_only = false;
  std::vector<std::string> enums;
  std::string pattern;
  std::string format;
  std::optional<std::int64_t> min_length;
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> minimum;
  std::optional<std::int64_t> maximum;
  std::optional<std::int64_t> max_items;
  ListType list_type = ListType::kUnset;
  std::string map_key;      ///< list map: the member that tells items apart
  bool atomic_map = false;  ///< x-kubernetes-map-type: atomic
  bool duration =
      false;  ///< text in the grammar of spec crds 2.4; checked when decoding, not by the schema
  bool object_or_name =
      false;  ///< an item that may be a plain string instead of an object (spec: crds 9 D2)

  /// Property of an object, nullptr when unknown.
  [[nodiscard]] const Property* find(std::string_view name) const;
  Property& add(std::string name, Type member_type, std::string text);
  Property& add(std::string name, Schema schema, std::string text);
  Property& add_list(std::string name, Schema item, std::string text);
  Property& add_strings(std::string name, std::string text);
};

/// A named member with its schema. The setters chain while a description is built.
struct Property {
  std::string name;
  Schema schema;
  bool is_required = false;

  Property& required() {
    is_required = true;
    return *this;
  }
  Property& defaults(base::json::Value value) {
    schema.default_value = std::move(value);
    return *this;
  }
  Property& crd_default(base::json::Value value) {
    schema.default_in_crd_only = true;
    return defaults(std::move(value));
  }
  Property& one_of(std::vector<std::string> values) {
    schema.enums = std::move(values);
    return *this;
  }
  Property& pattern(std::string text) {
    schema.pattern = std::move(text);
    return *this;
  }
  Property& format(std::string name_of_format) {
    schema.format = std::move(name_of_format);
    return *this;
  }
  Property& length(std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
    schema.min_length = least;
    schema.max_length = most;
    return *this;
  }
  Property& range(std::optional<std::int64_t> least, std::optional<std::int64_t> most = {}) {
    schema.minimum = least;
    schema.maximum = most;
    return *this;
  }
  Property& at_most(std::int64_t items) {
    schema.max_items = items;
    return *this;
  }
  Property& set() {
    schema.list_type = Schema::ListType::kSet;
    return *this;
  }
  Property& atomic_list() {
    schema.list_type = Schema::ListType::kAtomic;
    return *this;
  }
  Property& map_by(std::string key) {
    schema.list_type = Schema::ListType::kMap;
    schema.map_key = std::move(key);
    return *this;
  }
  Property& atomic() {
    schema.atomic_map = true;
    return *this;
  }
  Property& duration() {
    schema.duration = true;
    return *this;
  }
  Property& item_pattern(std::string text, std::int64_t most);
};

/// "array", "string", ... as the CRD spells it.
std::string_view to_string(Schema::Type type);

}  // namespace kollect::api
