#include "sinks/files/folder_manifest.h"

#include <algorithm>

#include "base/json/document.h"
#include "base/json/write.h"
#include "sinks/layout/path_template.h"

namespace kollect::sinks {

namespace {
namespace json = base::json;
constexpr std::string_view kKind = "KollectFolderManifest";
constexpr std::string_view kVersion = "kollect.dev/v1alpha1";
}  // namespace

FolderManifest FolderManifest::parse(std::string_view text) {
  FolderManifest out;
  const auto document = json::Document::parse(text);
  if (!document.has_value() || document->root().text("kind") != kKind) return out;
  const auto exports = document->root().find("exports");
  if (!exports) return out;
  for (const auto entry : exports->items()) {
    Key key{std::string(entry.text("cluster")),
            {std::string(entry.text("namespace")), std::string(entry.text("name"))}};
    auto& paths = out.entries[key];
    const auto listed = entry.find("paths");
    if (!listed) continue;
    for (const auto path : listed->items()) {
      if (!path.is_string()) continue;
      // What somebody wrote into the list must not make us remove files elsewhere.
      const auto checked = check_path(path.as_string(), {});
      if (checked.has_value() && checked->path == path.as_string()) paths.insert(checked->path);
    }
  }
  return out;
}

std::string FolderManifest::text() const {
  json::Array exports;
  for (const auto& [key, paths] : entries) {
    json::Object entry;
    entry.set("cluster", key.cluster);
    entry.set("namespace", key.inventory.ns);
    entry.set("name", key.inventory.name);
    json::Array listed;
    for (const auto& path : paths) listed.emplace_back(path);
    entry.set("paths", std::move(listed));
    exports.emplace_back(std::move(entry));
  }
  json::Object root;
  root.set("kind", kKind);
  root.set("schemaVersion", kVersion);
  root.set("exports", std::move(exports));
  return json::pretty(json::Value(std::move(root)));
}

bool FolderManifest::owned_by_other(const Key& key, std::string_view path) const {
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.first != key && entry.second.contains(path);
  });
}

}  // namespace kollect::sinks
