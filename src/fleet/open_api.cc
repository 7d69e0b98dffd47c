#include "fleet/open_api.h"

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/strings.h"
#include "base/yaml/read.h"
#include "base/yaml/write.h"
#include "fleet/model.h"
#include "fleet/open_api_source.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

Object object_of(std::initializer_list<std::pair<const char*, Value>> members) {
  Object out;
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

Value schema_reference(std::string_view name) {
  return object_of({{"$ref", fmt::format("#/components/schemas/{}", name)}});
}

/// A word of the source.
Value word_type(std::string_view word) {
  if (word == "text") return object_of({{"type", "string"}});
  if (word == "name") {
    return object_of({{"type", "string"}, {"pattern", "\\S"}, {"description", "Not blank."}});
  }
  if (word == "bool") return object_of({{"type", "boolean"}});
  if (word == "int") return object_of({{"type", "integer"}, {"format", "int64"}});
  if (word == "int32") {
    return object_of({{"type", "integer"},
                      {"format", "int32"},
                      {"minimum", std::int64_t{INT32_MIN}},
                      {"maximum", std::int64_t{INT32_MAX}}});
  }
  if (word == "count") {
    return object_of({{"type", "integer"}, {"minimum", 0}});
  }
  if (word == "number") {
    return object_of({{"type", "integer"}, {"format", "int64"}, {"minimum", 1}});
  }
  if (word == "time") return object_of({{"type", "string"}, {"format", "date-time"}});
  if (word == "object") return object_of({{"type", "object"}});
  if (word == "any") return Object{};
  if (!word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0) {
    return schema_reference(word);
  }
  throw std::logic_error("open_api.yaml: unknown type " + std::string(word));
}

/// "text", "[X]", "{X}", "X?", "a|b".
Value type_of(std::string_view text) {
  if (text.ends_with('?')) {
    const Value inner = type_of(text.substr(0, text.size() - 1));
    Object out;
    if (inner.find("$ref") != nullptr) {
      out.set("allOf", Array{inner});
    } else {
      out = inner.as_object();
    }
    out.set("nullable", true);
    return out;
  }
  if (text.starts_with('[')) {
    return object_of({{"type", "array"}, {"items", type_of(text.substr(1, text.size() - 2))}});
  }
  if (text.starts_with('{')) {
    return object_of(
        {{"type", "object"}, {"additionalProperties", type_of(text.substr(1, text.size() - 2))}});
  }
  if (text.find('|') == std::string_view::npos) return word_type(text);
  Array words;
  for (const std::string_view word : base::split(text, '|')) words.emplace_back(word);
  return object_of({{"type", "string"}, {"enum", std::move(words)}});
}

Value schema_of(const Value& source) {
  if (source.is_string()) return type_of(source.as_string());
  Object properties;
  Array required;
  for (const auto& [member, type] : source.as_object()) {
    const bool always = member.ends_with('!');
    const std::string name = always ? member.substr(0, member.size() - 1) : member;
    if (always) required.emplace_back(name);
    properties.set(name, type_of(type.as_string()));
  }
  Object out = object_of({{"type", "object"}});
  if (!required.empty()) out.set("required", std::move(required));
  out.set("properties", std::move(properties));
  return out;
}

std::string_view schema_name(Family family) {
  switch (family) {
    case Family::kCluster:
      return "Cluster";
    case Family::kComponent:
      return "Component";
    case Family::kNamespace:
      return "Namespace";
    case Family::kRoleBinding:
      break;
  }
  return "RoleBinding";
}

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
  return text;
}

Object media(const std::string& type, Value schema) {
  return object_of({{type.c_str(), object_of({{"schema", std::move(schema)}})}});
}

/// Makes the document of the source.
class Builder {
 public:
  explicit Builder(const Value& source) : source_(source) {}

  Value build() {
    Object out;
    out.set("openapi", "3.0.3");
    out.set("info", object_of({{"title", part("title")},
                               {"version", part("version")},
                               {"description", part("description")}}));
    out.set("security", Array{object_of({{"token", Array{}}}), object_of({{"basic", Array{}}})});
    Array tags;
    for (const auto& [name, meaning] : part("tags").as_object()) {
      tags.push_back(object_of({{"name", name}, {"description", meaning}}));
    }
    out.set("tags", std::move(tags));
    for (const Value& operation : part("operations").as_array()) add(operation);
    out.set("paths", std::move(paths_));
    out.set("components", components());
    return out;
  }

 private:
  const Value& part(std::string_view name) const { return *source_.find(name); }

  Value components() const {
    Object headers;
    for (const auto& [name, meaning] : part("headers").as_object()) {
      headers.set(name, object_of({{"description", meaning}, {"schema", word_type("text")}}));
    }
    Object answers;
    for (const auto& [status, meaning] : part("errors").as_object()) {
      Object answer = object_of({{"description", meaning}});
      if (status == "304") {
        answer.set("headers", header_references({"ETag"}));
      } else {
        answer.set("content", media("application/json", schema_reference("Error")));
      }
      answers.set("E" + status, std::move(answer));
    }
    Object schemas;
    for (const auto& [name, schema] : part("schemas").as_object()) {
      schemas.set(name, schema_of(schema));
    }
    const Object token = object_of(
        {{"type", "http"},
         {"scheme", "bearer"},
         {"description",
          "An opaque token with the role reader (GET), writer (all else) or auditor (/audit)."}});
    const Object basic = object_of(
        {{"type", "http"}, {"scheme", "basic"}, {"description", "The token is the password."}});
    return object_of({{"securitySchemes", object_of({{"token", token}, {"basic", basic}})},
                      {"headers", std::move(headers)},
                      {"responses", std::move(answers)},
                      {"schemas", std::move(schemas)}});
  }

