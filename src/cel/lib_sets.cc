// The sets extension: lists taken as sets.
#include "cel/functions.h"
#include "cel/node.h"

namespace kollect::cel {

namespace {

bool search(Evaluation& evaluation, const Value& list, const Value& wanted) {
  Value item;
  for (ListCursor cursor(list); cursor.next(item);) {
    if (!evaluation.charge(weight(item))) return false;
    if (equal(evaluation, item, wanted)) return true;
  }
  return false;
}

bool all_in(Evaluation& evaluation, const Value& part, const Value& whole) {
  Value item;
  for (ListCursor cursor(part); cursor.next(item);) {
    if (!search(evaluation, whole, item)) return false;
  }
  return true;
}

bool any_in(Evaluation& evaluation, const Value& part, const Value& whole) {
  Value item;
  for (ListCursor cursor(part); cursor.next(item);) {
    if (search(evaluation, whole, item)) return true;
  }
  return false;
}

bool includes(Evaluation& evaluation, const Value& a, const Value& b) {
  return all_in(evaluation, b, a);
}

bool equivalent(Evaluation& evaluation, const Value& a, const Value& b) {
  return all_in(evaluation, a, b) && all_in(evaluation, b, a);
}

template <bool (*kRelation)(Evaluation&, const Value&, const Value&)>
Value relate(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList || args[1].kind != Kind::kList) return evaluation.no_overload();
  const bool result = kRelation(evaluation, args[0], args[1]);
  return evaluation.over() ? evaluation.over_budget() : Value::of_bool(result);
}

constexpr std::string_view kForms = "list(A), list(A) -> bool";

constexpr FunctionEntry kFunctions[] = {
    {"sets.contains", false, relate<includes>, kForms},
    {"sets.equivalent", false, relate<equivalent>, kForms},
    {"sets.intersects", false, relate<any_in>, kForms},
};

}  // namespace

std::span<const FunctionEntry> set_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
