#include "readapi/item.h"

#include <algorithm>

#include "base/json/write.h"
#include "inventory/row.h"
#include "readapi/query.h"

namespace kollect::readapi {
namespace {

void append_member(std::string& out, std::string_view key, std::string_view value) {
  if (out.back() != '{') out += ',';
  base::json::append_string(out, key);
  out += ':';
  base::json::append_string(out, value);
}

void append_origin(std::string& out, const SourceRow& row) {
  if (!row.cluster.empty()) append_member(out, "cluster", row.cluster);
  if (!row.inventory_namespace.empty()) {
    append_member(out, "inventoryNamespace", row.inventory_namespace);
  }
  if (!row.inventory.empty()) append_member(out, "inventory", row.inventory);
  if (!row.exported_at.empty()) append_member(out, "exportedAt", row.exported_at);
}

/// Of a column that is a text of the row; none for attributes.
std::optional<std::string_view> plain_column(const SourceRow& row, std::string_view column) {
  if (column == "namespace") return row.row.ns;
  if (column == "name") return row.row.name;
  if (column == "kind") return row.row.kind;
  if (column == "uid") return row.row.uid;
  if (column == "group") return row.row.group;
  if (column == "version") return row.row.version;
  if (column == "targetNamespace") return row.row.target_namespace;
  if (column == "targetName") return row.row.target_name;
  if (column == "cluster") return row.cluster;
  if (column == "inventoryNamespace") return row.inventory_namespace;
  if (column == "inventory") return row.inventory;
  if (column == "exportedAt") return row.exported_at;
  return std::nullopt;
}

/// Members that an item leaves out when they are empty.
bool may_lack(std::string_view column) {
  return column == "group" || column == "cluster" || column == "inventoryNamespace" ||
         column == "inventory" || column == "exportedAt";
}

}  // namespace

ItemWriter::ItemWriter(std::vector<std::string> fields) : fields_(std::move(fields)) {
  for (const std::string& field : fields_) {
    if (const auto attribute = attribute_of(field)) attributes_.emplace_back(*attribute);
    if (field == "attributes") all_attributes_ = true;
  }
}

bool ItemWriter::plain(const SourceRow& row) const {
  return fields_.empty() && row.cluster.empty() && row.inventory_namespace.empty() &&
         row.inventory.empty() && row.exported_at.empty();
}

void ItemWriter::append(std::string& out, const SourceRow& row) {
  if (fields_.empty()) {
    inventory::append_row_json(out, row.row);
    out.pop_back();
    append_origin(out, row);
    out += '}';
    return;
  }
  out += '{';
  for (const std::string& field : fields_) append_field(out, row, field);
  if (!all_attributes_ && !attributes_.empty()) {
    if (out.back() != '{') out += ',';
    out += "\"attributes\":{";
    bool first = true;
    if (document_.reparse_borrowed(row.row.attributes)) {
      for (const std::string& name : attributes_) {
        const auto value = document_.root().find(name);
        if (!value) continue;
        if (!first) out += ',';
        first = false;
        base::json::append_string(out, name);
        out += ':';
        base::json::append_canonical(out, *value);
      }
    }
    out += '}';
  }
  out += '}';
}

void ItemWriter::append_field(std::string& out, const SourceRow& row, const std::string& field) {
  if (field == "attributes") {
    if (out.back() != '{') out += ',';
    out += "\"attributes\":";
    out += row.row.attributes.empty() ? std::string_view("{}") : row.row.attributes;
    return;
  }
  const auto text = plain_column(row, field);
  if (text && (!text->empty() || !may_lack(field))) append_member(out, field, *text);
}

void ColumnReader::at(const SourceRow& row) {
  row_ = &row;
  parsed_ = false;
}

std::optional<base::json::View> ColumnReader::attributes() {
  if (!parsed_) {
    parsed_ = true;
    sound_ = !row_->row.attributes.empty() &&
             document_.reparse_borrowed(row_->row.attributes).has_value() &&
             document_.root().is_object();
  }
  return sound_ ? std::optional(document_.root()) : std::nullopt;
}

std::optional<base::json::View> ColumnReader::attribute(std::string_view name) {
  const auto all = attributes();
  return all ? all->find(name) : std::nullopt;
}

std::string_view ColumnReader::text(std::string_view column) {
  if (const auto plain = plain_column(*row_, column)) return *plain;
  if (column == "attributes") {
    return row_->row.attributes.empty() ? std::string_view("{}") : row_->row.attributes;
  }
  const auto name = attribute_of(column);
  const auto value = name ? attribute(*name) : std::nullopt;
  if (!value) return {};
  if (value->is_string()) return value->as_string();
  text_.clear();
  base::json::append_canonical(text_, *value);
  return text_;
}

}  // namespace kollect::readapi
