#include "sandbox/openapi.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::string_view kRoot = "/openapi/v3";

/// "api/v1", "apis/apps/v1".
std::string place_of(const std::string& group, const std::string& version) {
  return group.empty() ? "api/" + version : fmt::format("apis/{}/{}", group, version);
}

Value kind_reference(const Served& served) {
  Object out;
  out.set("group", served.group);
  out.set("version", served.version);
  out.set("kind", served.kind);
  return out;
}

/// "dev.kollect.v1alpha1.KollectProfile": the reversed group, as CRDs are published.
std::string schema_name(const Served& served) {
  std::string out;
  for (const auto part : base::split(served.group, '.')) {
    if (!part.empty()) out = out.empty() ? std::string(part) : fmt::format("{}.{}", part, out);
  }
  return fmt::format("{}{}{}.{}", out.empty() ? "core" : out, ".", served.version, served.kind);
}

Array query_parameters() {
  Array out;
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"}) {
    Object type;
    type.set("type", std::string_view(name) == "force" ? "boolean" : "string");
    Object one;
    one.set("name", name);
    one.set("in", "query");
    one.set("schema", std::move(type));
    out.emplace_back(std::move(one));
  }
  return out;
}

Value patch_operation(const Served& served) {
  Object content;
  // Only this one: for strategic merges kubectl uses what it knows of the built-in kinds.
  content.set("application/merge-patch+json", Object{});
  Object body;
  body.set("content", std::move(content));
  Object ok;
  ok.set("description", "OK");
  Object responses;
  responses.set("200", std::move(ok));
  Object out;
  out.set("parameters", query_parameters());
  out.set("requestBody", std::move(body));
  out.set("responses", std::move(responses));
  out.set("x-kubernetes-action", "patch");
  out.set("x-kubernetes-group-version-kind", kind_reference(served));
  return out;
}

Value schema_of(const Served& served) {
  Value schema = served.open_api;
  if (!schema.is_object()) {
    Object open;
    open.set("type", "object");
    open.set("x-kubernetes-preserve-unknown-fields", true);
    schema = std::move(open);
  }
  schema.as_object().set("x-kubernetes-group-version-kind", Array{kind_reference(served)});
  return schema;
}

Value index(const Catalog& catalog) {
  Object paths;
  for (const std::string& group : catalog.groups()) {
    for (const std::string& version : catalog.versions(group)) {
      std::string content;
      for (const ServedPtr& served : catalog.all()) {
        if (served->group == group && served->version == version) {
          content += served->kind + base::json::compact(served->open_api);
        }
      }
      const std::string place = place_of(group, version);
      Object one;
      one.set("serverRelativeURL",
              fmt::format("{}/{}?hash={:016X}", kRoot, place, base::xxh64(content)));
      paths.set(place, std::move(one));
    }
  }
  Object out;
  out.set("paths", std::move(paths));
  return out;
}

std::optional<Value> document(const Catalog& catalog, std::string_view place) {
  Object paths;
  Object schemas;
  for (const ServedPtr& served : catalog.all()) {
    if (place_of(served->group, served->version) != place) continue;
    schemas.set(schema_name(*served), schema_of(*served));
    if (served->create_only) continue;
    Object operations;
    operations.set("patch", patch_operation(*served));
    paths.set(fmt::format("/{}/{}{}/{{name}}", place,
                          served->namespaced ? "namespaces/{namespace}/" : "", served->plural),
              std::move(operations));
  }
  if (schemas.empty()) return std::nullopt;
  Object info;
  info.set("title", "Kubernetes");
  info.set("version", "v1");
  Object components;
  components.set("schemas", std::move(schemas));
  Object out;
  out.set("openapi", "3.0.0");
  out.set("info", std::move(info));
  out.set("paths", std::move(paths));
  out.set("components", std::move(components));
  return Value(std::move(out));
}

}  // namespace

std::optional<http::Answer> open_api(const http::ServerRequest& request, const Catalog& catalog) {
  const std::string_view path = request.path;
  if (request.method != "GET" || !path.starts_with(kRoot)) return std::nullopt;
  if (path == kRoot) return http::Answer::json(200, base::json::compact(index(catalog)) + "\n");
  if (path.size() <= kRoot.size() + 1) return std::nullopt;
  const auto found = document(catalog, path.substr(kRoot.size() + 1));
  if (!found) return std::nullopt;
  return http::Answer::json(200, base::json::compact(*found) + "\n");
}

}  // namespace kollect::sandbox
