#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sandbox/schema.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

SchemaNode::Ptr SchemaNode::find(std::string_view property) const {
  for (const auto& [name, node] : properties) {
    if (name == property) return node;
  }
  return nullptr;
}

std::string member_place(const std::string& parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
}

class SchemaCompiler {
 public:
  explicit SchemaCompiler(std::vector<Cause>& causes) : causes_(causes) {}

  SchemaNode::Ptr compile(const Value& schema, const std::string& place) {
    auto node = std::make_shared<SchemaNode>();
    node->type = schema.text("type");
    node->nullable = flag(schema, "nullable");
    node->int_or_string = flag(schema, "x-kubernetes-int-or-string");
    node->preserve_unknown = flag(schema, "x-kubernetes-preserve-unknown-fields");
    node->embedded_resource = flag(schema, "x-kubernetes-embedded-resource");
    node->list_type = schema.text("x-kubernetes-list-type");
    node->map_keys = strings(schema, "x-kubernetes-list-map-keys");
    node->required = strings(schema, "required");
    node->format = schema.text("format");
    node->unique_items = flag(schema, "uniqueItems");
    node->exclusive_minimum = flag(schema, "exclusiveMinimum");
    node->exclusive_maximum = flag(schema, "exclusiveMaximum");
    node->minimum = number(schema, "minimum");
    node->maximum = number(schema, "maximum");
    node->multiple_of = number(schema, "multipleOf");
    node->min_length = count(schema, "minLength");
    node->max_length = count(schema, "maxLength");
    node->min_items = count(schema, "minItems");
    node->max_items = count(schema, "maxItems");
    node->min_properties = count(schema, "minProperties");
    node->max_properties = count(schema, "maxProperties");
    if (const Value* value = schema.find("default")) node->default_value = *value;
    if (const Value* list = schema.find("enum"); list != nullptr && list->is_array()) {
      node->enums = list->as_array();
    }
    read_pattern(schema, place, *node);
    read_children(schema, place, *node);
    read_rules(schema, place, *node);
    check_type(place, *node);
    check_default(place, node);
    return node;
  }

 private:
  static bool flag(const Value& schema, std::string_view key) {
    const Value* value = schema.find(key);
    return value != nullptr && value->is_bool() && value->as_bool();
  }
  static std::optional<double> number(const Value& schema, std::string_view key) {
    const Value* value = schema.find(key);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    if (value->is_int()) return static_cast<double>(value->as_int());
    return value->is_uint() ? static_cast<double>(value->as_uint()) : value->as_double();
  }
  static std::optional<std::int64_t> count(const Value& schema, std::string_view key) {
    const Value* value = schema.find(key);
    if (value == nullptr || !value->is_int()) return std::nullopt;
    return value->as_int();
  }
  static std::vector<std::string> strings(const Value& schema, std::string_view key) {
    std::vector<std::string> out;
    const Value* list = schema.find(key);
    if (list == nullptr || !list->is_array()) return out;
    for (const Value& one : list->as_array()) {
      if (one.is_string()) out.push_back(one.as_string());
    }
    return out;
  }

  void read_pattern(const Value& schema, const std::string& place, SchemaNode& node) {
    node.pattern_text = schema.text("pattern");
    if (node.pattern_text.empty()) return;
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto pattern = std::make_shared<const re2::RE2>(node.pattern_text, options);
    if (!pattern->ok()) {
      causes_.push_back(
          {"FieldValueInvalid", place + ".pattern",
           fmt::format("Invalid value: \"{}\": {}", node.pattern_text, pattern->error())});
      return;
    }
    node.pattern = std::move(pattern);
  }

  void read_children(const Value& schema, const std::string& place, SchemaNode& node) {
    if (const Value* members = schema.find("properties");
        members != nullptr && members->is_object()) {
      for (const auto& [name, child] : members->as_object()) {
        node.properties.emplace_back(name,
                                     compile(child, fmt::format("{}.properties[{}]", place, name)));
      }
    }
    if (const Value* more = schema.find("additionalProperties")) {
      if (more->is_object()) node.additional = compile(*more, place + ".additionalProperties");
      if (more->is_bool() && more->as_bool()) node.preserve_unknown = true;
      node.no_additional = more->is_bool() && !more->as_bool();
    }
    if (const Value* items = schema.find("items"); items != nullptr && items->is_object()) {
      node.items = compile(*items, place + ".items");
    }
    const bool narrowing = std::exchange(narrowing_, true);
    read_list(schema, "allOf", place, node.all_of);
    read_list(schema, "anyOf", place, node.any_of);
    read_list(schema, "oneOf", place, node.one_of);
    if (const Value* other = schema.find("not"); other != nullptr && other->is_object()) {
      node.none_of = compile(*other, place + ".not");
    }
    narrowing_ = narrowing;
  }

  void read_list(const Value& schema, const char* key, const std::string& place,
                 std::vector<SchemaNode::Ptr>& out) {
    const Value* list = schema.find(key);
    if (list == nullptr || !list->is_array()) return;
    for (const Value& one : list->as_array()) {
      out.push_back(compile(one, fmt::format("{}.{}[{}]", place, key, out.size())));
    }
  }

