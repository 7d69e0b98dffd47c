// Standard functions: size, conversions, tests of strings.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"
#include "cel/arithmetic.h"
#include "cel/functions.h"
#include "cel/opaque.h"
#include "cel/regex.h"
#include "cel/text.h"

namespace kollect::cel {

namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

Value size(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kString:
      if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
      return Value::of_int(static_cast<std::int64_t>(code_points(args[0].as_text())));
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
      return Value::of_int(args[0].count);
    default:
      return evaluation.no_overload();
  }
}

Value type_of(Evaluation&, const Value* args, std::size_t) {
  return Value::of_type(type_name(args[0]));
}

Value dyn(Evaluation&, const Value* args, std::size_t) {
  return args[0];
}

Value range_error(Evaluation& evaluation, std::string_view type) {
  return evaluation.errorf("the value is out of the range of {}", type);
}

template <class T>
bool parse_integer(std::string_view text, T& out) {
  if constexpr (std::is_signed_v<T>) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  }
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

Value to_int(Evaluation& evaluation, const Value* args, std::size_t) {
  const Value& from = args[0];
  switch (from.kind) {
    case Kind::kInt:
      return from;
    case Kind::kUint:
      if (from.u > INT64_MAX) return range_error(evaluation, "int");
      return Value::of_int(static_cast<std::int64_t>(from.u));
    case Kind::kDouble:
      // Both ends are excluded: a double there may stand for a number beyond.
      if (!(from.d > -kTwo63 && from.d < kTwo63)) return range_error(evaluation, "int");
      return Value::of_int(static_cast<std::int64_t>(from.d));
    case Kind::kString: {
      std::int64_t value = 0;
      if (!evaluation.charge(from.count / 10)) return evaluation.over_budget();
      if (parse_integer(from.as_text(), value)) return Value::of_int(value);
      return evaluation.error("the text is no int");
    }
    case Kind::kTimestamp:
      return Value::of_int(from.i);
    case Kind::kDuration: {
      std::int64_t nanos = 0;
      if (__builtin_mul_overflow(from.i, std::int64_t{1'000'000'000}, &nanos) ||
          __builtin_add_overflow(nanos, std::int64_t{from.count}, &nanos)) {
        return range_error(evaluation, "int");
      }
      return Value::of_int(nanos);
    }
    default:
      return evaluation.no_overload();
  }
}

Value to_uint(Evaluation& evaluation, const Value* args, std::size_t) {
  const Value& from = args[0];
  switch (from.kind) {
    case Kind::kUint:
      return from;
    case Kind::kInt:
      if (from.i < 0) return range_error(evaluation, "uint");
      return Value::of_uint(static_cast<std::uint64_t>(from.i));
    case Kind::kDouble:
      if (!(from.d >= 0 && from.d < kTwo64)) return range_error(evaluation, "uint");
      return Value::of_uint(static_cast<std::uint64_t>(from.d));
    case Kind::kString: {
      std::uint64_t value = 0;
      if (!evaluation.charge(from.count / 10)) return evaluation.over_budget();
      if (parse_integer(from.as_text(), value)) return Value::of_uint(value);
      return evaluation.error("the text is no uint");
    }
    default:
      return evaluation.no_overload();
  }
}

bool parse_double(std::string_view text, double& out) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return false;
  const std::string lower = base::to_lower(text);
  if (lower == "nan") {
    out = std::nan("");
    return true;
  }
  if (lower == "inf" || lower == "infinity") {
    out = negative ? -INFINITY : INFINITY;
    return true;
  }
  if (text[0] != '.' && (text[0] < '0' || text[0] > '9')) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  if (parsed.ptr != text.data() + text.size() || parsed.ec == std::errc::invalid_argument)
    return false;
  // Too small a number is zero, too large a one an error: strtod tells them apart.
  if (parsed.ec == std::errc::result_out_of_range)
    out = std::strtod(std::string(text).c_str(), nullptr);
  if (std::isinf(out)) return false;
  if (negative) out = -out;
  return true;
}

Value to_double(Evaluation& evaluation, const Value* args, std::size_t) {
  const Value& from = args[0];
  switch (from.kind) {
    case Kind::kDouble:
      return from;
    case Kind::kInt:
      return Value::of_double(static_cast<double>(from.i));
    case Kind::kUint:
      return Value::of_double(static_cast<double>(from.u));
    case Kind::kString: {
      double value = 0;
      if (!evaluation.charge(from.count / 10)) return evaluation.over_budget();
      if (parse_double(from.as_text(), value)) return Value::of_double(value);
      return evaluation.error("the text is no double");
    }
    default:
      return evaluation.no_overload();
  }
}

Value to_string_value(Evaluation& evaluation, const Value* args, std::size_t) {
  const Value& from = args[0];
  switch (from.kind) {
    case Kind::kString:
      return from;
    case Kind::kBool:
      return Value::of_string(from.boolean ? "true" : "false");
    case Kind::kInt:
      return evaluation.string(fmt::format_int(from.i).c_str());
    case Kind::kUint:
      return evaluation.string(fmt::format_int(from.u).c_str());
    case Kind::kDouble:
      return evaluation.string(double_text(from.d));
    case Kind::kBytes:
      if (!evaluation.charge(from.count / 10)) return evaluation.over_budget();
      if (base::is_valid_utf8(from.as_text())) return Value::of_string(from.as_text());
      return evaluation.error("the bytes are no valid UTF-8");
    case Kind::kTimestamp:
      return evaluation.string(timestamp_text(from));
    case Kind::kDuration:
      return evaluation.string(duration_text(from));
    case Kind::kOpaque:
      if (from.opaque->kind == OpaqueKind::kFormat) return evaluation.no_overload();
      return evaluation.string(opaque_text(*from.opaque));
    default:
      return evaluation.no_overload();
  }
}

Value to_bytes(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind == Kind::kBytes || args[0].kind == Kind::kString) {
    return Value::of_bytes(args[0].as_text());
  }
  return evaluation.no_overload();
}

