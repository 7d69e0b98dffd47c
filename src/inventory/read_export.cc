#include <fmt/format.h>

#include "base/json/write.h"
#include "base/strings.h"
#include "inventory/row_set.h"

namespace kollect::inventory {
namespace {

using base::json::View;

constexpr std::string_view kSchemaVersion = "kollect.dev/v1alpha1";

/// Text of an optional string member; older exports leave members out.
base::Result<std::string_view> text_member(View row, std::string_view key) {
  const auto value = row.find(key);
  if (!value || value->is_null()) return std::string_view();
  if (!value->is_string()) {
    return base::configuration(fmt::format("row member \"{}\" is not a string", key));
  }
  return value->as_string();
}

base::Result<View> items_of(View root) {
  if (root.is_array() || root.is_null()) return root;
  if (!root.is_object() || root.text("schemaVersion").empty()) {
    return base::configuration("neither an export envelope nor a list of rows");
  }
  if (root.text("schemaVersion") != kSchemaVersion) {
    return base::configuration(fmt::format("export of schema version {} cannot be read, only {}",
                                           root.text("schemaVersion"), kSchemaVersion));
  }
  const auto items = root.find("items");
  if (!items || (!items->is_array() && !items->is_null())) {
    return base::configuration("the export envelope has no list of items");
  }
  return *items;
}

}  // namespace

base::Result<> add_row_json(RowSet& rows, View row) {
  if (!row.is_object()) return base::configuration("a row is not an object");
  RowView view;
  KL_ASSIGN(view.target_namespace, text_member(row, "targetNamespace"));
  KL_ASSIGN(view.target_name, text_member(row, "targetName"));
  KL_ASSIGN(view.ns, text_member(row, "namespace"));
  KL_ASSIGN(view.name, text_member(row, "name"));
  KL_ASSIGN(view.group, text_member(row, "group"));
  KL_ASSIGN(view.version, text_member(row, "version"));
  KL_ASSIGN(view.kind, text_member(row, "kind"));
  KL_ASSIGN(view.uid, text_member(row, "uid"));
  std::string attributes;
  if (const auto value = row.find("attributes"); value && !value->is_null()) {
    if (!value->is_object()) return base::configuration("row member \"attributes\" is no object");
    base::json::append_canonical(attributes, *value);
  }
  view.attributes = attributes;
  rows.add(view);
  return {};
}

base::Result<RowSet> read_export(std::string_view text) {
  RowSet rows;
  if (!base::trim(text).empty()) {
    KL_ASSIGN(const base::json::Document document, base::json::Document::parse_borrowed(text));
    KL_ASSIGN(const View items, items_of(document.root()));
    for (const View row : items.items()) KL_TRY(add_row_json(rows, row));
  }
  rows.seal();
  return rows;
}

}  // namespace kollect::inventory
