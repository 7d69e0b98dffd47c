// An owning JSON value, for objects that are built or changed (our own kinds, defaults, test
// input).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kollect::base::json {

class Value;
using Array = std::vector<Value>;

/// Members in insertion order; a key stands once. Look-up is linear: our objects are small.
class Object {
 public:
  using Member = std::pair<std::string, Value>;

  [[nodiscard]] const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Sets or replaces; the place of an existing member stays.
  Value& set(std::string key, Value value);
  /// The member, created as null when missing.
  Value& operator[](std::string_view key);
  bool erase(std::string_view key);
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::vector<Member>::const_iterator begin() const;
  [[nodiscard]] std::vector<Member>::const_iterator end() const;
  std::vector<Member>::iterator begin();
  std::vector<Member>::iterator end();

 private:
  std::vector<Member> members_;
};

/// null, bool, number (int64, uint64 above int64, double), string, array or object. Equality
/// compares numbers by value and objects without regard to order.
class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}                              // NOLINT(google-explicit-constructor)
  Value(bool v) : data_(v) {}                           // NOLINT(google-explicit-constructor)
  Value(int v) : data_(std::int64_t{v}) {}              // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data_(v) {}                   // NOLINT(google-explicit-constructor)
  Value(std::uint64_t v);                               // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                         // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}       // NOLINT(google-explicit-constructor)
  Value(Array v) : data_(std::move(v)) {}               // NOLINT(google-explicit-constructor)
  Value(Object v) : data_(std::move(v)) {}              // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(data_); }
  [[nodiscard]] bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  [[nodiscard]] bool is_uint() const { return std::holds_alternative<std::uint64_t>(data_); }
  [[nodiscard]] bool is_double() const { return std::holds_alternative<double>(data_); }
  [[nodiscard]] bool is_number() const { return is_int() || is_uint() || is_double(); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(data_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(data_); }

  /// The held alternative; the caller has asked for the type before (std::bad_variant_access else).
  [[nodiscard]] bool as_bool() const { return std::get<bool>(data_); }
  [[nodiscard]] std::int64_t as_int() const { return std::get<std::int64_t>(data_); }
  [[nodiscard]] std::uint64_t as_uint() const { return std::get<std::uint64_t>(data_); }
  [[nodiscard]] double as_double() const { return std::get<double>(data_); }
  [[nodiscard]] const std::string& as_string() const { return std::get<std::string>(data_); }
  [[nodiscard]] const Array& as_array() const { return std::get<Array>(data_); }
  Array& as_array() { return std::get<Array>(data_); }
  [[nodiscard]] const Object& as_object() const { return std::get<Object>(data_); }
  Object& as_object() { return std::get<Object>(data_); }

  /// Member of an object; nullptr when this is no object or has no such member.
  [[nodiscard]] const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Follows member names ("metadata", "name"); nullptr when a step is missing.
  [[nodiscard]] const Value* at_path(std::initializer_list<std::string_view> keys) const;
  /// Text of a string member, or "" when missing or of another type.
  [[nodiscard]] std::string_view text(std::string_view key) const;
  /// "null", "boolean", "number", "string", "array" or "object".
  [[nodiscard]] std::string_view type_name() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      data_;
};

bool operator==(const Object& a, const Object& b);

// Here because a Member is complete only now.
inline std::size_t Object::size() const {
  return members_.size();
}
inline bool Object::empty() const {
  return members_.empty();
}
inline std::vector<Object::Member>::const_iterator Object::begin() const {
  return members_.begin();
}
inline std::vector<Object::Member>::const_iterator Object::end() const {
  return members_.end();
}
inline std::vector<Object::Member>::iterator Object::begin() {
  return members_.begin();
}
inline std::vector<Object::Member>::iterator Object::end() {
  return members_.end();
}

}  // namespace kollect::base::json
