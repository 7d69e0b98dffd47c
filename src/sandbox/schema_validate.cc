// Validation with the causes of kube-apiserver.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "sandbox/schema.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

std::string shown(const Value& value) {
  return value.is_object() || value.is_array() ? fmt::format("\"{}\"", value.type_name())
                                               : base::json::compact(value);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_integer(const Value& value) {
  return value.is_int() || value.is_uint() ||
         (value.is_double() && std::floor(value.as_double()) == value.as_double());
}

double as_number(const Value& value) {
  if (value.is_int()) return static_cast<double>(value.as_int());
  return value.is_uint() ? static_cast<double>(value.as_uint()) : value.as_double();
}

/// Formats that are checked; others fit everything.
bool fits_format(std::string_view format, const std::string& text) {
  static const re2::RE2 kUuid(
      "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
  static const re2::RE2 kDate("^\\d{4}-\\d{2}-\\d{2}$");
  static const re2::RE2 kIpv4("^(\\d{1,3}\\.){3}\\d{1,3}$");
  static const re2::RE2 kEmail("^[^@\\s]+@[^@\\s]+$");
  if (format == "date-time") return base::parse_rfc3339(text).has_value();
  if (format == "byte") return base::base64_decode(text, false).has_value();
  if (format == "duration") return base::parse_duration(text).has_value();
  if (format == "uuid") return re2::RE2::PartialMatch(text, kUuid);
  if (format == "date") return re2::RE2::PartialMatch(text, kDate);
  if (format == "ipv4") return re2::RE2::PartialMatch(text, kIpv4);
  if (format == "email") return re2::RE2::PartialMatch(text, kEmail);
  return true;
}

class Validator {
 public:
  explicit Validator(std::vector<Cause>& causes) : causes_(causes) {}

  void check(const SchemaNode& node, const Value& value, const std::string& path) {
    if (value.is_null() && node.nullable) return;
    if (!check_type(node, value, path)) return;
    check_enum(node, value, path);
    if (value.is_string()) check_text(node, value.as_string(), path);
    if (value.is_number()) check_number(node, value, path);
    if (value.is_array()) check_list(node, value.as_array(), path);
    if (value.is_object()) check_members(node, value.as_object(), path);
    check_combinations(node, value, path);
  }

 private:
  void add(const char* reason, const std::string& path, std::string message) {
    causes_.push_back({reason, path, std::move(message)});
  }
  void invalid_body(const std::string& path, const Value& value, const std::string& why) {
    add("FieldValueInvalid", path,
        fmt::format("Invalid value: {}: {} in body {}", shown(value), path, why));
  }

  bool check_type(const SchemaNode& node, const Value& value, const std::string& path) {
    std::string wanted = node.type;
    bool fits = true;
    if (node.int_or_string) {
      fits = is_integer(value) || value.is_string();
      wanted = "integer,string";
    } else if (node.type == "object") {
      fits = value.is_object();
    } else if (node.type == "array") {
      fits = value.is_array();
    } else if (node.type == "string") {
      fits = value.is_string();
    } else if (node.type == "boolean") {
      fits = value.is_bool();
    } else if (node.type == "integer") {
      fits = value.is_number() && is_integer(value);
    } else if (node.type == "number") {
      fits = value.is_number();
    }
    if (fits) return true;
    const std::string_view is =
        value.is_number() && is_integer(value) ? "integer" : value.type_name();
    add("FieldValueTypeInvalid", path,
        fmt::format("Invalid value: \"{}\": {} in body must be of type {}: \"{}\"", is, path,
                    wanted, is));
    return false;
  }

  void check_enum(const SchemaNode& node, const Value& value, const std::string& path) {
    if (node.enums.empty() || std::ranges::find(node.enums, value) != node.enums.end()) return;
    std::string supported;
    for (const Value& one : node.enums) {
      if (!supported.empty()) supported += ", ";
      supported += base::json::compact(one);
    }
    add("FieldValueNotSupported", path,
        fmt::format("Unsupported value: {}: supported values: {}", shown(value), supported));
  }

  void check_text(const SchemaNode& node, const std::string& text, const std::string& path) {
    const auto length = static_cast<std::int64_t>(characters(text));
    if (node.max_length && length > *node.max_length) {
      add("FieldValueTooLong", path,
          fmt::format("Too long: may not be more than {} bytes", *node.max_length));
    }
    if (node.min_length && length < *node.min_length) {
      invalid_body(path, Value(text),
                   fmt::format("should be at least {} chars long", *node.min_length));
    }
    if (node.pattern && !re2::RE2::PartialMatch(text, *node.pattern)) {
      invalid_body(path, Value(text), fmt::format("should match '{}'", node.pattern_text));
    }
    if (!fits_format(node.format, text)) {
      add("FieldValueTypeInvalid", path,
          fmt::format("Invalid value: {}: {} in body must be of type {}: {}", shown(Value(text)),
                      path, node.format, shown(Value(text))));
    }
  }

  void check_number(const SchemaNode& node, const Value& value, const std::string& path) {
    const double number = as_number(value);
    const auto text = [](double bound) { return base::json::compact(Value(bound)); };
    if (node.maximum &&
        (node.exclusive_maximum ? number >= *node.maximum : number > *node.maximum)) {
      invalid_body(path, value,
                   fmt::format("should be less than {}{}",
                               node.exclusive_maximum ? "" : "or equal to ", text(*node.maximum)));
    }
    if (node.minimum &&
        (node.exclusive_minimum ? number <= *node.minimum : number < *node.minimum)) {
      invalid_body(path, value,
                   fmt::format("should be greater than {}{}",
                               node.exclusive_minimum ? "" : "or equal to ", text(*node.minimum)));
    }
    if (node.multiple_of && std::fmod(number, *node.multiple_of) != 0) {
      invalid_body(path, value, fmt::format("should be a multiple of {}", text(*node.multiple_of)));
    }
    const bool small = number >= INT32_MIN && number <= INT32_MAX;
    if (node.format == "int32" && !small) invalid_body(path, value, "must be of type int32");
  }

  void check_list(const SchemaNode& node, const Array& items, const std::string& path) {
    const auto size = static_cast<std::int64_t>(items.size());
    if (node.max_items && size > *node.max_items) {
      add("FieldValueTooMany", path,
          fmt::format("Too many: {}: must have at most {} items", size, *node.max_items));
    }
    if (node.min_items && size < *node.min_items) {
      invalid_body(path, Value(items),
                   fmt::format("should have at least {} items", *node.min_items));
    }
    for (std::size_t i = 0; i < items.size() && node.items; ++i) {
      check(*node.items, items[i], fmt::format("{}[{}]", path, i));
    }
    if (node.list_type == "set" || node.list_type == "map" || node.unique_items) {
      check_duplicates(node, items, path);
    }
  }

  void check_duplicates(const SchemaNode& node, const Array& items, const std::string& path) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Value key = items[i];
      if (node.list_type == "map") {
        Object keys;
        for (const std::string& name : node.map_keys) {
          const Value* value = items[i].find(name);
          if (value != nullptr) keys.set(name, *value);
        }
        key = std::move(keys);
      }
      const std::string text = base::json::canonical(key);
      if (!seen.insert(text).second) {
        add("FieldValueDuplicate", fmt::format("{}[{}]", path, i), "Duplicate value: " + text);
      }
    }
  }

  void check_members(const SchemaNode& node, const Object& object, const std::string& path) {
    const auto size = static_cast<std::int64_t>(object.size());
    if (node.max_properties && size > *node.max_properties) {
      add("FieldValueTooMany", path,
          fmt::format("Too many: {}: must have at most {} items", size, *node.max_properties));
    }
    if (node.min_properties && size < *node.min_properties) {
      invalid_body(path, Value(object),
                   fmt::format("should have at least {} properties", *node.min_properties));
    }
    for (const std::string& name : node.required) {
      if (!object.contains(name)) {
        add("FieldValueRequired", member_place(path, name), "Required value");
      }
    }
    for (const auto& [name, value] : object) {
      SchemaNode::Ptr child = node.find(name);
      if (!child) child = node.additional;
      if (child) {
        check(*child, value, member_place(path, name));
      } else if (node.no_additional) {
        invalid_body(path, Value(name), "is a forbidden property");
      }
    }
  }

  [[nodiscard]] static bool fits(const SchemaNode& node, const Value& value,
                                 const std::string& path) {
    std::vector<Cause> causes;
    Validator(causes).check(node, value, path);
    return causes.empty();
  }

  void check_combinations(const SchemaNode& node, const Value& value, const std::string& path) {
    const std::size_t before = causes_.size();
    for (const auto& one : node.all_of) check(*one, value, path);
    if (causes_.size() > before) combined(value, path, "must validate all the schemas (allOf)");
    const auto fitting = [&](const std::vector<SchemaNode::Ptr>& list) {
      return std::ranges::count_if(list, [&](const auto& one) { return fits(*one, value, path); });
    };
    if (!node.any_of.empty() && fitting(node.any_of) == 0) {
      combined(value, path, "must validate at least one schema (anyOf)");
      check(*node.any_of.front(), value, path);
    }
    const auto fit = node.one_of.empty() ? 1 : fitting(node.one_of);
    if (fit != 1) combined(value, path, "must validate one and only one schema (oneOf)");
    if (fit == 0) check(*node.one_of.front(), value, path);
    if (node.none_of && fits(*node.none_of, value, path)) {
      combined(value, path, "must not validate the schema (not)");
    }
  }

  /// The API server names no field for these.
  void combined(const Value& value, const std::string& path, std::string_view what) {
    add("FieldValueInvalid", "",
        fmt::format("Invalid value: {}: {} in body {}", shown(value), path, what));
  }

  std::vector<Cause>& causes_;
};

