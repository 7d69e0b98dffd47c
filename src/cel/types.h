// Static types of the checker and their simple syntax.
#pragma once

#include <cstdint>
#include <span>
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
  std::string_view name;  ///< opaque: full name
  /// list, optional: of the element; map: of key and value; type: of the values it is the type of;
  /// opaque: any number
  std::span<const Type* const> params;
  std::uint32_t parameter = 0;  ///< parameter: letter in a signature, number in the checker
  std::uint32_t size = 1;       ///< names in the text of the type
};

/// A type of more names is dyn: {x: x} doubles the type of x, and again around it.
inline constexpr std::uint32_t kMaxTypeSize = 500;

/// The shared constant of a kind without parameters.
const Type* simple_type(TypeKind kind);
/// The shared type(dyn).
const Type* any_type();
const Type* make_list(Arena& arena, const Type* element);
const Type* make_map(Arena& arena, const Type* key, const Type* value);
const Type* make_optional(Arena& arena, const Type* held);
const Type* make_type(Arena& arena, const Type* of);
/// A copy of `like` with other parameters, as many as it has.
const Type* with_params(Arena& arena, const Type& like, std::span<const Type* const> params);

/// Which names a text of a type may have besides the known ones: single capital letters as type
/// parameters, and, when functions are declared from outside, any other as an opaque type.
enum class TypeNames : std::uint8_t { kKnown, kParameters, kAny };

/// Reads "dyn", "list(string)", "map(string, dyn)", "optional_type(int)", "timestamp", … nullptr
/// when the text is no type.
const Type* parse_type(std::string_view text, Arena& arena, TypeNames names = TypeNames::kKnown);
/// The type of the identifier of a type: type(int) for "int", type(list(dyn)) for "list".
const Type* type_of_identifier(std::string_view name, Arena& arena);
/// The text of a type in the same syntax.
std::string to_string(const Type* type);
/// Full name of a type identifier that expressions may use as a value ("int",
/// "google.protobuf.Timestamp", …); empty when there is none of this name.
std::string_view type_identifier(std::string_view name);

}  // namespace kollect::cel
