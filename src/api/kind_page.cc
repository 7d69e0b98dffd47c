// A page of documentation per kind: its names and a table of its fields.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "api/codec.h"
#include "api/describe.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::api {

namespace {

constexpr const char* kMade =
    "<!-- Made by `kollect crds --docs`; change the descriptions of the fields. -->\n";

/// Text in a cell of a table.
std::string cell(std::string text) {
  return base::replace_all(std::move(text), "|", "\\|");
}

bool is_label_selector(const Schema& schema) {
  return schema.properties.size() == 2 && schema.find("matchExpressions") != nullptr &&
         schema.find("matchLabels") != nullptr;
}

std::string type_of(const Schema& schema) {
  if (is_label_selector(schema)) return "label selector";
  if (schema.duration) return "duration";
  if (schema.type == Schema::Type::kStringMap) return "map of strings";
  if (schema.type != Schema::Type::kArray) return std::string(to_string(schema.type));
  if (schema.items->object_or_name) return "list of objects or names";
  return fmt::format("list of {}s", to_string(schema.items->type));
}

/// What values may be, beyond the type.
std::string bounds_of(const Schema& schema) {
  std::vector<std::string> parts;
  if (!schema.enums.empty()) parts.push_back("`" + base::join(schema.enums, "`, `") + "`");
  if (schema.minimum && schema.maximum) {
    parts.push_back(fmt::format("{} to {}", *schema.minimum, *schema.maximum));
  } else if (schema.minimum) {
    parts.push_back(fmt::format("at least {}", *schema.minimum));
  } else if (schema.maximum) {
    parts.push_back(fmt::format("at most {}", *schema.maximum));
  }
  if (schema.max_items) parts.push_back(fmt::format("at most {} items", *schema.max_items));
  if (schema.list_type == Schema::ListType::kSet) parts.emplace_back("no item twice");
  if (!schema.map_key.empty()) parts.push_back(fmt::format("one item per `{}`", schema.map_key));
  return base::join(parts, "; ");
}

void add_row(const std::string& path, const Property& property, std::string& out) {
  const Schema& schema = property.schema;
  const std::string bounds = bounds_of(schema);
  out += fmt::format(
      "| `{}` | {}{} | {} | {}{} |\n", path, type_of(schema),
      property.is_required ? ", required" : "",
      schema.default_value ? "`" + cell(base::json::canonical(*schema.default_value)) + "`" : "",
      cell(schema.doc), bounds.empty() ? "" : fmt::format(" ({})", cell(bounds)));
}

void add_rows(const Schema& schema, const std::string& prefix, std::string& out) {
  std::vector<const Property*> members;
  for (const Property& property : schema.properties) members.push_back(&property);
  std::ranges::sort(members, {}, &Property::name);
  for (const Property* property : members) {
    const std::string path = prefix + property->name;
    add_row(path, *property, out);
    // Those have the members that they have everywhere in Kubernetes.
    if (property->name == "conditions" || is_label_selector(property->schema)) continue;
    if (property->schema.items) {
      add_rows(*property->schema.items, path + "[].", out);
    } else {
      add_rows(property->schema, path + ".", out);
    }
  }
}

void add_table(const KindDescription& kind, const char* member, std::string& out) {
  const Property* property = kind.root.find(member);
  if (property == nullptr) return;
  out += fmt::format("\n## {}\n", member);
  out += "| field | type | default | |\n|---|---|---|---|\n";
  add_rows(property->schema, "", out);
}

}  // namespace

std::string kind_page(std::string_view name) {
  const KindDescription* kind = find_description(name);
  if (kind == nullptr) return {};
  const KindInfo& info = kind->info;
  std::string out = fmt::format("{}# {}\n{}\n\n", kMade, info.kind, kind->root.doc);
  out += fmt::format("`kubectl get {}`, short `{}`; {}; `apiVersion: kollect.dev/{}`.", info.plural,
                     info.short_name,
                     info.namespaced ? "in a namespace" : "of the cluster, without a namespace",
                     kVersion);
  if (info.has_status && info.kind != "KollectProfile") {
    out += " Reasons of its conditions: [conditions.md](../conditions.md).";
  }
  out += "\n";
  add_table(*kind, "spec", out);
  add_table(*kind, "status", out);
  return out;
}

std::string kinds_page() {
  std::string out = fmt::format("{}# The kinds\n| kind | short | |\n|---|---|---|\n", kMade);
  for (const KindDescription& kind : kind_descriptions()) {
    out += fmt::format("| [{}]({}.md) | `{}` | {} |\n", kind.info.kind, kind.info.singular,
                       kind.info.short_name, cell(kind.root.doc));
  }
  return out;
}

}  // namespace kollect::api
