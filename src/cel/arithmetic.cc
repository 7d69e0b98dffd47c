#include "cel/arithmetic.h"

#include <cmath>
#include <cstring>

#include "cel/node.h"

namespace kollect::cel {

namespace {

constexpr std::int64_t kNanos = 1'000'000'000;

Value overflow(Evaluation& evaluation, std::string_view type) {
  return evaluation.errorf("{} overflow", type);
}

/// Carries nanoseconds into seconds so that 0 <= nanos < 10^9.
void carry(std::int64_t& seconds, std::int64_t& nanos) {
  seconds += nanos / kNanos;
  nanos %= kNanos;
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  }
}

Value concatenate(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const std::size_t size = std::size_t{a.count} + b.count;
  if (!evaluation.charge(size / 10)) return evaluation.over_budget();
  auto* text = size > UINT32_MAX ? nullptr : static_cast<char*>(evaluation.arena().allocate(size));
  if (text == nullptr) return evaluation.out_of_memory();
  std::memcpy(text, a.text, a.count);
  std::memcpy(text + a.count, b.text, b.count);
  return Value::of_text(a.kind, {text, size});
}

Value join_lists(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const std::size_t size = std::size_t{a.count} + b.count;
  if (!evaluation.charge(size)) return evaluation.over_budget();
  auto* items = evaluation.arena().make_array<Value>(size);
  if (items == nullptr) return evaluation.out_of_memory();
  Value* at = items;
  for (const Value* list : {&a, &b}) {
    ListCursor cursor(*list);
    while (cursor.next(*at)) ++at;
  }
  return Value::of_list(items, size);
}

Value add_times(Evaluation& evaluation, const Value& a, const Value& b) {
  const bool timestamp = a.kind == Kind::kTimestamp || b.kind == Kind::kTimestamp;
  if (a.kind == Kind::kTimestamp && b.kind == Kind::kTimestamp) return evaluation.no_overload();
  const std::int64_t nanos = std::int64_t{a.count} + b.count;
  return timestamp ? make_timestamp(evaluation, a.i + b.i, nanos)
                   : make_duration(evaluation, a.i + b.i, nanos);
}

bool is_time(const Value& value) {
  return value.kind == Kind::kTimestamp || value.kind == Kind::kDuration;
}

}  // namespace

Value make_timestamp(Evaluation& evaluation, std::int64_t seconds, std::int64_t nanos) {
  carry(seconds, nanos);
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) {
    return evaluation.error("timestamp out of range (years 1 to 9999)");
  }
  return Value::of_time(Kind::kTimestamp, seconds, static_cast<std::uint32_t>(nanos));
}

Value make_duration(Evaluation& evaluation, std::int64_t seconds, std::int64_t nanos) {
  carry(seconds, nanos);
  // A negative duration has its seconds rounded down, so that the longest one counts one more.
  const bool too_short =
      seconds < -kMaxDuration - 1 || (seconds == -kMaxDuration - 1 && nanos == 0);
  if (seconds > kMaxDuration || too_short) {
    return evaluation.error("duration out of range (315576000000 seconds)");
  }
  return Value::of_time(Kind::kDuration, seconds, static_cast<std::uint32_t>(nanos));
}

Value add(Evaluation& evaluation, const Value& a, const Value& b) {
  if (is_time(a) && is_time(b)) return add_times(evaluation, a, b);
  if (a.kind != b.kind) return evaluation.no_overload();
  switch (a.kind) {
    case Kind::kInt: {
      std::int64_t sum = 0;
      return __builtin_add_overflow(a.i, b.i, &sum) ? overflow(evaluation, "int")
                                                    : Value::of_int(sum);
    }
    case Kind::kUint: {
      std::uint64_t sum = 0;
      return __builtin_add_overflow(a.u, b.u, &sum) ? overflow(evaluation, "uint")
                                                    : Value::of_uint(sum);
    }
    case Kind::kDouble:
      return Value::of_double(a.d + b.d);
    case Kind::kString:
    case Kind::kBytes:
      return concatenate(evaluation, a, b);
    case Kind::kList:
      return join_lists(evaluation, a, b);
    default:
      return evaluation.no_overload();
  }
}

