// Does a value fit the type that a profile's author expects? (spec: extraction E-4)
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json/document.h"

namespace kollect::extract {

enum class TypeHint : std::uint8_t {
  kAny,
  kString,
  kInt,
  kFloat,
  kBool,
  kList,
  kMap,
  kTimestamp,
  kQuantity
};

/// Unknown words, and none, are kAny.
TypeHint parse_type_hint(std::string_view word);
/// Null fits every type. Nothing is converted: "42" is no int.
bool fits(TypeHint hint, base::json::View value);

/// RFC 3339 with an offset or Z.
bool is_timestamp(std::string_view text);
/// Kubernetes' quantity grammar: sign, digits, and a binary, decimal or exponent suffix.
bool is_quantity(std::string_view text);

}  // namespace kollect::extract
