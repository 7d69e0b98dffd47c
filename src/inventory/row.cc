#include "inventory/row.h"

#include "base/json/write.h"

namespace kollect::inventory {
namespace {

void append_member(std::string& out, std::string_view quoted_key, std::string_view value) {
  out += quoted_key;
  base::json::append_string(out, value);
}

}  // namespace

void append_row_json(std::string& out, const RowView& row) {
  append_member(out, "{\"targetNamespace\":", row.target_namespace);
  append_member(out, ",\"targetName\":", row.target_name);
  append_member(out, ",\"namespace\":", row.ns);
  append_member(out, ",\"name\":", row.name);
  if (!row.group.empty()) append_member(out, ",\"group\":", row.group);
  append_member(out, ",\"version\":", row.version);
  append_member(out, ",\"kind\":", row.kind);
  append_member(out, ",\"uid\":", row.uid);
  out += ",\"attributes\":";
  out += row.attributes.empty() ? std::string_view("{}") : row.attributes;
  out += '}';
}

}  // namespace kollect::inventory
