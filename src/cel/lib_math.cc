// The math extension.
#include <cmath>

#include "cel/functions.h"

namespace kollect::cel {

namespace {

/// Greatest or least of the arguments, or of the elements of the only argument.
template <Order kBetter>
Value extreme(Evaluation& evaluation, const Value* args, std::size_t count) {
  Value best;
  bool any = false;
  bool ordered = true;
  const auto consider = [&](const Value& value) {
    if (!value.is_number()) return false;
    const Order order = any ? compare_numbers(value, best) : kBetter;
    if (order == kBetter) best = value;
    ordered &= order != Order::kUnordered;
    any = true;
    return true;
  };
  const auto result = [&] { return ordered ? best : evaluation.error("NaN has no order"); };
  if (count == 1 && args[0].kind == Kind::kList) {
    if (!evaluation.charge(args[0].count)) return evaluation.over_budget();
    if (args[0].count == 0) return evaluation.error("the list is empty");
    Value item;
    for (ListCursor cursor(args[0]); cursor.next(item);) {
      if (!consider(item)) return evaluation.no_overload();
    }
    return result();
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (!consider(args[n])) return evaluation.no_overload();
  }
  return result();
}

template <double (*kFunction)(double)>
Value on_double(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kDouble) return evaluation.no_overload();
  return Value::of_double(kFunction(args[0].d));
}

Value square_root(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kDouble:
      return Value::of_double(std::sqrt(args[0].d));
    case Kind::kInt:
      return Value::of_double(std::sqrt(static_cast<double>(args[0].i)));
    case Kind::kUint:
      return Value::of_double(std::sqrt(static_cast<double>(args[0].u)));
    default:
      return evaluation.no_overload();
  }
}

enum class Test : std::uint8_t { kNan, kInfinite, kFinite };

template <Test kTest>
Value test(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kDouble) return evaluation.no_overload();
  if (kTest == Test::kNan) return Value::of_bool(std::isnan(args[0].d));
  if (kTest == Test::kInfinite) return Value::of_bool(std::isinf(args[0].d));
  return Value::of_bool(std::isfinite(args[0].d));
}

Value absolute(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kInt:
      if (args[0].i == INT64_MIN) return evaluation.error("int overflow");
      return Value::of_int(args[0].i < 0 ? -args[0].i : args[0].i);
    case Kind::kUint:
      return args[0];
    case Kind::kDouble:
      return Value::of_double(std::fabs(args[0].d));
    default:
      return evaluation.no_overload();
  }
}

Value sign(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kInt:
      return Value::of_int((args[0].i > 0 ? 1 : 0) - (args[0].i < 0 ? 1 : 0));
    case Kind::kUint:
      return Value::of_uint(args[0].u > 0 ? 1 : 0);
    case Kind::kDouble:
      if (std::isnan(args[0].d)) return args[0];
      return Value::of_double((args[0].d > 0 ? 1 : 0) - (args[0].d < 0 ? 1 : 0));
    default:
      return evaluation.no_overload();
  }
}

enum class Bits : std::uint8_t { kAnd, kOr, kXor };

template <Bits kBits>
Value combine(Evaluation& evaluation, const Value* args, std::size_t) {
  const bool same = args[0].kind == args[1].kind;
  if (!same || (args[0].kind != Kind::kInt && args[0].kind != Kind::kUint)) {
    return evaluation.no_overload();
  }
  Value result = args[0];
  if (kBits == Bits::kAnd) result.u &= args[1].u;
  if (kBits == Bits::kOr) result.u |= args[1].u;
  if (kBits == Bits::kXor) result.u ^= args[1].u;
  return result;
}

Value complement(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kInt && args[0].kind != Kind::kUint) return evaluation.no_overload();
  Value result = args[0];
  result.u = ~result.u;
  return result;
}

/// Shifts fill with zeros, on ints too; 64 places or more give zero.
template <bool kLeft>
Value shift(Evaluation& evaluation, const Value* args, std::size_t) {
  const bool integer = args[0].kind == Kind::kInt || args[0].kind == Kind::kUint;
  if (!integer || args[1].kind != Kind::kInt) return evaluation.no_overload();
  if (args[1].i < 0) return evaluation.error("a shift by a negative number of places");
  Value result = args[0];
  if (args[1].i >= 64) {
    result.u = 0;
  } else {
    result.u = kLeft ? result.u << args[1].u : result.u >> args[1].u;
  }
  return result;
}

constexpr std::string_view kExtremeForms =
    "= int, ... -> int; = uint, ... -> uint; = double, ... -> double;"
    "list(int) -> int; list(uint) -> uint; list(double) -> double; ? list(dyn) -> dyn; ? dyn, ... "
    "-> dyn";
constexpr std::string_view kDoubleForms = "double -> double";
constexpr std::string_view kTestForms = "double -> bool";
constexpr std::string_view kAnyForms = "int -> int; uint -> uint; double -> double";
constexpr std::string_view kBitForms = "int, int -> int; uint, uint -> uint";

constexpr FunctionEntry kFunctions[] = {
    {"math.greatest", false, extreme<Order::kGreater>, kExtremeForms},
    {"math.least", false, extreme<Order::kLess>, kExtremeForms},
    {"math.ceil", false, on_double<std::ceil>, kDoubleForms},
    {"math.floor", false, on_double<std::floor>, kDoubleForms},
    {"math.round", false, on_double<std::round>, kDoubleForms},
    {"math.trunc", false, on_double<std::trunc>, kDoubleForms},
    {"math.sqrt", false, square_root, "double -> double; int -> double; uint -> double"},
    {"math.isNaN", false, test<Test::kNan>, kTestForms},
    {"math.isInf", false, test<Test::kInfinite>, kTestForms},
    {"math.isFinite", false, test<Test::kFinite>, kTestForms},
    {"math.abs", false, absolute, kAnyForms},
    {"math.sign", false, sign, kAnyForms},
    {"math.bitAnd", false, combine<Bits::kAnd>, kBitForms},
    {"math.bitOr", false, combine<Bits::kOr>, kBitForms},
    {"math.bitXor", false, combine<Bits::kXor>, kBitForms},
    {"math.bitNot", false, complement, "int -> int; uint -> uint"},
    {"math.bitShiftLeft", false, shift<true>, "int, int -> int; uint, int -> uint"},
    {"math.bitShiftRight", false, shift<false>, "int, int -> int; uint, int -> uint"},
};

}  // namespace

std::span<const FunctionEntry> math_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