  void read_rules(const Value& schema, const std::string& place, SchemaNode& node) {
    const Value* list = schema.find("x-kubernetes-validations");
    if (list == nullptr || !list->is_array()) return;
    for (const Value& one : list->as_array()) {
      SchemaNode::Rule rule;
      rule.text = one.text("rule");
      rule.message = one.text("message");
      rule.reason = one.text("reason");
      rule.field_path = one.text("fieldPath");
      rule.needs_old = rule.text.find("oldSelf") != std::string::npos;
      auto program = compile_rule(rule.text);
      if (!program) {
        causes_.push_back(
            {"FieldValueInvalid",
             fmt::format("{}.x-kubernetes-validations[{}].rule", place, node.rules.size()),
             fmt::format("Invalid value: \"{}\": compilation failed: {}", rule.text,
                         program.error())});
        continue;
      }
      rule.program = std::move(*program);
      node.rules.push_back(std::move(rule));
    }
  }

  void check_type(const std::string& place, const SchemaNode& node) {
    static constexpr std::array<std::string_view, 6> kTypes = {"array",  "boolean", "integer",
                                                               "number", "object",  "string"};
    if (node.type.empty()) {
      // Parts of logical expressions only narrow what stands beside them.
      if (narrowing_ || node.int_or_string || node.preserve_unknown) return;
      causes_.push_back({"FieldValueRequired", place + ".type",
                         "Required value: must not be empty for specified object fields"});
    } else if (std::ranges::find(kTypes, node.type) == kTypes.end()) {
      causes_.push_back(
          {"FieldValueNotSupported", place + ".type",
           fmt::format("Unsupported value: \"{}\": supported values: \"array\", \"boolean\", "
                       "\"integer\", \"number\", \"object\", \"string\"",
                       node.type)});
    }
  }

  void check_default(const std::string& place, const SchemaNode::Ptr& node) {
    if (!node->default_value) return;
    StructuralSchema part;
    part.root_ = node;
    Value value = *node->default_value;
    part.apply_defaults(value);
    for (Cause& cause : part.validate(value, nullptr)) {
      cause.field = place + ".default";
      causes_.push_back(std::move(cause));
    }
  }

  std::vector<Cause>& causes_;
  bool narrowing_ = false;
};

std::expected<StructuralSchema, std::vector<Cause>> StructuralSchema::compile(
    const Value& open_api, const std::string& place) {
  std::vector<Cause> causes;
  StructuralSchema schema;
  schema.root_ = SchemaCompiler(causes).compile(open_api, place);
  if (!causes.empty()) return std::unexpected(std::move(causes));
  return schema;
}

ListRule StructuralSchema::list_rule(const std::vector<std::string>& path) const {
  if (path.size() == 2 && path[0] == "metadata") return builtin_list_rule(path, nullptr);
  SchemaNode::Ptr at = root_;
  for (const std::string& step : path) {
    while (at && at->type == "array") at = at->items;
    if (!at) return {};
    SchemaNode::Ptr next = at->find(step);
    at = next ? next : at->additional;
  }
  if (!at) return {};
  if (at->list_type == "set") return {.kind = ListRule::Kind::kSet, .keys = {}};
  if (at->list_type == "map") return {.kind = ListRule::Kind::kByKeys, .keys = at->map_keys};
  return {};
}

// ---- pruning and defaults

namespace {

bool is_type_or_metadata(const std::string& name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

void prune_node(const SchemaNode& node, Value& value, const std::string& path, bool resource,
                std::vector<std::string>& gone);

void prune_members(const SchemaNode& node, Object& object, const std::string& path, bool resource,
                   std::vector<std::string>& gone) {
  std::vector<std::string> dropped;
  for (auto& [name, value] : object) {
    if (resource && is_type_or_metadata(name)) continue;
    SchemaNode::Ptr child = node.find(name);
    if (!child) child = node.additional;
    if (!child) {
      if (node.preserve_unknown) continue;
      gone.push_back(member_place(path, name));
      dropped.push_back(name);
    } else if (value.is_null() && !child->nullable && !child->preserve_unknown) {
      dropped.push_back(name);
    } else {
      prune_node(*child, value, member_place(path, name), child->embedded_resource, gone);
    }
  }
  for (const std::string& name : dropped) object.erase(name);
}

void prune_node(const SchemaNode& node, Value& value, const std::string& path, bool resource,
                std::vector<std::string>& gone) {
  if (value.is_object()) {
    prune_members(node, value.as_object(), path, resource, gone);
  } else if (value.is_array() && node.items) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      prune_node(*node.items, value.as_array()[i], fmt::format("{}[{}]", path, i),
                 node.items->embedded_resource, gone);
    }
  }
}

void default_node(const SchemaNode& node, Value& value) {
  if (value.is_object()) {
    Object& object = value.as_object();
    for (const auto& [name, child] : node.properties) {
      if (child->default_value && !object.contains(name)) object.set(name, *child->default_value);
    }
    for (auto& [name, member] : object) {
      const SchemaNode::Ptr child = node.find(name);
      if (child) {
        default_node(*child, member);
      } else if (node.additional) {
        default_node(*node.additional, member);
      }
    }
  } else if (value.is_array() && node.items) {
    for (Value& item : value.as_array()) default_node(*node.items, item);
  }
}

}  // namespace

std::vector<std::string> StructuralSchema::prune(Value& object) const {
  std::vector<std::string> gone;
  prune_node(*root_, object, "", true, gone);
  return gone;
}

void StructuralSchema::apply_defaults(Value& object) const {
  default_node(*root_, object);
}

}  // namespace kollect::sandbox
