// Optional values.
#include "cel/functions.h"

namespace kollect::cel {

namespace {

Value of(Evaluation& evaluation, const Value* args, std::size_t) {
  return evaluation.some(args[0]);
}

Value none(Evaluation&, const Value*, std::size_t) {
  return Evaluation::none();
}

/// Zero values: null, false, 0, "", empty containers, the epoch, no time at all, an empty optional.
bool is_zero(const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.boolean;
    case Kind::kInt:
    case Kind::kUint:
      return value.u == 0;
    case Kind::kDouble:
      return value.d == 0;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
      return value.count == 0;
    case Kind::kDuration:
      return value.i == 0 && value.count == 0;
    case Kind::kTimestamp:
      return value.i == -62135596800 && value.count == 0;
    default:
      return false;
  }
}

Value of_non_zero(Evaluation& evaluation, const Value* args, std::size_t) {
  return is_zero(args[0]) ? Evaluation::none() : evaluation.some(args[0]);
}

Value has_value(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kOptional) return evaluation.no_overload();
  return Value::of_bool(args[0].held != nullptr);
}

Value value(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kOptional) return evaluation.no_overload();
  return args[0].held != nullptr ? *args[0].held : evaluation.error("the optional has no value");
}

Value unwrap(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count)) return evaluation.over_budget();
  ListBuilder builder(evaluation, args[0].count);
  ListCursor cursor(args[0]);
  Value item;
  while (cursor.next(item)) {
    if (item.kind != Kind::kOptional) return evaluation.no_overload();
    if (item.held != nullptr && !builder.add(*item.held)) return builder.failed();
  }
  return builder.value();
}

constexpr FunctionEntry kFunctions[] = {
    {"optional.of", false, of, "A -> optional(A)"},
    {"optional.none", false, none, "-> optional(A)"},
    {"optional.ofNonZeroValue", false, of_non_zero, "A -> optional(A)"},
    {"optional.unwrap", false, unwrap, "list(optional(A)) -> list(A)"},
    {"unwrapOpt", true, unwrap, "list(optional(A)) -> list(A)"},
    {"hasValue", true, has_value, "optional(A) -> bool"},
    {"value", true, value, "optional(A) -> A"},
    // These two have a node of their own, which evaluates the argument only when it is needed.
    {"or", true, nullptr, "optional(A), optional(A) -> optional(A)"},
    {"orValue", true, nullptr, "optional(A), A -> A"},
};

}  // namespace

std::span<const FunctionEntry> optional_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
