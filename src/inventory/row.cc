#include "inventory/row.h"

#include <cassert>

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

RowView identity_of(base::json::View row) {
  return {.target_namespace = row.text("targetNamespace"),
          .target_name = row.text("targetName"),
          .ns = row.text("namespace"),
          .name = row.text("name"),
          .group = row.text("group"),
          .version = row.text("version"),
          .kind = row.text("kind"),
          .uid = row.text("uid"),
          .attributes = {}};
}

std::size_t text_bytes(const RowView& row) {
  return row.target_namespace.size() + row.target_name.size() + row.ns.size() + row.name.size() +
         row.group.size() + row.version.size() + row.kind.size() + row.uid.size() +
         row.attributes.size();
}

RowView copy_row(const RowView& row, std::string& out) {
  assert(out.capacity() - out.size() >= text_bytes(row));
  const auto copy = [&out](std::string_view text) {
    const std::size_t at = out.size();
    out += text;
    return std::string_view(out).substr(at);
  };
  return {.target_namespace = copy(row.target_namespace),
          .target_name = copy(row.target_name),
          .ns = copy(row.ns),
          .name = copy(row.name),
          .group = copy(row.group),
          .version = copy(row.version),
          .kind = copy(row.kind),
          .uid = copy(row.uid),
          .attributes = copy(row.attributes)};
}

}  // namespace kollect::inventory
