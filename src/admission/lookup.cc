#include "admission/lookup.h"

#include "api/codec.h"

namespace kollect::admission {

namespace {

using base::json::Value;

std::string_view metadata_text(const Value& object, std::string_view key) {
  const Value* metadata = object.find("metadata");
  return metadata == nullptr ? std::string_view() : metadata->text(key);
}

/// Objects without a namespace live in "default" (spec: pipeline L-47).
std::string_view namespace_of(const Value& object) {
  const std::string_view ns = metadata_text(object, "namespace");
  return ns.empty() ? "default" : ns;
}

/// The object of a kind whose name sorts first among those that `fits` takes.
template <class Fits>
const Value* first_by_name(const std::vector<Value>& existing, std::string_view kind,
                           const Fits& fits) {
  const Value* first = nullptr;
  for (const Value& object : existing) {
    if (object.text("kind") != kind || object.text("apiVersion") != api::kApiVersion ||
        !fits(object)) {
      continue;
    }
    if (first == nullptr || metadata_text(object, "name") < metadata_text(*first, "name")) {
      first = &object;
    }
  }
  return first;
}

template <class T>
std::optional<T> decoded(const Value* object) {
  if (object == nullptr) {
    return std::nullopt;
  }
  auto result = api::decode<T>(*object);
  return result.has_value() ? std::optional<T>(std::move(*result)) : std::nullopt;
}

}  // namespace

base::Result<std::optional<api::Profile>> ManifestLookup::profile(std::string_view ns,
                                                                  std::string_view name) const {
  return decoded<api::Profile>(first_by_name(existing_, "KollectProfile", [&](const Value& object) {
    return namespace_of(object) == ns && metadata_text(object, "name") == name;
  }));
}

base::Result<std::optional<api::Scope>> ManifestLookup::scope(std::string_view ns) const {
  return decoded<api::Scope>(first_by_name(
      existing_, "KollectScope", [&](const Value& object) { return namespace_of(object) == ns; }));
}

base::Result<std::optional<api::ClusterScope>> ManifestLookup::cluster_scope() const {
  return decoded<api::ClusterScope>(first_by_name(existing_, "KollectClusterScope",
                                                  [](const Value& /*object*/) { return true; }));
}

}  // namespace kollect::admission
