// Syntax tree of one expression. Nodes live in the compilation's arena and die with it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/value.h"

namespace kollect::cel {

struct Type;

enum class ExprKind : std::uint8_t {
  kConstant,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
  kBind,  ///< cel.bind, optMap and optFlatMap
};

/// Operators are calls without a function name.
enum class Op : std::uint8_t {
  kNone,
  kConditional,
  kOr,
  kAnd,
  kNot,
  kNegate,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kIndex,
  kOptionalIndex,
};

enum class Comprehension : std::uint8_t {
  kAll,
  kExists,
  kExistsOne,
  kMap,
  kFilter,
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kSortBy,
};

enum class BindKind : std::uint8_t { kBind, kOptMap, kOptFlatMap };

/// What a name turned out to mean.
enum class Resolution : std::uint8_t {
  kUnknown,
  kLocal,
  kVariable,  ///< ident: of the environment; call: of the registry
  kType,
  kDeclared,  ///< call: a function of the environment, known to the checker alone
  kUnresolved,
};

struct Expr;

/// An element of a list or an entry of a map or message literal (`key` nullptr for lists).
struct Element {
  Expr* key = nullptr;
  Expr* value = nullptr;
  bool optional = false;
  std::string_view field;  ///< messages
};

/// One node; which members count depends on `kind`.
struct Expr {
  ExprKind kind = ExprKind::kConstant;
  Op op = Op::kNone;
  bool optional = false;   ///< select: `.?`
  bool test_only = false;  ///< select: has()
  bool absolute = false;   ///< ident: leading dot; struct: the same
  bool quoted = false;     ///< select: field in backquotes
  Resolution resolution = Resolution::kUnknown;
  Comprehension comprehension = Comprehension::kAll;
  BindKind bind = BindKind::kBind;
  std::uint32_t position = 0;  ///< byte offset of the token that names the node
  std::uint32_t slot = 0;   ///< local slot (ident, first variable of a comprehension), number of a
                            ///< variable or declared function
  std::uint32_t slot2 = 0;  ///< second variable
  std::uint32_t depth = 1;  ///< height of the tree below and including this node
  Value constant;
  std::string_view name;       ///< ident, field, function, message type, resolved name
  std::string_view variable;   ///< comprehension, bind: first variable
  std::string_view variable2;  ///< second variable, empty in one-variable forms
  Expr* target = nullptr;      ///< operand of a select, target of a call, range, bound value
  Expr* filter = nullptr;      ///< map, transform…: condition, may be absent
  Expr* body = nullptr;        ///< predicate, transform, body of a bind
  std::span<Expr*> args;
  std::span<Element> elements;
  const Type* type = nullptr;  ///< set by the checker
};

}  // namespace kollect::cel
