#include "sandbox/definitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "sandbox/objects.h"
#include "sandbox/schema.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

const Array& list_at(const Value& value, std::initializer_list<std::string_view> path) {
  static const Array kNone;
  const Value* found = value.at_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

std::vector<std::string> strings_at(const Value& value,
                                    std::initializer_list<std::string_view> path) {
  std::vector<std::string> out;
  for (const Value& one : list_at(value, path)) {
    if (one.is_string()) out.push_back(one.as_string());
  }
  return out;
}

bool flag_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && found->is_bool() && found->as_bool();
}

std::vector<Column> columns_of(const Value& version) {
  std::vector<Column> out;
  for (const Value& one : list_at(version, {"additionalPrinterColumns"})) {
    Column column;
    column.name = one.text("name");
    column.type = one.text("type");
    column.format = one.text("format");
    column.description = one.text("description");
    column.json_path = one.text("jsonPath");
    const Value* priority = one.find("priority");
    if (priority != nullptr && priority->is_int()) {
      column.priority = static_cast<int>(priority->as_int());
    }
    out.push_back(std::move(column));
  }
  return out;
}

void set_condition(Array& conditions, const std::string& type, const std::string& reason,
                   const std::string& message, const std::string& now) {
  Object condition;
  condition.set("type", type);
  condition.set("status", "True");
  condition.set("lastTransitionTime", now);
  condition.set("reason", reason);
  condition.set("message", message);
  conditions.emplace_back(std::move(condition));
}

}  // namespace

void default_definition(Value& definition) {
  Object* spec = ensure_object(definition, "spec");
  if (spec == nullptr) return;
  Value spec_value(*spec);
  if (Object* names = ensure_object(spec_value, "names")) {
    const Value* kind = names->find("kind");
    const std::string text = kind != nullptr && kind->is_string() ? kind->as_string() : "";
    if (!names->contains("singular")) names->set("singular", base::to_lower(text));
    if (!names->contains("listKind")) names->set("listKind", text + "List");
  }
  if (!spec_value.as_object().contains("conversion")) {
    Object conversion;
    conversion.set("strategy", "None");
    spec_value.as_object().set("conversion", std::move(conversion));
  }
  *spec = std::move(spec_value.as_object());
}

std::vector<Cause> check_definition(const Value& definition) {
  std::vector<Cause> causes;
  const auto required = [&](const char* field, std::string_view text) {
    if (text.empty()) causes.push_back({"FieldValueRequired", field, "Required value"});
  };
  const Value* spec = definition.find("spec");
  const Value none;
  const Value& s = spec != nullptr ? *spec : none;
  const std::string group(s.text("group"));
  const Value* names = s.find("names");
  const Value& n = names != nullptr ? *names : none;
  required("spec.group", group);
  required("spec.names.plural", n.text("plural"));
  required("spec.names.kind", n.text("kind"));
  const std::string wanted = fmt::format("{}.{}", n.text("plural"), group);
  const std::string_view name = metadata_text(definition, "name");
  if (name != wanted) {
    causes.push_back(
        {"FieldValueInvalid", "metadata.name",
         fmt::format("Invalid value: \"{}\": must be spec.names.plural+\".\"+spec.group", name)});
  }
  const std::string_view scope = s.text("scope");
  required("spec.scope", scope);
  if (!scope.empty() && scope != "Namespaced" && scope != "Cluster") {
    causes.push_back({"FieldValueNotSupported", "spec.scope",
                      fmt::format("Unsupported value: \"{}\": supported values: \"Cluster\", "
                                  "\"Namespaced\"",
                                  scope)});
  }
  const Array& versions = list_at(s, {"versions"});
  const auto stored = std::ranges::count_if(
      versions, [](const Value& version) { return flag_at(version, "storage"); });
  if (stored != 1) {
    causes.push_back({"FieldValueInvalid", "spec.versions",
                      "Invalid value: must have exactly one version marked as storage version"});
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string place = fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    const Value* schema = versions[i].at_path({"schema", "openAPIV3Schema"});
    if (schema == nullptr || !schema->is_object()) {
      causes.push_back({"FieldValueRequired", place, "Required value: schemas are required"});
      continue;
    }
    auto compiled = StructuralSchema::compile(*schema, place);
    if (!compiled) {
      causes.insert(causes.end(), compiled.error().begin(), compiled.error().end());
    }
  }
  return causes;
}

std::vector<ServedPtr> served_by(const Value& definition) {
  std::vector<ServedPtr> out;
  const Value* spec = definition.find("spec");
  if (spec == nullptr) return out;
  const Value* names = spec->find("names");
  std::string storage;
  for (const Value& version : list_at(*spec, {"versions"})) {
    if (flag_at(version, "storage")) storage = version.text("name");
  }
  for (const Value& version : list_at(*spec, {"versions"})) {
    const Value* schema = version.at_path({"schema", "openAPIV3Schema"});
    if (!flag_at(version, "served") || names == nullptr || schema == nullptr) continue;
    auto compiled = StructuralSchema::compile(*schema, "");
    if (!compiled) continue;
    auto served = std::make_shared<Served>();
    served->group = spec->text("group");
    served->version = version.text("name");
    served->plural = names->text("plural");
    served->singular = names->text("singular");
    served->kind = names->text("kind");
    served->list_kind = names->text("listKind");
    served->short_names = strings_at(*names, {"shortNames"});
    served->categories = strings_at(*names, {"categories"});
    served->namespaced = spec->text("scope") == "Namespaced";
    served->custom = true;
    served->has_status = version.at_path({"subresources", "status"}) != nullptr;
    served->counts_generation = true;
    served->storage_version = storage;
    served->columns = columns_of(version);
    for (const Value& field : list_at(version, {"selectableFields"})) {
      const std::string_view path = field.text("jsonPath");
      served->selectable.emplace_back(path.substr(path.starts_with('.') ? 1 : 0));
    }
    served->schema = std::make_shared<const StructuralSchema>(std::move(*compiled));
    served->open_api = *schema;
    out.push_back(std::move(served));
  }
  return out;
}

bool establish(Value& definition, const std::string& now) {
  const Value* spec = definition.find("spec");
  if (spec == nullptr) return false;
  const Value* names = spec->find("names");
  const Value accepted = names != nullptr ? *names : Value(Object{});
  Value old = definition.find("status") != nullptr ? *definition.find("status") : Value(Object{});
  Value status = old;
  if (!status.is_object()) status = Object{};
  Object& members = status.as_object();
  members.set("acceptedNames", accepted);
  Array stored = list_at(status, {"storedVersions"});
  for (const Value& version : list_at(*spec, {"versions"})) {
    const Value name(version.text("name"));
    if (flag_at(version, "storage") && std::ranges::find(stored, name) == stored.end()) {
      stored.push_back(name);
    }
  }
  members.set("storedVersions", std::move(stored));
  if (list_at(status, {"conditions"}).empty()) {
    Array conditions;
    set_condition(conditions, "NamesAccepted", "NoConflicts", "no conflicts found", now);
    set_condition(conditions, "Established", "InitialNamesAccepted",
                  "the initial names have been accepted", now);
    members.set("conditions", std::move(conditions));
  }
  if (status == old) return false;
  definition.as_object().set("status", std::move(status));
  return true;
}

}  // namespace kollect::sandbox
