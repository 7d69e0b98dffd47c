#include "sandbox/discovery.h"

#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

Object typed(std::string_view kind, std::string_view version) {
  Object out;
  out.set("kind", kind);
  out.set("apiVersion", version);
  return out;
}

Array strings(const std::vector<std::string>& list) {
  Array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

Array verbs_of(const Served& served) {
  if (served.create_only) return Array{"create"};
  if (served.custom) {
    return Array{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  }
  return Array{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

struct Subresource {
  std::string name;
  std::string group;
  std::string version;
  std::string kind;
  Array verbs;
};

std::vector<Subresource> subresources_of(const Served& served) {
  std::vector<Subresource> out;
  if (served.has_status) {
    out.push_back(
        {"status", served.group, served.version, served.kind, Array{"get", "patch", "update"}});
  }
  if (served.has_scale) {
    out.push_back({"scale", "autoscaling", "v1", "Scale", Array{"get", "patch", "update"}});
  }
  return out;
}

Value version_info() {
  Object out;
  out.set("major", "1");
  out.set("minor", "37");
  out.set("gitVersion", "v1.37.0+kollect.sandbox");
  out.set("gitCommit", "");
  out.set("gitTreeState", "clean");
  out.set("buildDate", "2026-01-01T00:00:00Z");
  out.set("goVersion", "");
  out.set("compiler", "g++");
  out.set("platform", "linux/amd64");
  return out;
}

// ---- plain form

Value group_value(const Catalog& catalog, const std::string& group, bool with_type) {
  Object out = with_type ? typed("APIGroup", "v1") : Object{};
  out.set("name", group);
  Array versions;
  for (const std::string& version : catalog.versions(group)) {
    Object one;
    one.set("groupVersion", group + "/" + version);
    one.set("version", version);
    versions.emplace_back(std::move(one));
  }
  Value preferred = versions.empty() ? Value() : versions.front();
  out.set("versions", std::move(versions));
  out.set("preferredVersion", std::move(preferred));
  return out;
}

Value group_list(const Catalog& catalog) {
  Object out = typed("APIGroupList", "v1");
  Array groups;
  for (const std::string& group : catalog.groups()) {
    if (!group.empty()) groups.push_back(group_value(catalog, group, false));
  }
  out.set("groups", std::move(groups));
  return out;
}

void add_resource(Array& list, const Served& served) {
  Object one;
  one.set("name", served.plural);
  one.set("singularName", served.singular);
  one.set("namespaced", served.namespaced);
  one.set("kind", served.kind);
  one.set("verbs", verbs_of(served));
  if (!served.short_names.empty()) one.set("shortNames", strings(served.short_names));
  if (!served.categories.empty()) one.set("categories", strings(served.categories));
  list.emplace_back(std::move(one));
  for (Subresource& sub : subresources_of(served)) {
    Object entry;
    entry.set("name", served.plural + "/" + sub.name);
    entry.set("singularName", "");
    entry.set("namespaced", served.namespaced);
    if (sub.group != served.group) {
      entry.set("group", sub.group);
      entry.set("version", sub.version);
    }
    entry.set("kind", sub.kind);
    entry.set("verbs", std::move(sub.verbs));
    list.emplace_back(std::move(entry));
  }
}

std::optional<Value> resource_list(const Catalog& catalog, const std::string& group,
                                   const std::string& version) {
  Object out = typed("APIResourceList", "v1");
  out.set("groupVersion", group.empty() ? version : group + "/" + version);
  Array list;
  for (const ServedPtr& served : catalog.all()) {
    if (served->group == group && served->version == version) add_resource(list, *served);
  }
  if (list.empty()) return std::nullopt;
  out.set("resources", std::move(list));
  return out;
}

// ---- aggregated form

Value response_kind(std::string_view group, std::string_view version, std::string_view kind) {
  Object out;
  out.set("group", group);
  out.set("version", version);
  out.set("kind", kind);
  return out;
}

Value aggregated_resource(const Served& served) {
  Object one;
  one.set("resource", served.plural);
  one.set("responseKind", response_kind(served.group, served.version, served.kind));
  one.set("scope", served.namespaced ? "Namespaced" : "Cluster");
  one.set("singularResource", served.singular);
  one.set("verbs", verbs_of(served));
  if (!served.short_names.empty()) one.set("shortNames", strings(served.short_names));
  if (!served.categories.empty()) one.set("categories", strings(served.categories));
  Array subs;
  for (Subresource& sub : subresources_of(served)) {
    Object entry;
    entry.set("subresource", sub.name);
    entry.set("responseKind", response_kind(sub.group, sub.version, sub.kind));
    entry.set("verbs", std::move(sub.verbs));
    subs.emplace_back(std::move(entry));
  }
  if (!subs.empty()) one.set("subresources", std::move(subs));
  return one;
}

Value aggregated(const Catalog& catalog, bool core) {
  Object out = typed("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2");
  out.set("metadata", Object{});
  Array groups;
  for (const std::string& group : catalog.groups()) {
    if (group.empty() != core) continue;
    Object metadata;
    if (!group.empty()) metadata.set("name", group);
    metadata.set("creationTimestamp", nullptr);
    Array versions;
    for (const std::string& version : catalog.versions(group)) {
      Array resources;
      for (const ServedPtr& served : catalog.all()) {
        if (served->group == group && served->version == version) {
          resources.push_back(aggregated_resource(*served));
        }
      }
      Object one;
      one.set("version", version);
      one.set("resources", std::move(resources));
      one.set("freshness", "Current");
      versions.emplace_back(std::move(one));
    }
    Object entry;
    entry.set("metadata", std::move(metadata));
    entry.set("versions", std::move(versions));
    groups.emplace_back(std::move(entry));
  }
  out.set("items", std::move(groups));
  return out;
}

http::Answer answer_of(const Value& value) {
  return http::Answer::json(200, base::json::compact(value) + "\n");
}

/// The client takes the aggregated form; others are offered behind it.
bool wants_aggregated(const http::ServerRequest& request) {
  std::string accept(request.header("accept").value_or(""));
  accept = base::replace_all(std::move(accept), " ", "");
  return accept.find(kAggregated) != std::string::npos;
}

http::Answer aggregated_answer(const Catalog& catalog, bool core) {
  http::Answer answer;
  answer.headers.emplace_back("Content-Type", std::string(kAggregated));
  answer.headers.emplace_back("Vary", "Accept");
  answer.body = base::json::compact(aggregated(catalog, core)) + "\n";
  return answer;
}

}  // namespace

std::optional<http::Answer> discover(const http::ServerRequest& request, const Catalog& catalog) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  std::string_view path = request.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/version") return answer_of(version_info());
  if (path == "/api" || path == "/apis") {
    if (wants_aggregated(request)) return aggregated_answer(catalog, path == "/api");
    if (path == "/apis") return answer_of(group_list(catalog));
    Object out = typed("APIVersions", "v1");
    out.set("versions", Array{"v1"});
    out.set("serverAddressByClientCIDRs", Array{});
    return answer_of(out);
  }
  const auto steps = base::split(path.substr(1), '/');
  std::optional<Value> found;
  if (steps.size() == 2 && steps[0] == "api") {
    found = resource_list(catalog, "", std::string(steps[1]));
  } else if (steps.size() == 2 && steps[0] == "apis") {
    const std::string group(steps[1]);
    if (!catalog.versions(group).empty()) found = group_value(catalog, group, true);
  } else if (steps.size() == 3 && steps[0] == "apis") {
    found = resource_list(catalog, std::string(steps[1]), std::string(steps[2]));
  }
  if (!found) return std::nullopt;
  return answer_of(*found);
}

}  // namespace kollect::sandbox
