// Quantities of Kubernetes: "1500m", "2Gi", "1e3" (format: Kubernetes API conventions, resource
// quantities).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cel/functions.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr Int128 kNano = 1'000'000'000;
/// Some 10^28 whole units, far beyond any suffix; larger texts are cut to this.
constexpr Int128 kMaxNanos = Int128{INT64_MAX} * kNano * 1'000'000'000;
/// Digits that fit 128 bits, and digits that still do after a multiplication by 2^60.
constexpr std::size_t kMaxDigits = 36;
constexpr std::size_t kMaxBinaryDigits = 20;

struct Suffix {
  std::string_view text;
  Quantity::Style style;
  int power;  ///< of ten, or of two
};

constexpr Suffix kSuffixes[] = {
    {"", Quantity::Style::kDecimal, 0},   {"n", Quantity::Style::kDecimal, -9},
    {"u", Quantity::Style::kDecimal, -6}, {"m", Quantity::Style::kDecimal, -3},
    {"k", Quantity::Style::kDecimal, 3},  {"M", Quantity::Style::kDecimal, 6},
    {"G", Quantity::Style::kDecimal, 9},  {"T", Quantity::Style::kDecimal, 12},
    {"P", Quantity::Style::kDecimal, 15}, {"E", Quantity::Style::kDecimal, 18},
    {"Ki", Quantity::Style::kBinary, 10}, {"Mi", Quantity::Style::kBinary, 20},
    {"Gi", Quantity::Style::kBinary, 30}, {"Ti", Quantity::Style::kBinary, 40},
    {"Pi", Quantity::Style::kBinary, 50}, {"Ei", Quantity::Style::kBinary, 60},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<Suffix> read_suffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) return suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  int power = 0;
  for (const char c : text) power = std::min(power * 10 + (c - '0'), 1'000'000);
  return Suffix{{}, Quantity::Style::kExponent, negative ? -power : power};
}

/// mantissa * 10^power in billionths: rounded away from zero, cut at the largest quantity.
Int128 scale(UInt128 mantissa, int power, bool rest) {
  power += 9;
  const auto limit = static_cast<UInt128>(kMaxNanos);
  for (; power > 0 && mantissa != 0 && mantissa <= limit; --power) mantissa *= 10;
  for (; power < 0 && mantissa != 0; ++power) {
    rest |= mantissa % 10 != 0;
    mantissa /= 10;
  }
  if (rest && mantissa < limit) ++mantissa;
  return static_cast<Int128>(std::min(mantissa, limit));
}

std::optional<Quantity> parse_quantity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::size_t end = 0;
  std::size_t digits = 0;
  std::size_t points = 0;
  for (; end < text.size() && (is_digit(text[end]) || text[end] == '.'); ++end) {
    if (text[end] == '.') {
      ++points;
    } else {
      ++digits;
    }
  }
  const auto suffix = read_suffix(text.substr(end));
  if (digits == 0 || points > 1 || !suffix) return std::nullopt;
  const std::size_t keep =
      suffix->style == Quantity::Style::kBinary ? kMaxBinaryDigits : kMaxDigits;
  UInt128 mantissa = 0;
  int power = 0;
  bool fraction = false;
  bool rest = false;
  std::size_t kept = 0;
  for (const char c : text.substr(0, end)) {
    if (c == '.') {
      fraction = true;
    } else if (kept < keep) {
      mantissa = mantissa * 10 + static_cast<unsigned>(c - '0');
      if (mantissa != 0) ++kept;
      if (fraction) --power;
    } else {
      rest |= c != '0';
      if (!fraction) ++power;
    }
  }
  if (suffix->style == Quantity::Style::kBinary) {
    mantissa <<= static_cast<unsigned>(suffix->power);
  } else {
    power += suffix->power;
  }
  Quantity quantity;
  quantity.kind = OpaqueKind::kQuantity;
  quantity.style = suffix->style;
  quantity.nanos = scale(mantissa, power, rest);
  // Quantities with a binary suffix are never larger.
  if (suffix->style == Quantity::Style::kBinary) {
    quantity.nanos = std::min(quantity.nanos, Int128{INT64_MAX} * kNano);
  }
  if (negative) quantity.nanos = -quantity.nanos;
  return quantity;
}

Value wrap(Evaluation& evaluation, const Quantity& quantity) {
  const auto* kept = evaluation.arena().make<Quantity>(quantity);
  return kept == nullptr ? evaluation.out_of_memory() : Value::of_opaque(kept);
}

const Quantity* as_quantity(const Value& value) {
  return opaque_as<Quantity>(value, OpaqueKind::kQuantity);
}

Value quantity(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  const auto parsed = parse_quantity(args[0].as_text());
  return parsed ? wrap(evaluation, *parsed) : evaluation.error("the text is no quantity");
}

Value is_quantity(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  return Value::of_bool(parse_quantity(args[0].as_text()).has_value());
}

Value sign(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* q = as_quantity(args[0]);
  if (q == nullptr) return evaluation.no_overload();
  return Value::of_int((q->nanos > 0 ? 1 : 0) - (q->nanos < 0 ? 1 : 0));
}

