// Lists: the lists extension and the list functions of Kubernetes.
#include <algorithm>

#include "cel/arithmetic.h"
#include "cel/functions.h"
#include "cel/node.h"
#include "cel/sort.h"

namespace kollect::cel {

namespace {

Value distinct(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  ListBuilder builder(evaluation);
  Value item;
  for (ListCursor cursor(args[0]); cursor.next(item);) {
    bool known = false;
    for (std::size_t n = 0; n < builder.size() && !known; ++n) {
      if (!evaluation.charge(weight(item))) return evaluation.over_budget();
      known = equal(evaluation, builder.items()[n], item);
    }
    if (!known && !builder.add(item)) return builder.failed();
  }
  return builder.value();
}

/// Adds the elements, those of inner lists down to `depth`. Null, or an error.
Value flatten_into(Evaluation& evaluation, const Value& list, std::int64_t depth,
                   ListBuilder& out) {
  Value item;
  for (ListCursor cursor(list); cursor.next(item);) {
    if (!evaluation.charge(1)) return evaluation.over_budget();
    if (item.kind == Kind::kList && depth > 0) {
      const Value error = flatten_into(evaluation, item, depth - 1, out);
      if (error.is_error()) return error;
    } else if (!out.add(item)) {
      return out.failed();
    }
  }
  return Value::null();
}

Value flatten(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (args[0].kind != Kind::kList || (count == 2 && args[1].kind != Kind::kInt)) {
    return evaluation.no_overload();
  }
  const std::int64_t depth = count == 2 ? args[1].i : 1;
  if (depth < 0) return evaluation.error("the depth of flatten() cannot be negative");
  ListBuilder builder(evaluation);
  const Value error = flatten_into(evaluation, args[0], depth, builder);
  return error.is_error() ? error : builder.value();
}

Value range(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kInt) return evaluation.no_overload();
  if (args[0].i < 0) return evaluation.error("the size of lists.range() cannot be negative");
  ListBuilder builder(evaluation);
  for (std::int64_t n = 0; n < args[0].i; ++n) {
    if (!evaluation.charge(1)) return evaluation.over_budget();
    if (!builder.add(Value::of_int(n))) return builder.failed();
  }
  return builder.value();
}

Value slice(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList || args[1].kind != Kind::kInt || args[2].kind != Kind::kInt) {
    return evaluation.no_overload();
  }
  const std::int64_t begin = args[1].i;
  const std::int64_t end = args[2].i;
  if (begin < 0 || end < begin || end > static_cast<std::int64_t>(args[0].count)) {
    return evaluation.error("the bounds of slice() are out of range");
  }
  const auto count = static_cast<std::size_t>(end - begin);
  if (!args[0].json) return Value::of_list(args[0].items + begin, count);
  if (!evaluation.charge(count + static_cast<std::uint64_t>(begin) / 64))
    return evaluation.over_budget();
  ListBuilder builder(evaluation, count);
  Value item;
  std::int64_t n = 0;
  for (ListCursor cursor(args[0]); n < end && cursor.next(item); ++n) {
    if (n >= begin && !builder.add(item)) return builder.failed();
  }
  return builder.value();
}

Value sort(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count)) return evaluation.over_budget();
  auto* pairs = evaluation.arena().make_array<SortPair>(args[0].count);
  if (pairs == nullptr) return evaluation.out_of_memory();
  ListCursor cursor(args[0]);
  for (std::size_t n = 0; n < args[0].count; ++n) {
    cursor.next(pairs[n].value);
    pairs[n].key = pairs[n].value;
  }
  return sort_pairs(evaluation, {pairs, args[0].count});
}

template <bool kFirst>
Value end_of(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  if (args[0].count == 0) return Evaluation::none();
  if (args[0].json && !kFirst && !evaluation.charge(args[0].count / 64))
    return evaluation.over_budget();
  return evaluation.some(list_at(args[0], kFirst ? 0 : args[0].count - 1));
}

Value is_sorted(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  Value before;
  Value item;
  bool first = true;
  for (ListCursor cursor(args[0]); cursor.next(item); first = false) {
    if (!evaluation.charge(weight(item))) return evaluation.over_budget();
    bool fits = false;
    const Order order = compare(first ? item : before, item, fits);
    if (!fits) return evaluation.no_overload();
    const bool falls = order == Order::kGreater || order == Order::kUnordered;
    if (!first && falls) return Value::of_bool(false);
    before = item;
  }
  return Value::of_bool(true);
}

