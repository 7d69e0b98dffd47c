// Binds the fields of a description to the members of a struct: one table gives schema, reading and
// writing. Internal to the room; other rooms use codec.h.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/schema.h"
#include "base/clock.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::api {

template <class T>
class Shape;
/// The description of a struct; specialised in describe_*.cc.
template <class T>
const Shape<T>& shape();

inline base::Error wrong_type(const std::string& path, std::string_view wanted,
                              const base::json::Value& value) {
  return base::configuration(
      fmt::format("{}: must be {}, got {}", path, wanted, value.type_name()));
}

/// How a member of type M is described, read and written. `write` gives none for "absent".
template <class M>
struct MemberCodec {  // a described struct
  static Schema schema() { return shape<M>().schema(); }
  static base::Result<> read(const base::json::Value& value, M& out, const std::string& path) {
    return shape<M>().read(value, out, path);
  }
  static std::optional<base::json::Value> write(const M& in, bool required) {
    base::json::Value value = shape<M>().write(in);
    if (!required && value.as_object().empty()) {
      return std::nullopt;
    }
    return value;
  }
};

template <>
struct MemberCodec<std::string> {
  static Schema schema() {
    Schema s;
    s.type = Schema::Type::kString;
    return s;
  }
  static base::Result<> read(const base::json::Value& value, std::string& out,
                             const std::string& path) {
    if (!value.is_string()) {
      return wrong_type(path, "a string", value);
    }
    out = value.as_string();
    return {};
  }
  static std::optional<base::json::Value> write(const std::string& in, bool required) {
    return in.empty() && !required ? std::nullopt : std::optional<base::json::Value>(in);
  }
};

template <>
struct MemberCodec<std::optional<bool>> {
  static Schema schema() {
    Schema s;
    s.type = Schema::Type::kBoolean;
    return s;
  }
  static base::Result<> read(const base::json::Value& value, std::optional<bool>& out,
                             const std::string& path) {
    if (!value.is_bool()) {
      return wrong_type(path, "true or false", value);
    }
    out = value.as_bool();
    return {};
  }
  static std::optional<base::json::Value> write(const std::optional<bool>& in, bool /*required*/) {
    return in ? std::optional<base::json::Value>(*in) : std::nullopt;
  }
};

template <>
struct MemberCodec<std::int64_t> {
  static Schema schema() {
    Schema s;
    s.type = Schema::Type::kInteger;
    return s;
  }
  static base::Result<> read(const base::json::Value& value, std::int64_t& out,
                             const std::string& path) {
    if (value.is_double() && value.as_double() >= -9.2e18 && value.as_double() <= 9.2e18 &&
        value.as_double() == static_cast<double>(static_cast<std::int64_t>(value.as_double()))) {
      out = static_cast<std::int64_t>(value.as_double());
      return {};
    }
    if (!value.is_int()) {
      return wrong_type(path, "an integer", value);
    }
    out = value.as_int();
    return {};
  }
  static std::optional<base::json::Value> write(const std::int64_t& in, bool required) {
    return in == 0 && !required ? std::nullopt : std::optional<base::json::Value>(in);
  }
};

template <>
struct MemberCodec<std::map<std::string, std::string>> {
  static Schema schema() {
    Schema s;
    s.type = Schema::Type::kStringMap;
    return s;
  }
  static base::Result<> read(const base::json::Value& value,
                             std::map<std::string, std::string>& out, const std::string& path) {
    if (!value.is_object()) {
      return wrong_type(path, "a map of strings", value);
    }
    for (const auto& [key, entry] : value.as_object()) {
      if (!entry.is_string()) {
        return wrong_type(fmt::format("{}[{}]", path, key), "a string", entry);
      }
      out[key] = entry.as_string();
    }
    return {};
  }
  static std::optional<base::json::Value> write(const std::map<std::string, std::string>& in,
                                                bool required) {
    if (in.empty() && !required) {
      return std::nullopt;
    }
    base::json::Object object;
    for (const auto& [key, entry] : in) {
      object.set(key, entry);
    }
    return base::json::Value(std::move(object));
  }
};

