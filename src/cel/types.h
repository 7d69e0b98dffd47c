// Static types of the checker and their simple syntax.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cel/arena.h"

namespace kollect::cel {

enum class TypeKind : std::uint8_t {
  kDyn,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kOptional,
  kType,
  kOpaque,
  kParameter,  ///< type parameter of a function ("A"), or a variable of the checker
};

/// Immutable. Types without parameters are shared constants; the others live in an arena.
struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string_view name;         ///< opaque: full name
  const Type* first = nullptr;   ///< list, optional: element; map: key
  const Type* second = nullptr;  ///< map: value
  std::uint32_t parameter = 0;   ///< parameter: letter in a signature, number in the checker
};

/// The shared constant of a kind without parameters.
const Type* simple_type(TypeKind kind);
const Type* make_list(Arena& arena, const Type* element);
const Type* make_map(Arena& arena, const Type* key, const Type* value);
const Type* make_optional(Arena& arena, const Type* held);

/// Reads "dyn", "list(string)", "map(string, dyn)", "optional_type(int)", "timestamp", … Single
/// capital letters are type parameters when `parameters`. nullptr when the text is no type.
const Type* parse_type(std::string_view text, Arena& arena, bool parameters = false);
/// The text of a type in the same syntax.
std::string to_string(const Type* type);
/// Full name of a type identifier that expressions may use as a value ("int",
/// "google.protobuf.Timestamp", …); empty when there is none of this name.
std::string_view type_identifier(std::string_view name);

}  // namespace kollect::cel
