// Small helpers on manifests as values, and between them and what the store keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "base/json/value.h"
#include "sandbox/registry.h"
#include "sandbox/store.h"

namespace kollect::sandbox {

/// The member, made an empty object when it is missing or null; nullptr when it is something else.
base::json::Object* ensure_object(base::json::Value& parent, std::string_view key);
/// metadata of an object; made when missing, replaced when it is no object.
base::json::Object& metadata_of(base::json::Value& object);
/// Text of a metadata member, "" when missing.
std::string_view metadata_text(const base::json::Value& object, std::string_view key);
/// Strings of a list at metadata.`key`.
std::vector<std::string> metadata_strings(const base::json::Value& object, std::string_view key);

/// What the store keeps of a manifest: without type and resourceVersion, metadata first.
Body to_body(base::json::Value object);
/// The whole manifest: type as served, resourceVersion in its metadata.
base::json::Value to_manifest(const Served& served, const Entry& entry);
/// The same as text, appended. `typed` false: without kind and apiVersion, as items of built-in
/// lists are.
void append_manifest(std::string& out, const Served& served, std::uint64_t rv, const Body& body,
                     bool typed = true);
std::string manifest_text(const Served& served, const Entry& entry);

/// "ns/name" or "name".
std::string make_key(std::string_view ns, std::string_view name);

}  // namespace kollect::sandbox
