// Values during evaluation: small tagged unions over borrowed JSON and the evaluation's arena.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json/document.h"

namespace kollect::cel {

enum class Kind : std::uint8_t {
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kTimestamp,
  kDuration,
  kType,
  kOptional,
  kOpaque,  ///< quantity, url, ip, cidr, semver, named format
};

class Evaluation;
struct Value;
struct Opaque;

/// An error on its way. `position` is a byte offset in the expression; kNoPosition until a node has
/// filled it in.
struct ErrorInfo {
  static constexpr std::uint32_t kNoPosition = UINT32_MAX;
  std::string_view message;
  std::uint32_t position = kNoPosition;
  bool limit = false;
};

struct MapEntry;

/// 16 bytes, copied freely. Containers are either JSON (a node of the document) or arrays in the
/// arena. Maps in the arena are sorted by compare_keys, so that look-ups, equality and iteration
/// have one order (spec: E-6).
struct Value {
  union {
    bool boolean;
    std::int64_t i;  ///< int; timestamp, duration: seconds (floor)
    std::uint64_t u;
    double d;
    const char* text;  ///< string, bytes, type name: `count` bytes
    const base::json::detail::Node* node;
    const Value* items;
    const MapEntry* entries;
    const Value* held;  ///< optional: nullptr is none
    const Opaque* opaque;
    ErrorInfo* error;
  };
  std::uint32_t count = 0;  ///< bytes, elements or entries; timestamp, duration: nanoseconds
  Kind kind = Kind::kNull;
  bool json =
      false;  ///< list, map: borrowed JSON; double: a JSON number beyond the range of doubles

  Value() : i(0) {}

  [[nodiscard]] bool is_error() const { return kind == Kind::kError; }
  [[nodiscard]] bool is_true() const { return kind == Kind::kBool && boolean; }
  [[nodiscard]] bool is_false() const { return kind == Kind::kBool && !boolean; }
  [[nodiscard]] bool is_number() const { return kind >= Kind::kInt && kind <= Kind::kDouble; }
  [[nodiscard]] std::string_view as_text() const { return {text, count}; }

  static Value null() { return {}; }
  static Value of_bool(bool value) {
    Value v;
    v.kind = Kind::kBool;
    v.boolean = value;
    return v;
  }
  static Value of_int(std::int64_t value) {
    Value v;
    v.kind = Kind::kInt;
    v.i = value;
    return v;
  }
  static Value of_uint(std::uint64_t value) {
    Value v;
    v.kind = Kind::kUint;
    v.u = value;
    return v;
  }
  static Value of_double(double value) {
    Value v;
    v.kind = Kind::kDouble;
    v.d = value;
    return v;
  }
  /// The text is borrowed: arena, document, program or static.
  static Value of_string(std::string_view value) { return of_text(Kind::kString, value); }
  static Value of_bytes(std::string_view value) { return of_text(Kind::kBytes, value); }
  static Value of_type(std::string_view name) { return of_text(Kind::kType, name); }
  static Value of_text(Kind kind, std::string_view value) {
    Value v;
    v.kind = kind;
    v.text = value.data();
    v.count = static_cast<std::uint32_t>(value.size());
    return v;
  }
  static Value of_list(const Value* items, std::size_t count) {
    Value v;
    v.kind = Kind::kList;
    v.items = items;
    v.count = static_cast<std::uint32_t>(count);
    return v;
  }
  /// Entries must be sorted by compare_keys and distinct.
  static Value of_map(const MapEntry* entries, std::size_t count) {
    Value v;
    v.kind = Kind::kMap;
    v.entries = entries;
    v.count = static_cast<std::uint32_t>(count);
    return v;
  }
  static Value of_time(Kind kind, std::int64_t seconds, std::uint32_t nanos) {
    Value v;
    v.kind = kind;
    v.i = seconds;
    v.count = nanos;
    return v;
  }
  static Value of_optional(const Value* held) {
    Value v;
    v.kind = Kind::kOptional;
    v.held = held;
    return v;
  }
  static Value of_opaque(const Opaque* opaque) {
    Value v;
    v.kind = Kind::kOpaque;
    v.opaque = opaque;
    return v;
  }
  static Value of_error(ErrorInfo* error) {
    Value v;
    v.kind = Kind::kError;
    v.error = error;
    return v;
  }
  /// Scalars are read, containers borrowed. A number beyond doubles becomes an infinity with
  /// `out_of_range` set.
  static Value of_json(base::json::View view);
  /// True for a JSON number that no double can hold: reading it ends the evaluation (spec: E-35).
  [[nodiscard]] bool out_of_range() const { return kind == Kind::kDouble && json; }
};
static_assert(sizeof(Value) == 16);

struct MapEntry {
  Value key;
  Value value;
};

enum class OpaqueKind : std::uint8_t { kQuantity, kUrl, kIp, kCidr, kSemver, kFormat };

/// Base of values that only libraries understand; they live in the arena.
struct Opaque {
  OpaqueKind kind;
};

/// Name of the value's run-time type ("int", "google.protobuf.Timestamp", "kubernetes.Quantity").
std::string_view type_name(const Value& value);

/// Equality of the language: numbers by value over all three types, other kinds only with their
/// own; containers element by element. Not defined for errors. Callers have charged for the values
/// themselves; what lies inside is charged here: a list may hold another many times, so that its
/// size tells nothing. False once the budget is used up.
bool equal(Evaluation& evaluation, const Value& a, const Value& b);

/// Order of numbers; unordered when one is NaN. An integer beside a double counts as the double
/// nearest to it, as the language has it: 9223372036854775807 equals 9223372036854775808.0.
enum class Order : std::int8_t { kLess = -1, kEqual = 0, kGreater = 1, kUnordered = 2 };
Order compare_numbers(const Value& a, const Value& b);

/// Total order of map keys: bool, then numbers by exact value, then strings bytewise. Doubles (in
/// look-ups) must not be NaN.
int compare_keys(const Value& a, const Value& b);
/// True for kinds that may be keys of maps: bool, int, uint, string.
inline bool is_key(const Value& value) {
  return value.kind == Kind::kString || value.kind == Kind::kInt || value.kind == Kind::kUint ||
         value.kind == Kind::kBool;
}

/// Member of a map (either form). `found` false: no such key, or not a map.
struct Lookup {
  Value value;
  bool found = false;
};
Lookup find_member(const Value& map, std::string_view key);
Lookup find_member(const Value& map, const Value& key);
/// JSON object's member, the last of a duplicate key; nullptr when missing.
const base::json::detail::Node* find_json_member(const base::json::detail::Node* object,
                                                 std::string_view key);
/// Element of a list; the caller has checked the bounds.
Value list_at(const Value& list, std::size_t index);

/// Walks a list of either form in order.
class ListCursor {
 public:
  explicit ListCursor(const Value& list) : left_(list.count), json_(list.json) {
    if (json_) {
      node_ = list.node + 1;
    } else {
      items_ = list.items;
    }
  }
  bool next(Value& out) {
    if (left_ == 0) return false;
    --left_;
    if (json_) {
      out = Value::of_json(base::json::View(node_));
      node_ += node_->span;
    } else {
      out = *items_++;
    }
    return true;
  }

 private:
  std::size_t left_;
  bool json_;
  union {
    const base::json::detail::Node* node_;
    const Value* items_;
  };
};

}  // namespace kollect::cel