Value to_bool(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind == Kind::kBool) return args[0];
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const std::string_view text = args[0].as_text();
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return Value::of_bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return Value::of_bool(false);
  }
  return evaluation.error("the text is no bool");
}

Value to_timestamp(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kTimestamp:
      return args[0];
    case Kind::kInt:
      return make_timestamp(evaluation, args[0].i, 0);
    case Kind::kString:
      if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
      return parse_timestamp(evaluation, args[0].as_text());
    default:
      return evaluation.no_overload();
  }
}

Value to_duration(Evaluation& evaluation, const Value* args, std::size_t) {
  switch (args[0].kind) {
    case Kind::kDuration:
      return args[0];
    case Kind::kString:
      if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
      return parse_duration(evaluation, args[0].as_text());
    default:
      return evaluation.no_overload();
  }
}

bool two_strings(const Value* args) {
  return args[0].kind == Kind::kString && args[1].kind == Kind::kString;
}

template <bool (*kTest)(std::string_view, std::string_view)>
Value test_strings(Evaluation& evaluation, const Value* args, std::size_t) {
  if (!two_strings(args)) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  return Value::of_bool(kTest(args[0].as_text(), args[1].as_text()));
}

bool has_part(std::string_view text, std::string_view part) {
  return find_part(text, part) != std::string_view::npos;
}
bool has_start(std::string_view text, std::string_view part) {
  return text.starts_with(part);
}
bool has_end(std::string_view text, std::string_view part) {
  return text.ends_with(part);
}

Value matches(Evaluation& evaluation, const Value* args, std::size_t) {
  if (!two_strings(args)) return evaluation.no_overload();
  std::string error;
  const Regex* regex = cached_regex(evaluation, args[1].as_text(), error);
  if (regex == nullptr) return evaluation.error(error);
  if (!evaluation.charge((1 + args[0].count / 10) * regex->weight()))
    return evaluation.over_budget();
  return Value::of_bool(regex->search(args[0].as_text()));
}

constexpr std::string_view kSizeForms =
    "string -> int; bytes -> int; list(A) -> int; map(A, B) -> int";
constexpr std::string_view kTestForms = "string, string -> bool";

constexpr FunctionEntry kFunctions[] = {
    {"size", false, size, kSizeForms},
    {"size", true, size, kSizeForms},
    {"type", false, type_of, "A -> type(A)"},
    {"dyn", false, dyn, "A -> dyn"},
    {"int", false, to_int,
     "int -> int; uint -> int; double -> int; string -> int; timestamp -> int; duration -> int"},
    {"uint", false, to_uint, "uint -> uint; int -> uint; double -> uint; string -> uint"},
    {"double", false, to_double,
     "double -> double; int -> double; uint -> double; string -> double"},
    {"string", false, to_string_value,
     "string -> string; bool -> string; int -> string; uint -> string; double -> string;"
     "bytes -> string; timestamp -> string; duration -> string; kubernetes.Quantity -> string;"
     "kubernetes.URL -> string; net.IP -> string; net.CIDR -> string; kubernetes.Semver -> string"},
    {"bytes", false, to_bytes, "bytes -> bytes; string -> bytes"},
    {"bool", false, to_bool, "bool -> bool; string -> bool"},
    {"timestamp", false, to_timestamp,
     "timestamp -> timestamp; int -> timestamp; string -> timestamp"},
    {"duration", false, to_duration, "duration -> duration; string -> duration"},
    {"contains", true, test_strings<has_part>, kTestForms},
    {"startsWith", true, test_strings<has_start>, kTestForms},
    {"endsWith", true, test_strings<has_end>, kTestForms},
    {"matches", true, matches, kTestForms},
    {"matches", false, matches, kTestForms},
};

}  // namespace

std::span<const FunctionEntry> standard_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
