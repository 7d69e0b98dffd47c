// Fields and indexes (spec: extraction 4, missing keys).
#include <cmath>

#include "cel/node.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

Value no_such_key(Evaluation& evaluation, std::string_view key) {
  return evaluation.errorf("no such key: '{}'", key);
}

/// Lists have elements, not fields: asking for one is a mistake, where a scalar just has none.
Value list_without_fields(Evaluation& evaluation, std::string_view field) {
  return evaluation.errorf("a list has no field '{}'", field);
}

/// Index of a list element from a number of any type; false when it is not a whole number.
bool list_index(const Value& key, std::int64_t& out) {
  switch (key.kind) {
    case Kind::kInt:
      out = key.i;
      return true;
    case Kind::kUint:
      out = key.u > INT64_MAX ? -1 : static_cast<std::int64_t>(key.u);
      return true;
    case Kind::kDouble:
      if (std::trunc(key.d) != key.d || std::fabs(key.d) > 9e15) return false;
      out = static_cast<std::int64_t>(key.d);
      return true;
    default:
      return false;
  }
}

/// The element or member; `found` false when it is missing. Errors for kinds that have no index.
Value look_up(Evaluation& evaluation, const Value& operand, const Value& key, bool& found) {
  found = false;
  if (operand.kind == Kind::kMap) {
    if (!is_key(key) && key.kind != Kind::kDouble) return evaluation.no_overload();
    evaluation.charge(look_up_weight(operand));
    const auto member = find_member(operand, key);
    found = member.found;
    return member.value;
  }
  if (operand.kind != Kind::kList || !key.is_number()) return evaluation.no_overload();
  std::int64_t index = 0;
  if (!list_index(key, index)) return evaluation.error("an index of a list must be a whole number");
  if (index < 0 || index >= static_cast<std::int64_t>(operand.count)) return Value::null();
  found = true;
  // Elements of JSON are reached by walking over those before them.
  if (operand.json) evaluation.charge(static_cast<std::uint64_t>(index) / 64);
  return list_at(operand, static_cast<std::size_t>(index));
}

}  // namespace

Value select_field(Evaluation& evaluation, const Value& operand, std::string_view field) {
  if (operand.kind == Kind::kMap) {
    evaluation.charge(look_up_weight(operand));
    const auto member = find_member(operand, field);
    return member.found ? member.value : no_such_key(evaluation, field);
  }
  if (operand.kind == Kind::kOptional) {
    // A select on an optional goes on optionally: what is missing is none.
    if (operand.held == nullptr) return operand;
    if (operand.held->kind == Kind::kMap || operand.held->kind == Kind::kOptional) {
      return select_optional(evaluation, *operand.held, field);
    }
  }
  return no_such_key(evaluation, field);
}

Value has_field(Evaluation& evaluation, const Value& operand, std::string_view field) {
  if (operand.kind == Kind::kOptional) {
    return operand.held == nullptr ? Value::of_bool(false)
                                   : has_field(evaluation, *operand.held, field);
  }
  if (operand.kind == Kind::kList) return list_without_fields(evaluation, field);
  evaluation.charge(look_up_weight(operand));
  return Value::of_bool(find_member(operand, field).found);
}

Value select_optional(Evaluation& evaluation, const Value& operand, std::string_view field) {
  if (operand.kind == Kind::kOptional) {
    return operand.held == nullptr ? operand : select_optional(evaluation, *operand.held, field);
  }
  if (operand.kind == Kind::kList) return list_without_fields(evaluation, field);
  evaluation.charge(look_up_weight(operand));
  const auto member = find_member(operand, field);
  return member.found ? evaluation.some(member.value) : Evaluation::none();
}

Value index_value(Evaluation& evaluation, const Value& operand, const Value& key, bool name_key) {
  if (operand.kind == Kind::kOptional) return index_optional(evaluation, operand, key);
  bool found = false;
  const Value value = look_up(evaluation, operand, key, found);
  if (found || value.is_error()) return value;
  if (operand.kind == Kind::kList) return evaluation.error("index out of range");
  if (name_key && key.kind == Kind::kString) return no_such_key(evaluation, key.as_text());
  return evaluation.error("no such key");
}

Value index_optional(Evaluation& evaluation, const Value& operand, const Value& key) {
  if (operand.kind == Kind::kOptional) {
    return operand.held == nullptr ? operand : index_optional(evaluation, *operand.held, key);
  }
  // What has no elements has no element here either.
  if (operand.kind != Kind::kMap && operand.kind != Kind::kList) return Evaluation::none();
  bool found = false;
  const Value value = look_up(evaluation, operand, key, found);
  if (value.is_error()) return value;
  return found ? evaluation.some(value) : Evaluation::none();
}

std::uint64_t weight(const Value& value) {
  switch (value.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return 1 + value.count / 10;
    case Kind::kList:
    case Kind::kMap:
      return 1 + (value.json ? value.node->span : value.count);
    case Kind::kOpaque:
      return 1 + opaque_length(*value.opaque) / 10;
    default:
      return 1;
  }
}

Value describe_overload(Evaluation& evaluation, std::string_view name, const Value* args,
                        std::size_t count) {
  std::string types;
  for (std::size_t n = 0; n < count; ++n) {
    if (n > 0) types += ", ";
    types += type_name(args[n]);
  }
  return evaluation.errorf("no matching overload: '{}' does not take ({})", name, types);
}

}  // namespace kollect::cel
