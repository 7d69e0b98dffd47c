#include "base/json/value.h"

#include <algorithm>
#include <limits>

namespace kollect::base::json {

const Value* Object::find(std::string_view key) const {
  for (const auto& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Value* Object::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Object::set(std::string key, Value value) {
  if (Value* existing = find(key)) {
    *existing = std::move(value);
    return *existing;
  }
  return members_.emplace_back(std::move(key), std::move(value)).second;
}

Value& Object::operator[](std::string_view key) {
  if (Value* existing = find(key)) return *existing;
  return members_.emplace_back(std::string(key), Value()).second;
}

bool Object::erase(std::string_view key) {
  auto it = std::ranges::find_if(members_, [&](const Member& m) { return m.first == key; });
  if (it == members_.end()) return false;
  members_.erase(it);
  return true;
}

Value::Value(std::uint64_t v) {
  // One number has one representation: uint64 is used above the range of int64 only.
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(v);
  } else {
    data_ = v;
  }
}

const Value* Value::find(std::string_view key) const {
  return is_object() ? as_object().find(key) : nullptr;
}

Value* Value::find(std::string_view key) {
  return is_object() ? as_object().find(key) : nullptr;
}

const Value* Value::at_path(std::initializer_list<std::string_view> keys) const {
  const Value* at = this;
  for (std::string_view key : keys) {
    at = at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string_view Value::text(std::string_view key) const {
  const Value* member = find(key);
  return member != nullptr && member->is_string() ? std::string_view(member->as_string())
                                                  : std::string_view();
}

std::string_view Value::type_name() const {
  if (is_null()) return "null";
  if (is_bool()) return "boolean";
  if (is_number()) return "number";
  if (is_string()) return "string";
  return is_array() ? "array" : "object";
}

namespace {
bool numbers_equal(const Value& a, const Value& b) {
  if (a.is_double() || b.is_double()) {
    auto as_double = [](const Value& v) {
      if (v.is_double()) return v.as_double();
      return v.is_int() ? static_cast<double>(v.as_int()) : static_cast<double>(v.as_uint());
    };
    return as_double(a) == as_double(b);
  }
  if (a.is_int() != b.is_int()) return false;
  return a.is_int() ? a.as_int() == b.as_int() : a.as_uint() == b.as_uint();
}
}  // namespace

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return numbers_equal(a, b);
  if (a.data_.index() != b.data_.index()) return false;
  if (a.is_null()) return true;
  if (a.is_bool()) return a.as_bool() == b.as_bool();
  if (a.is_string()) return a.as_string() == b.as_string();
  if (a.is_array()) return a.as_array() == b.as_array();
  return a.as_object() == b.as_object();
}

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  return std::ranges::all_of(a, [&](const Object::Member& m) {
    const Value* other = b.find(m.first);
    return other != nullptr && *other == m.second;
  });
}

}  // namespace kollect::base::json
