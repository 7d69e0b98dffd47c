// Operators on values.
#pragma once

#include "cel/evaluation.h"

namespace kollect::cel {

Value add(Evaluation& evaluation, const Value& a, const Value& b);
Value subtract(Evaluation& evaluation, const Value& a, const Value& b);
Value multiply(Evaluation& evaluation, const Value& a, const Value& b);
Value divide(Evaluation& evaluation, const Value& a, const Value& b);
Value modulo(Evaluation& evaluation, const Value& a, const Value& b);
Value negate(Evaluation& evaluation, const Value& a);
/// The order of two values of comparable kinds; `fits` false when the kinds do not compare.
Order compare(const Value& a, const Value& b, bool& fits);
/// `in`: element of a list, key of a map.
Value contains(Evaluation& evaluation, const Value& element, const Value& container);

/// Timestamps: years 1 to 9999. Durations: ±315,576,000,000.999999999 seconds
/// (protobuf).
constexpr std::int64_t kMinTimestamp = -62135596800;
constexpr std::int64_t kMaxTimestamp = 253402300799;
constexpr std::int64_t kMaxDuration = 315576000000;
/// A timestamp or duration from seconds and any number of nanoseconds; an error when out of range.
Value make_timestamp(Evaluation& evaluation, std::int64_t seconds, std::int64_t nanos);
Value make_duration(Evaluation& evaluation, std::int64_t seconds, std::int64_t nanos);

}  // namespace kollect::cel
