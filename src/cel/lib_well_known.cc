// Literals of the well-known messages of protobuf that stand for values of the language. Only
// batches take them (Environment::well_known_messages): the resolver makes
// "google.protobuf.Duration{seconds: 1}" a call "@google.protobuf.Duration({'seconds': 1})", a name
// that no expression can write.
#include <cmath>

#include "cel/arithmetic.h"
#include "cel/functions.h"

namespace kollect::cel {

namespace {

/// The fields of a literal. Each is asked for once; ok() is false when one has another type, or
/// when there is one that nobody asked for.
class Fields {
 public:
  explicit Fields(const Value& map) : map_(map) {}

  /// The field, or `missing` when the literal does not have it.
  Value take(std::string_view name, Kind kind, Value missing) {
    const Lookup field = find_member(map_, name);
    if (!field.found) return missing;
    ++taken_;
    fits_ &= field.value.kind == kind;
    return field.value;
  }
  [[nodiscard]] bool has(std::string_view name) const { return find_member(map_, name).found; }
  [[nodiscard]] bool ok() const { return fits_ && taken_ == map_.count; }

 private:
  const Value& map_;
  std::uint32_t taken_ = 0;
  bool fits_ = true;
};

Value wrong_fields(Evaluation& evaluation) {
  return evaluation.error("the message has no field of this name and type");
}

constexpr std::int64_t kNanos = 1'000'000'000;

Value timestamp(Evaluation& evaluation, const Value* args, std::size_t) {
  Fields fields(args[0]);
  const Value seconds = fields.take("seconds", Kind::kInt, Value::of_int(0));
  const Value nanos = fields.take("nanos", Kind::kInt, Value::of_int(0));
  if (!fields.ok()) return wrong_fields(evaluation);
  if (nanos.i < 0 || nanos.i >= kNanos) return evaluation.error("nanoseconds out of range");
  return make_timestamp(evaluation, seconds.i, nanos.i);
}

Value duration(Evaluation& evaluation, const Value* args, std::size_t) {
  Fields fields(args[0]);
  const Value seconds = fields.take("seconds", Kind::kInt, Value::of_int(0));
  const Value nanos = fields.take("nanos", Kind::kInt, Value::of_int(0));
  if (!fields.ok()) return wrong_fields(evaluation);
  if (nanos.i <= -kNanos || nanos.i >= kNanos) return evaluation.error("nanoseconds out of range");
  if ((seconds.i > 0 && nanos.i < 0) || (seconds.i < 0 && nanos.i > 0)) {
    return evaluation.error("seconds and nanoseconds of a duration have different signs");
  }
  return make_duration(evaluation, seconds.i, nanos.i);
}

Value missing_value(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return Value::of_bool(false);
    case Kind::kDouble:
      return Value::of_double(0);
    case Kind::kUint:
      return Value::of_uint(0);
    case Kind::kInt:
      return Value::of_int(0);
    default:
      return Value::of_text(kind, {});
  }
}

template <Kind kKind, bool kNarrow = false>
Value wrapper(Evaluation& evaluation, const Value* args, std::size_t) {
  Fields fields(args[0]);
  Value value = fields.take("value", kKind, missing_value(kKind));
  if (!fields.ok()) return wrong_fields(evaluation);
  if (!kNarrow) return value;
  if (kKind == Kind::kDouble) value.d = static_cast<float>(value.d);
  const bool out_of_range = (kKind == Kind::kInt && (value.i > INT32_MAX || value.i < INT32_MIN)) ||
                            (kKind == Kind::kUint && value.u > UINT32_MAX);
  return out_of_range ? evaluation.error("the number does not fit 32 bits") : value;
}

/// Value{}: the only field says of which type the value is.
Value any_value(Evaluation& evaluation, const Value* args, std::size_t) {
  constexpr std::pair<std::string_view, Kind> kFields[] = {
      {"null_value", Kind::kInt},  {"number_value", Kind::kDouble}, {"string_value", Kind::kString},
      {"bool_value", Kind::kBool}, {"struct_value", Kind::kMap},    {"list_value", Kind::kList},
  };
  if (args[0].count == 0) return Value::null();
  Fields fields(args[0]);
  for (const auto& [name, kind] : kFields) {
    if (!fields.has(name)) continue;
    const Value value = fields.take(name, kind, Value::null());
    if (!fields.ok()) return wrong_fields(evaluation);
    return kind == Kind::kInt ? Value::null() : value;
  }
  return wrong_fields(evaluation);
}

template <bool kMap>
Value container(Evaluation& evaluation, const Value* args, std::size_t) {
  Fields fields(args[0]);
  const Value value = kMap ? fields.take("fields", Kind::kMap, Value::of_map(nullptr, 0))
                           : fields.take("values", Kind::kList, Value::of_list(nullptr, 0));
  return fields.ok() ? value : wrong_fields(evaluation);
}

/// Any{}: there is no message for it to hold.
Value any_message(Evaluation& evaluation, const Value*, std::size_t) {
  return evaluation.error("an Any that holds no message has no value");
}

// What a wrapper holds may be compared with null, so the checker knows nothing about it.
constexpr std::string_view kDyn = "map(string, dyn) -> dyn";

constexpr FunctionEntry kFunctions[] = {
    {"@google.protobuf.Timestamp", false, timestamp, "map(string, dyn) -> timestamp"},
    {"@google.protobuf.Duration", false, duration, "map(string, dyn) -> duration"},
    {"@google.protobuf.Any", false, any_message, kDyn},
    {"@google.protobuf.BoolValue", false, wrapper<Kind::kBool>, kDyn},
    {"@google.protobuf.BytesValue", false, wrapper<Kind::kBytes>, kDyn},
    {"@google.protobuf.DoubleValue", false, wrapper<Kind::kDouble>, kDyn},
    {"@google.protobuf.FloatValue", false, wrapper<Kind::kDouble, true>, kDyn},
    {"@google.protobuf.Int32Value", false, wrapper<Kind::kInt, true>, kDyn},
    {"@google.protobuf.Int64Value", false, wrapper<Kind::kInt>, kDyn},
    {"@google.protobuf.UInt32Value", false, wrapper<Kind::kUint, true>, kDyn},
    {"@google.protobuf.UInt64Value", false, wrapper<Kind::kUint>, kDyn},
    {"@google.protobuf.StringValue", false, wrapper<Kind::kString>, kDyn},
    {"@google.protobuf.Value", false, any_value, kDyn},
    {"@google.protobuf.Struct", false, container<true>, "map(string, dyn) -> map(string, dyn)"},
    {"@google.protobuf.ListValue", false, container<false>, "map(string, dyn) -> list(dyn)"},
};

}  // namespace

std::span<const FunctionEntry> well_known_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
