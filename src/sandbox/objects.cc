#include "sandbox/objects.h"

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::sandbox {

using base::json::Object;
using base::json::Value;

Object* ensure_object(Value& parent, std::string_view key) {
  if (!parent.is_object()) return nullptr;
  Value& member = parent.as_object()[key];
  if (member.is_null()) member = Object{};
  return member.is_object() ? &member.as_object() : nullptr;
}

Object& metadata_of(Value& object) {
  if (!object.is_object()) object = Object{};
  Value& metadata = object.as_object()["metadata"];
  if (!metadata.is_object()) metadata = Object{};
  return metadata.as_object();
}

std::string_view metadata_text(const Value& object, std::string_view key) {
  const Value* metadata = object.find("metadata");
  return metadata == nullptr ? std::string_view{} : metadata->text(key);
}

std::vector<std::string> metadata_strings(const Value& object, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = object.at_path({"metadata", key});
  if (list == nullptr || !list->is_array()) return out;
  for (const Value& item : list->as_array()) {
    if (item.is_string()) out.push_back(item.as_string());
  }
  return out;
}

Body to_body(Value object) {
  Object ordered;
  Object& metadata = metadata_of(object);
  metadata.erase("resourceVersion");
  for (const char* key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Value* member = metadata.find(key);
    if (member != nullptr &&
        (member->is_null() || (member->is_object() && member->as_object().empty()) ||
         (member->is_array() && member->as_array().empty()))) {
      metadata.erase(key);
    }
  }
  // A name stands in every metadata, so it is never empty.
  ordered.set("metadata", std::move(metadata));
  for (auto& [key, value] : object.as_object()) {
    if (key != "apiVersion" && key != "kind" && key != "metadata")
      ordered.set(key, std::move(value));
  }
  constexpr std::string_view kStart = "{\"metadata\":{";
  std::string text;
  base::json::append_compact(text, Value(std::move(ordered)));
  return Body(text.substr(kStart.size()));
}

void append_manifest(std::string& out, const Served& served, std::uint64_t rv, const Body& body,
                     bool typed) {
  out += '{';
  if (typed) {
    out += "\"kind\":\"";
    out += served.kind;
    out += "\",\"apiVersion\":\"";
    out += served.api_version();
    out += "\",";
  }
  body.append(out, rv);
}

std::string manifest_text(const Served& served, const Entry& entry) {
  std::string out;
  append_manifest(out, served, entry.rv, entry.body);
  return out;
}

Value to_manifest(const Served& served, const Entry& entry) {
  const auto document = base::json::Document::parse(manifest_text(served, entry));
  return document ? base::json::to_value(document->root()) : Value();
}

std::string make_key(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

}  // namespace kollect::sandbox