bool whole_int(const Quantity& quantity) {
  const Int128 whole = quantity.nanos / kNano;
  return quantity.nanos % kNano == 0 && whole <= INT64_MAX && whole >= INT64_MIN;
}

Value is_integer(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* q = as_quantity(args[0]);
  return q == nullptr ? evaluation.no_overload() : Value::of_bool(whole_int(*q));
}

Value as_integer(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* q = as_quantity(args[0]);
  if (q == nullptr) return evaluation.no_overload();
  if (!whole_int(*q)) return evaluation.error("the quantity is no integer of 64 bits");
  return Value::of_int(static_cast<std::int64_t>(q->nanos / kNano));
}

Value as_float(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* q = as_quantity(args[0]);
  if (q == nullptr) return evaluation.no_overload();
  return Value::of_double(static_cast<double>(static_cast<long double>(q->nanos) / 1e9L));
}

template <int kSign>
Value combine(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* a = as_quantity(args[0]);
  const auto* b = as_quantity(args[1]);
  if (a == nullptr || (b == nullptr && args[1].kind != Kind::kInt)) return evaluation.no_overload();
  Quantity result = *a;
  result.nanos += kSign * (b != nullptr ? b->nanos : Int128{args[1].i} * kNano);
  result.nanos = std::clamp(result.nanos, -kMaxNanos, kMaxNanos);
  // The sum of zero and a quantity takes the style of the quantity; an int counts as 1e0.
  if (a->nanos == 0) result.style = b != nullptr ? b->style : Quantity::Style::kExponent;
  return wrap(evaluation, result);
}

enum class Relation : std::uint8_t { kLess, kGreater, kCompare };

template <Relation kRelation>
Value relate(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* a = as_quantity(args[0]);
  const auto* b = as_quantity(args[1]);
  if (a == nullptr || b == nullptr) return evaluation.no_overload();
  if (kRelation == Relation::kLess) return Value::of_bool(a->nanos < b->nanos);
  if (kRelation == Relation::kGreater) return Value::of_bool(a->nanos > b->nanos);
  return Value::of_int((a->nanos > b->nanos ? 1 : 0) - (a->nanos < b->nanos ? 1 : 0));
}

std::string number_text(Int128 value) {
  if (value <= INT64_MAX) return fmt::format("{}", static_cast<std::int64_t>(value));
  constexpr Int128 kPart = 1'000'000'000'000'000'000;
  return fmt::format("{}{:018}", static_cast<std::int64_t>(value / kPart),
                     static_cast<std::int64_t>(value % kPart));
}

constexpr FunctionEntry kFunctions[] = {
    {"quantity", false, quantity, "string -> kubernetes.Quantity"},
    {"isQuantity", false, is_quantity, "string -> bool"},
    {"sign", true, sign, "kubernetes.Quantity -> int"},
    {"sign", false, sign, "kubernetes.Quantity -> int"},
    {"isInteger", true, is_integer, "kubernetes.Quantity -> bool"},
    {"asInteger", true, as_integer, "kubernetes.Quantity -> int"},
    {"asApproximateFloat", true, as_float, "kubernetes.Quantity -> double"},
    {"add", true, combine<1>,
     "kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity;"
     "kubernetes.Quantity, int -> kubernetes.Quantity"},
    {"sub", true, combine<-1>,
     "kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity;"
     "kubernetes.Quantity, int -> kubernetes.Quantity"},
    {"isLessThan", true, relate<Relation::kLess>,
     "kubernetes.Quantity, kubernetes.Quantity -> bool"},
    {"isGreaterThan", true, relate<Relation::kGreater>,
     "kubernetes.Quantity, kubernetes.Quantity -> bool"},
    {"compareTo", true, relate<Relation::kCompare>,
     "kubernetes.Quantity, kubernetes.Quantity -> int"},
};

}  // namespace

// Canonical form: no fraction, the largest suffix that keeps the value exact.
std::string quantity_text(const Quantity& quantity) {
  if (quantity.nanos == 0) return "0";
  const bool negative = quantity.nanos < 0;
  Int128 value = negative ? -quantity.nanos : quantity.nanos;
  const std::string sign = negative ? "-" : "";
  if (quantity.style == Quantity::Style::kBinary && value % kNano == 0 && value / kNano >= 1024) {
    constexpr std::string_view kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    value /= kNano;
    std::size_t step = 0;
    for (; step + 1 < std::size(kBinary) && value % 1024 == 0; ++step) value /= 1024;
    return sign + number_text(value) + std::string(kBinary[step]);
  }
  constexpr std::string_view kDecimal[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  for (; step + 1 < std::size(kDecimal) && value % 1000 == 0; ++step) value /= 1000;
  if (quantity.style != Quantity::Style::kExponent) {
    return sign + number_text(value) + std::string(kDecimal[step]);
  }
  for (; value % 1000 == 0; ++step) value /= 1000;
  const int power = static_cast<int>(step) * 3 - 9;
  return sign + number_text(value) + (power == 0 ? "" : fmt::format("e{}", power));
}

std::span<const FunctionEntry> quantity_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
