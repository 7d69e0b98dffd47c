// Schema validation with the results of a Kubernetes API server (spec: crds 2.2 step 4, 2.3).
#include "api/validate.h"

#include <algorithm>
#include <memory>
#include <set>

#include "api/describe.h"
#include "api/formats.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::api {

namespace {

using base::json::Object;
using base::json::Value;

class Validator {
 public:
  explicit Validator(std::vector<SchemaError>& errors) : errors_(errors) {}

  void check(const Schema& schema, const Value& value, const std::string& path) {
    if (schema.object_or_name && !value.is_object()) {
      if (value.is_string() && value.as_string().empty()) {
        add(path, "Invalid", "must not be empty");
      }
      return;  // any other type passes the schema and is refused by the rules (spec: crds 9 D2)
    }
    switch (schema.type) {
      case Schema::Type::kString:
        check_string(schema, value, path);
        break;
      case Schema::Type::kInteger:
        check_integer(schema, value, path);
        break;
      case Schema::Type::kBoolean:
        if (!value.is_bool()) {
          wrong_type(path, "boolean", value);
        }
        break;
      case Schema::Type::kArray:
        check_array(schema, value, path);
        break;
      case Schema::Type::kObject:
        check_object(schema, value, path);
        break;
      case Schema::Type::kStringMap:
        check_map(value, path);
        break;
    }
  }

 private:
  void add(const std::string& path, const char* kind, std::string message) {
    errors_.push_back({path, kind, std::move(message)});
  }

  void wrong_type(const std::string& path, const char* wanted, const Value& value) {
    add(path, "Invalid", fmt::format("must be of type {}, got {}", wanted, value.type_name()));
  }

  void check_string(const Schema& schema, const Value& value, const std::string& path) {
    if (!value.is_string()) {
      wrong_type(path, "string", value);
      return;
    }
    const std::string& text = value.as_string();
    if (!schema.enums.empty() &&
        std::find(schema.enums.begin(), schema.enums.end(), text) == schema.enums.end()) {
      std::string supported;
      for (const std::string& one : schema.enums) {
        supported += fmt::format("{}\"{}\"", supported.empty() ? "" : ", ", one);
      }
      add(path, "NotSupported",
          fmt::format("\"{}\" is not supported; supported values: {}", text, supported));
    }
    const auto length = static_cast<std::int64_t>(count_code_points(text));
    if (schema.max_length && length > *schema.max_length) {
      add(path, "TooLong",
          fmt::format("may not be longer than {} characters, has {}", *schema.max_length, length));
    }
    if (schema.min_length && length < *schema.min_length) {
      add(path, "Invalid", fmt::format("must have at least {} characters", *schema.min_length));
    }
    if (!schema.pattern.empty() && !matches_pattern(schema.pattern, text)) {
      add(path, "Invalid", fmt::format("\"{}\" does not match {}", text, schema.pattern));
    }
    if (!schema.format.empty() && !matches_format(schema.format, text)) {
      add(path, "Invalid", fmt::format("must be of format {}", schema.format));
    }
  }

  void check_integer(const Schema& schema, const Value& value, const std::string& path) {
    const auto number = as_integer(value);
    if (!number) {
      wrong_type(path, "integer", value);
      return;
    }
    if (schema.minimum && *number < *schema.minimum) {
      add(path, "Invalid", fmt::format("must be at least {}, is {}", *schema.minimum, *number));
    }
    if (schema.maximum && *number > *schema.maximum) {
      add(path, "Invalid", fmt::format("must be at most {}, is {}", *schema.maximum, *number));
    }
    if (schema.format == "int32" && (*number < INT32_MIN || *number > INT32_MAX)) {
      add(path, "Invalid", "must fit 32 bits");
    }
  }

  void check_array(const Schema& schema, const Value& value, const std::string& path) {
    if (!value.is_array()) {
      wrong_type(path, "array", value);
      return;
    }
    const auto& items = value.as_array();
    if (schema.max_items && static_cast<std::int64_t>(items.size()) > *schema.max_items) {
      add(path, "TooMany",
          fmt::format("must have at most {} items, has {}", *schema.max_items, items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      check(*schema.items, items[i], fmt::format("{}[{}]", path, i));
    }
    check_duplicates(schema, value, path);
  }

  void check_duplicates(const Schema& schema, const Value& list, const std::string& path) {
    if (schema.list_type != Schema::ListType::kSet && schema.list_type != Schema::ListType::kMap) {
      return;
    }
    const bool by_key = schema.list_type == Schema::ListType::kMap;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.as_array().size(); ++i) {
      const Value& item = list.as_array()[i];
      const Value* key = by_key ? item.find(schema.map_key) : &item;
      if (key == nullptr) {
        continue;  // reported as a missing member
      }
      std::string text = base::json::canonical(*key);
      if (!seen.insert(text).second) {
        add(fmt::format("{}[{}]", path, i), "Duplicate",
            by_key ? fmt::format("{} {} stands twice", schema.map_key, text)
                   : fmt::format("{} stands twice", text));
      }
    }
  }

  void check_object(const Schema& schema, const Value& value, const std::string& path) {
    if (!value.is_object()) {
      wrong_type(path, "object", value);
      return;
    }
    for (const Property& property : schema.properties) {
      const std::string at = path.empty() ? property.name : path + "." + property.name;
      const Value* member = value.find(property.name);
      if (member != nullptr) {
        check(property.schema, *member, at);
      } else if (property.is_required) {
        add(at, "Required", "must be given");
      }
    }
  }

  void check_map(const Value& value, const std::string& path) {
    if (!value.is_object()) {
      wrong_type(path, "object", value);
      return;
    }
    for (const auto& [key, entry] : value.as_object()) {
      if (!entry.is_string()) {
        wrong_type(fmt::format("{}[{}]", path, key), "string", entry);
      }
    }
  }

  std::vector<SchemaError>& errors_;
};

}  // namespace

void validate(const Schema& schema, const Value& value, const std::string& path,
              std::vector<SchemaError>& errors) {
  Validator(errors).check(schema, value, path);
}

std::vector<SchemaError> validate_schema(std::string_view kind, const Value& object) {
  std::vector<SchemaError> errors;
  const KindDescription* description = find_description(kind);
  if (description == nullptr) {
    errors.push_back({"kind", "NotSupported", fmt::format("{} is no kind of {}", kind, kGroup)});
    return errors;
  }
  validate(description->root, object, "", errors);
  std::stable_sort(errors.begin(), errors.end(),
                   [](const SchemaError& a, const SchemaError& b) { return a.path < b.path; });
  return errors;
}

}  // namespace kollect::api