bool spoils_rules(const Cause& cause) {
  static constexpr std::array<std::string_view, 5> kReasons = {
      "FieldValueRequired", "FieldValueNotSupported", "FieldValueTypeInvalid", "FieldValueTooLong",
      "FieldValueTooMany"};
  return std::ranges::find(kReasons, cause.reason) != kReasons.end();
}

bool has_rules(const SchemaNode& node) {
  const auto below = [](const SchemaNode::Ptr& child) { return child && has_rules(*child); };
  return !node.rules.empty() || below(node.items) || below(node.additional) ||
         std::ranges::any_of(node.properties,
                             [&](const auto& member) { return below(member.second); });
}

}  // namespace

std::vector<Cause> StructuralSchema::validate(const Value& object, const Value* old) const {
  std::vector<Cause> causes;
  Validator(causes).check(*root_, object, "");
  // Rules read values, so those must have their types and be there at all.
  if (std::ranges::none_of(causes, spoils_rules)) {
    check_rules(*root_, object, old, "", causes);
  } else if (has_rules(*root_)) {
    causes.push_back({"FieldValueInvalid", "",
                      "Invalid value: null: some validation rules were not checked because the "
                      "object was invalid; correct the existing errors to complete validation"});
  }
  for (Cause& cause : causes) {
    if (cause.field.empty()) cause.field = "<nil>";
  }
  return causes;
}

}  // namespace kollect::sandbox
