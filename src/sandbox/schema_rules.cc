// x-kubernetes-validations: rules in CEL about a value and, on updates, what it was before.
#include <fmt/format.h>

#include "base/json/document.h"
#include "cel/cel.h"
#include "sandbox/schema.h"

namespace kollect::sandbox {

using base::json::Document;
using base::json::Value;

std::expected<std::shared_ptr<const cel::Program>, std::string> compile_rule(
    const std::string& rule) {
  cel::Environment environment;
  environment.variables = {{.name = "self", .type = "dyn"}, {.name = "oldSelf", .type = "dyn"}};
  auto program = cel::Program::compile(rule, environment);
  if (!program) return std::unexpected(program.error().message);
  return std::make_shared<const cel::Program>(std::move(*program));
}

namespace {

void check_one(const SchemaNode::Rule& rule, const Value& value, const Value* old,
               const std::string& place, std::vector<Cause>& causes) {
  if (rule.needs_old && old == nullptr) return;
  const std::string path = place.empty() && !rule.field_path.empty() ? rule.field_path.substr(1)
                                                                     : place + rule.field_path;
  const Document self = Document::from_value(value);
  const Document before = Document::from_value(old != nullptr ? *old : Value());
  const auto holds =
      rule.program->evaluate_bool({{"self", self.root()}, {"oldSelf", before.root()}});
  if (holds && *holds) return;
  const std::string why = !holds ? "rule evaluation error: " + holds.error().message
                          : !rule.message.empty() ? rule.message
                                                  : "failed rule: " + rule.text;
  const std::string reason = rule.reason.empty() ? "FieldValueInvalid" : rule.reason;
  if (reason == "FieldValueRequired") {
    causes.push_back({reason, path, "Required value: " + why});
  } else if (reason == "FieldValueForbidden") {
    causes.push_back({reason, path, "Forbidden: " + why});
  } else {
    causes.push_back({reason, path, fmt::format("Invalid value: {}", why)});
  }
}

/// The old item that stands for the same thing: only lists with keys tell.
const Value* old_item(const SchemaNode& list, const Value* old, const Value& item) {
  if (old == nullptr || !old->is_array() || list.list_type != "map") return nullptr;
  for (const Value& candidate : old->as_array()) {
    bool same = true;
    for (const std::string& key : list.map_keys) {
      const Value* a = candidate.find(key);
      const Value* b = item.find(key);
      same = same && a != nullptr && b != nullptr && *a == *b;
    }
    if (same) return &candidate;
  }
  return nullptr;
}

}  // namespace

void check_rules(const SchemaNode& node, const Value& value, const Value* old,
                 const std::string& path, std::vector<Cause>& causes) {
  if (value.is_null()) return;
  for (const auto& rule : node.rules) check_one(rule, value, old, path, causes);
  if (value.is_object()) {
    for (const auto& [name, member] : value.as_object()) {
      SchemaNode::Ptr child = node.find(name);
      if (!child) child = node.additional;
      if (!child) continue;
      const Value* before = old != nullptr ? old->find(name) : nullptr;
      check_rules(*child, member, before, member_place(path, name), causes);
    }
  } else if (value.is_array() && node.items) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      const Value& item = value.as_array()[i];
      check_rules(*node.items, item, old_item(node, old, item), fmt::format("{}[{}]", path, i),
                  causes);
    }
  }
}

}  // namespace kollect::sandbox
