// The compiled form of a path; private to the jsonpath_*.cc files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json/document.h"

namespace re2 {
class RE2;
}

namespace kollect::extract::ast {

struct Filter;

struct Slice {
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
  std::int64_t step = 1;
};

/// One step. Which members count depends on `kind`.
struct Step {
  enum class Kind : std::uint8_t {
    kKey,       ///< .k ['k']
    kMembers,   ///< .*
    kElements,  ///< [*]
    kIndex,     ///< [n]
    kSlice,     ///< [a:b:s]
    kUnion,     ///< [x,y]
    kDescent,   ///< ..
    kFilter,    ///< [?(...)]
  };
  Kind kind = Kind::kKey;
  bool quoted = false;       ///< kKey: came from a bracket
  std::size_t position = 1;  ///< in the text, characters from 1
  std::string key;
  std::int64_t index = 0;
  Slice slice;
  std::vector<Step> members;             ///< kUnion
  std::shared_ptr<const Filter> filter;  ///< kFilter
};

/// One side of a comparison.
struct Operand {
  enum class Kind : std::uint8_t {
    kElementPath,
    kRootPath,
    kString,
    kNumber,
    kTrue,
    kFalse,
    kNull
  };
  Kind kind = Kind::kElementPath;
  std::vector<Step> steps;
  std::string text;           ///< kString
  base::json::Number number;  ///< kNumber
  std::size_t position = 1;
};

struct Filter {
  enum class Kind : std::uint8_t { kOr, kAnd, kNot, kExists, kCompare };
  enum class Op : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kMatch };
  Kind kind = Kind::kExists;
  std::vector<Filter> children;  ///< kOr, kAnd: two or more; kNot: one
  Op op = Op::kEq;
  Operand left;
  Operand right;
  std::shared_ptr<const re2::RE2> pattern;  ///< kMatch
};

struct Path {
  std::vector<Step> steps;
  bool always_array = false;
  // Derived once, for the questions of jsonpath.h.
  std::vector<std::string> last_keys;
  std::string parent_key;
  bool yields_elements = false;
};

/// Fills the derived members.
void derive(Path& path);

}  // namespace kollect::extract::ast
