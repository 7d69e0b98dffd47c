#include "manager/object_cache.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace kollect::manager {

namespace {

std::optional<std::uint64_t> version_of(const base::json::Value& manifest) {
  const base::json::Value* version = manifest.at_path({"metadata", "resourceVersion"});
  if (version == nullptr || !version->is_string()) return std::nullopt;
  const std::string& text = version->as_string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool is_newer(const base::json::Value& manifest, const base::json::Value& than) {
  const auto one = version_of(manifest);
  const auto other = version_of(than);
  return !one || !other || *one > *other;
}

base::json::Value without_status(const base::json::Value& manifest) {
  base::json::Value copy = manifest;
  if (!copy.is_object()) return copy;
  copy.as_object().erase("status");
  if (base::json::Value* metadata = copy.find("metadata");
      metadata != nullptr && metadata->is_object()) {
    metadata->as_object().erase("resourceVersion");
    metadata->as_object().erase("managedFields");
  }
  return copy;
}

kube::Resource resource_of(const std::string& kind) {
  const api::KindInfo* info = api::find_kind(kind);
  return {.group = api::kGroup,
          .version = api::kVersion,
          .kind = kind,
          .plural = info->plural,
          .namespaced = info->namespaced,
          .verbs = {"get", "list", "watch"}};
}

}  // namespace kollect::manager