template <class M>
struct MemberCodec<std::optional<M>> {
  static Schema schema() { return MemberCodec<M>::schema(); }
  static base::Result<> read(const base::json::Value& value, std::optional<M>& out,
                             const std::string& path) {
    return MemberCodec<M>::read(value, out.emplace(), path);
  }
  static std::optional<base::json::Value> write(const std::optional<M>& in, bool /*required*/) {
    return in ? MemberCodec<M>::write(*in, true) : std::nullopt;
  }
};

template <class M>
struct MemberCodec<std::vector<M>> {
  static Schema schema() {
    Schema s;
    s.type = Schema::Type::kArray;
    s.items = std::make_shared<const Schema>(MemberCodec<M>::schema());
    return s;
  }
  static base::Result<> read(const base::json::Value& value, std::vector<M>& out,
                             const std::string& path) {
    if (!value.is_array()) {
      return wrong_type(path, "a list", value);
    }
    out.reserve(value.as_array().size());
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      KL_TRY(MemberCodec<M>::read(value.as_array()[i], out.emplace_back(),
                                  fmt::format("{}[{}]", path, i)));
    }
    return {};
  }
  static std::optional<base::json::Value> write(const std::vector<M>& in, bool required) {
    if (in.empty() && !required) {
      return std::nullopt;
    }
    base::json::Array array;
    for (const M& item : in) {
      array.push_back(*MemberCodec<M>::write(item, true));
    }
    return base::json::Value(std::move(array));
  }
};

/// Fields of struct T in the order of the description.
template <class T>
class Shape {
 public:
  explicit Shape(const std::function<void(Shape&)>& describe) { describe(*this); }

  template <class M, class C>
  Property& field(std::string name, M C::*member, std::string doc) {
    fields_.push_back(
        Field{[member](const base::json::Value& value, T& out, const std::string& path) {
                return MemberCodec<M>::read(value, out.*member, path);
              },
              [member](const T& in, bool required) {
                return MemberCodec<M>::write(in.*member, required);
              }});
    return schema_.add(std::move(name), MemberCodec<M>::schema(), std::move(doc));
  }

  /// Lets an item be a plain string that is read into `member` (spec: crds 9 D2).
  void or_name(std::string T::*member) {
    name_member_ = member;
    schema_.object_or_name = true;
  }

  [[nodiscard]] const Schema& schema() const { return schema_; }

  /// Reads a JSON object; unknown members and nulls are passed over. Errors: configuration, with
  /// the path.
  base::Result<> read(const base::json::Value& value, T& out, const std::string& path) const {
    if (name_member_ != nullptr && value.is_string()) {
      out.*name_member_ = value.as_string();
      return {};
    }
    if (!value.is_object()) {
      return wrong_type(path, "an object", value);
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const Property& property = schema_.properties[i];
      const base::json::Value* member = value.find(property.name);
      if (member == nullptr || member->is_null()) {
        continue;
      }
      const std::string at = path.empty() ? property.name : path + "." + property.name;
      KL_TRY(fields_[i].read(*member, out, at));
      if (property.schema.duration) {
        if (auto parsed = base::parse_duration(member->as_string()); !parsed.has_value()) {
          return parsed.error().with_prefix(at);
        }
      }
    }
    return {};
  }

  [[nodiscard]] base::json::Value write(const T& in) const {
    base::json::Object object;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const Property& property = schema_.properties[i];
      if (auto value = fields_[i].write(in, property.is_required)) {
        object.set(property.name, std::move(*value));
      }
    }
    return object;
  }

 private:
  struct Field {
    std::function<base::Result<>(const base::json::Value&, T&, const std::string&)> read;
    std::function<std::optional<base::json::Value>(const T&, bool required)> write;
  };
  Schema schema_;
  std::vector<Field> fields_;
  std::string T::*name_member_ = nullptr;
};

}  // namespace kollect::api