/// The sum of no elements is the second argument, which the planner adds when the static type of
/// the list tells it (typed_zero()), else the int 0.
Value sum(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  Value total = count > 1 ? args[1] : Value::of_int(0);
  Value item;
  bool first = true;
  for (ListCursor cursor(args[0]); cursor.next(item); first = false) {
    if (!evaluation.charge(1)) return evaluation.over_budget();
    if (!item.is_number() && item.kind != Kind::kDuration) return evaluation.no_overload();
    total = first ? item : add(evaluation, total, item);
    if (first && item.kind == Kind::kDouble) total.d += 0.0;  // no negative zero
    if (total.is_error()) return total;
  }
  return total;
}

template <Order kBetter>
Value extreme(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  if (args[0].count == 0) return evaluation.error("the list is empty");
  Value best;
  Value item;
  bool first = true;
  for (ListCursor cursor(args[0]); cursor.next(item); first = false) {
    if (!evaluation.charge(weight(item))) return evaluation.over_budget();
    bool fits = false;
    const Order order = compare(item, first ? item : best, fits);
    if (!fits) return evaluation.no_overload();
    if (first || order == kBetter) best = item;
  }
  return best;
}

template <bool kLast>
Value index_of(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  std::int64_t found = -1;
  std::int64_t n = 0;
  Value item;
  for (ListCursor cursor(args[0]); cursor.next(item); ++n) {
    if (!evaluation.charge(weight(item))) return evaluation.over_budget();
    if (!equal(evaluation, item, args[1])) continue;
    found = n;
    if (!kLast) break;
  }
  return Value::of_int(found);
}

/// Of a list: an element; of anything else: itself.
Value includes(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind == Kind::kList) return contains(evaluation, args[1], args[0]);
  if (!evaluation.charge(weight(args[0]))) return evaluation.over_budget();
  return Value::of_bool(equal(evaluation, args[0], args[1]));
}

constexpr std::string_view kOrderedForms =
    "list(int) -> int; list(uint) -> uint; list(double) -> double; list(bool) -> bool;"
    "list(string) -> string; list(bytes) -> bytes; list(duration) -> duration;"
    "list(timestamp) -> timestamp";

constexpr std::string_view kSortForms =
    "list(int) -> list(int); list(uint) -> list(uint); list(double) -> list(double);"
    "list(bool) -> list(bool); list(string) -> list(string); list(bytes) -> list(bytes);"
    "list(duration) -> list(duration); list(timestamp) -> list(timestamp)";
constexpr std::string_view kSortedForms =
    "list(int) -> bool; list(uint) -> bool; list(double) -> bool; list(bool) -> bool;"
    "list(string) -> bool; list(bytes) -> bool; list(duration) -> bool; list(timestamp) -> bool";

constexpr FunctionEntry kFunctions[] = {
    {"distinct", true, distinct, "list(A) -> list(A)"},
    {"flatten", true, flatten,
     "list(list(A)) -> list(A); ? list(dyn) -> list(dyn);"
     "list(dyn), int -> list(dyn)"},
    {"lists.range", false, range, "int -> list(int)"},
    {"slice", true, slice, "list(A), int, int -> list(A)"},
    {"sort", true, sort, kSortForms},
    {"first", true, end_of<true>, "list(A) -> optional(A)"},
    {"last", true, end_of<false>, "list(A) -> optional(A)"},
    {"isSorted", true, is_sorted, kSortedForms},
    {"sum", true, sum,
     "list(int) -> int; list(uint) -> uint; list(double) -> double; list(duration) -> duration"},
    {"min", true, extreme<Order::kLess>, kOrderedForms},
    {"max", true, extreme<Order::kGreater>, kOrderedForms},
    {"indexOf", true, index_of<false>, "list(A), A -> int"},
    {"lastIndexOf", true, index_of<true>, "list(A), A -> int"},
    {"includes", true, includes, "dyn, dyn -> bool"},
};

}  // namespace

std::span<const FunctionEntry> list_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
