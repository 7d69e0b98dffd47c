// Results of evaluations as JSON (spec: extraction 4, "CEL to JSON").
#pragma once

#include <expected>

#include "base/json/value.h"
#include "cel/cel.h"
#include "cel/value.h"

namespace kollect::cel {

/// Converts at every depth; an empty optional inside a container becomes null. Errors: NaN and
/// infinities, types, keys that meet in one text; more than `max_bytes` of JSON (limit). `used`
/// gets a measure of the work, the bytes of what was converted and more, also on failure.
std::expected<base::json::Value, EvalError> to_json(const Value& value, std::size_t max_bytes,
                                                    std::size_t* used = nullptr);

}  // namespace kollect::cel