  static Object header_references(const std::vector<std::string>& names) {
    Object out;
    for (const std::string& name : names) {
      out.set(name, object_of({{"$ref", "#/components/headers/" + name}}));
    }
    return out;
  }

  /// Once for each family that the path stands for.
  void add(const Value& operation) {
    const auto& [method, path] = *operation.as_object().begin();
    const bool records = path.as_string().find("{family}") != std::string::npos;
    const bool definitions = path.as_string().find("{definitions}") != std::string::npos;
    if (!records && !definitions) return add(operation, method, path.as_string(), nullptr);
    for (const Family family : kAllFamilies) {
      if (definitions && family == Family::kCluster) continue;
      const std::string name(collection_of(family));
      add(operation, method,
          replaced(replaced(path.as_string(), "{family}", name), "{definitions}", name), &family);
    }
  }

  void add(const Value& source, const std::string& method, const std::string& path,
           const Family* family) {
    const auto text = [&](std::string_view member) {
      std::string out(source.text(member));
      if (family == nullptr) return out;
      const std::string_view name = collection_of(*family);
      out = replaced(replaced(out, "{family}", name), "{definitions}", name);
      return replaced(out, "{Record}", schema_name(*family));
    };
    Object out = object_of({{"operationId", text("name")},
                            {"tags", Array{text("tag")}},
                            {"summary", text("summary")}});
    if (!text("notes").empty()) out.set("description", text("notes"));
    const Value* open = source.find("open");
    if (open != nullptr) out.set("security", Array{});
    Array parameters = path_parameters(path);
    if (const Value* names = source.find("parameters")) {
      for (const Value& name : names->as_array()) add_parameter(parameters, name, family);
    }
    if (!parameters.empty()) out.set("parameters", std::move(parameters));
    if (!text("takes").empty()) {
      out.set("requestBody",
              object_of({{"required", true},
                         {"content", media("application/json", type_of(text("takes")))}}));
    }
    Object good = object_of({{"description", text("tells")}});
    if (const Value* headers = source.find("headers")) {
      std::vector<std::string> names;
      for (const Value& name : headers->as_array()) names.push_back(name.as_string());
      good.set("headers", header_references(names));
    }
    const std::string type = text("type").empty() ? "application/json" : text("type");
    good.set("content", media(type, type_of(text("gives"))));
    Object answers = object_of({{"200", std::move(good)}});
    std::set<std::string> errors;
    if (open == nullptr) errors = {"401", "403"};
    if (const Value* more = source.find("errors")) {
      for (const Value& status : more->as_array()) errors.insert(std::to_string(status.as_int()));
    }
    for (const std::string& status : errors) {
      answers.set(status, object_of({{"$ref", "#/components/responses/E" + status}}));
    }
    out.set("responses", std::move(answers));
    if (paths_.find(path) == nullptr) paths_.set(path, Object{});
    paths_.find(path)->as_object().set(base::to_lower(method), std::move(out));
  }

  static Array path_parameters(const std::string& path) {
    Array out;
    for (const std::string_view segment : base::split(path, '/')) {
      if (!segment.starts_with('{')) continue;
      out.push_back(object_of({{"name", segment.substr(1, segment.size() - 2)},
                               {"in", "path"},
                               {"required", true},
                               {"schema", word_type("text")}}));
    }
    return out;
  }

  /// "filters" stands for those of the family.
  void add_parameter(Array& out, const Value& name, const Family* family) const {
    if (name.as_string() == "filters") {
      const Value* filters =
          family == nullptr ? nullptr : part("filters").find(collection_of(*family));
      if (filters == nullptr) return;
      for (const Value& filter : filters->as_array()) add_parameter(out, filter, family);
      return;
    }
    const Value* known = part("parameters").find(name.as_string());
    if (known == nullptr) {
      throw std::logic_error("open_api.yaml: unknown parameter " + name.as_string());
    }
    const std::string_view place = known->text("in");
    const std::string_view other = known->text("named");
    out.push_back(object_of({{"name", other.empty() ? name.as_string() : std::string(other)},
                             {"in", place.empty() ? "query" : place},
                             {"description", known->text("is")},
                             {"schema", type_of(known->text("type"))}}));
  }

  const Value& source_;
  Object paths_;
};

}  // namespace

Value open_api() {
  const auto source = base::yaml::read_one(kOpenApiSource);
  if (!source) throw std::logic_error("open_api.yaml: " + source.error().message);
  return Builder(*source).build();
}

std::string open_api_text() {
  return base::yaml::write(open_api());
}

}  // namespace kollect::fleet