Value subtract(Evaluation& evaluation, const Value& a, const Value& b) {
  if (is_time(a) && is_time(b)) {
    const std::int64_t seconds = a.i - b.i;
    const std::int64_t nanos = std::int64_t{a.count} - b.count;
    if (a.kind == Kind::kTimestamp && b.kind == Kind::kDuration) {
      return make_timestamp(evaluation, seconds, nanos);
    }
    if (a.kind != b.kind) return evaluation.no_overload();
    return make_duration(evaluation, seconds, nanos);
  }
  if (a.kind != b.kind) return evaluation.no_overload();
  if (a.kind == Kind::kInt) {
    std::int64_t difference = 0;
    return __builtin_sub_overflow(a.i, b.i, &difference) ? overflow(evaluation, "int")
                                                         : Value::of_int(difference);
  }
  if (a.kind == Kind::kUint) {
    return b.u > a.u ? overflow(evaluation, "uint") : Value::of_uint(a.u - b.u);
  }
  return a.kind == Kind::kDouble ? Value::of_double(a.d - b.d) : evaluation.no_overload();
}

Value multiply(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.kind != b.kind) return evaluation.no_overload();
  if (a.kind == Kind::kInt) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.i, b.i, &product) ? overflow(evaluation, "int")
                                                      : Value::of_int(product);
  }
  if (a.kind == Kind::kUint) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a.u, b.u, &product) ? overflow(evaluation, "uint")
                                                      : Value::of_uint(product);
  }
  return a.kind == Kind::kDouble ? Value::of_double(a.d * b.d) : evaluation.no_overload();
}

Value divide(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.kind != b.kind) return evaluation.no_overload();
  if (a.kind == Kind::kDouble) return Value::of_double(a.d / b.d);
  if (a.kind != Kind::kInt && a.kind != Kind::kUint) return evaluation.no_overload();
  if (b.u == 0) return evaluation.error("division by zero");
  if (a.kind == Kind::kUint) return Value::of_uint(a.u / b.u);
  if (a.i == INT64_MIN && b.i == -1) return overflow(evaluation, "int");
  return Value::of_int(a.i / b.i);
}

Value modulo(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.kind != b.kind || (a.kind != Kind::kInt && a.kind != Kind::kUint)) {
    return evaluation.no_overload();
  }
  if (b.u == 0) return evaluation.error("modulus by zero");
  if (a.kind == Kind::kUint) return Value::of_uint(a.u % b.u);
  if (a.i == INT64_MIN && b.i == -1) return overflow(evaluation, "int");
  return Value::of_int(a.i % b.i);
}

Value negate(Evaluation& evaluation, const Value& a) {
  if (a.kind == Kind::kDouble) return Value::of_double(-a.d);
  if (a.kind != Kind::kInt) return evaluation.no_overload();
  return a.i == INT64_MIN ? overflow(evaluation, "int") : Value::of_int(-a.i);
}

Order compare(const Value& a, const Value& b, bool& fits) {
  fits = true;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  const auto by = [](auto x, auto y) {
    if (x == y) return Order::kEqual;
    return x < y ? Order::kLess : Order::kGreater;
  };
  if (a.kind == b.kind) {
    switch (a.kind) {
      case Kind::kBool:
        return by(a.boolean, b.boolean);
      case Kind::kString:
      case Kind::kBytes:
        return by(a.as_text().compare(b.as_text()), 0);
      case Kind::kTimestamp:
      case Kind::kDuration:
        return a.i != b.i ? by(a.i, b.i) : by(a.count, b.count);
      default:
        break;
    }
  }
  fits = false;
  return Order::kUnordered;
}

Value contains(Evaluation& evaluation, const Value& element, const Value& container) {
  if (container.kind == Kind::kMap) {
    if (!evaluation.charge(look_up_weight(container))) return evaluation.over_budget();
    return Value::of_bool(find_member(container, element).found);
  }
  if (container.kind != Kind::kList) return evaluation.no_overload();
  ListCursor cursor(container);
  Value item;
  while (cursor.next(item)) {
    if (!evaluation.charge(weight(item))) return evaluation.over_budget();
    if (equal(evaluation, item, element)) return Value::of_bool(true);
  }
  return Value::of_bool(false);
}

}  // namespace kollect::cel
