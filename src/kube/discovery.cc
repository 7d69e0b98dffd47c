#include "kube/discovery.h"

#include <fmt/format.h>

#include <tuple>

#include "base/json/document.h"

namespace kollect::kube {

using base::json::View;

namespace {

std::vector<std::string> texts_of(std::optional<View> list) {
  std::vector<std::string> out;
  if (!list) return out;
  for (const View item : list->items()) {
    if (item.is_string()) out.emplace_back(item.as_string());
  }
  return out;
}

void add_resource(Discovery& into, Resource resource) {
  // "pods/log" and the like are subresources.
  if (resource.kind.empty() || resource.plural.empty() ||
      resource.plural.find('/') != std::string::npos) {
    return;
  }
  auto& list = resource.can("list") ? into.resources : into.not_listable;
  list.push_back(std::move(resource));
}

void add_aggregated_version(Discovery& into, const std::string& group, View version) {
  const std::string name(version.text("version"));
  into.group_versions[group].push_back(name);
  if (version.text("freshness") == "Stale") {
    into.failed_groups.emplace(
        group, base::retryable(fmt::format("the API group {} in version {} did not answer "
                                           "discovery",
                                           group, name),
                               "transient"));
  }
  const auto resources = version.find("resources");
  if (!resources) return;
  for (const View entry : resources->items()) {
    Resource resource;
    resource.group = group;
    resource.version = name;
    resource.plural = entry.text("resource");
    resource.namespaced = entry.text("scope") == "Namespaced";
    resource.verbs = texts_of(entry.find("verbs"));
    if (const auto kind = entry.find("responseKind"); kind && kind->is_object()) {
      resource.kind = kind->text("kind");
    }
    add_resource(into, std::move(resource));
  }
}

base::Result<base::json::Document> parse_object(std::string_view body) {
  auto document = base::json::Document::parse_borrowed(body);
  if (!document || !document->root().is_object()) {
    return base::retryable("discovery: the answer is not a complete JSON object", "transient");
  }
  return document;
}

}  // namespace

std::string_view aggregated_accept() {
  return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
         "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
         "application/json";
}

bool is_aggregated(std::string_view content_type) {
  return content_type.find("g=apidiscovery.k8s.io") != std::string_view::npos &&
         content_type.find("as=APIGroupDiscoveryList") != std::string_view::npos;
}

base::Result<> add_aggregated(Discovery& into, std::string_view body) {
  KL_ASSIGN(const auto document, parse_object(body));
  const auto groups = document.root().find("items");
  if (!groups) return {};
  for (const View item : groups->items()) {
    std::string group;
    if (const auto metadata = item.find("metadata"); metadata && metadata->is_object()) {
      group = metadata->text("name");
    }
    const auto versions = item.find("versions");
    if (!versions) continue;
    for (const View version : versions->items()) add_aggregated_version(into, group, version);
  }
  return {};
}

std::string GroupVersion::path() const {
  return group.empty() ? "/api/" + version : fmt::format("/apis/{}/{}", group, version);
}

base::Result<std::vector<GroupVersion>> read_group_versions(Discovery& into,
                                                            std::string_view body) {
  KL_ASSIGN(const auto document, parse_object(body));
  const View root = document.root();
  std::vector<GroupVersion> out;
  for (const std::string& version : texts_of(root.find("versions"))) {
    into.group_versions[""].push_back(version);
    out.push_back({"", version});
  }
  const auto groups = root.find("groups");
  if (!groups) return out;
  for (const View item : groups->items()) {
    const std::string group(item.text("name"));
    auto& order = into.group_versions[group];
    if (const auto preferred = item.find("preferredVersion"); preferred) {
      if (const auto name = preferred->text("version"); !name.empty()) order.emplace_back(name);
    }
    const auto versions = item.find("versions");
    if (!versions) continue;
    for (const View entry : versions->items()) {
      const std::string version(entry.text("version"));
      out.push_back({group, version});
      if (std::ranges::find(order, version) == order.end()) order.push_back(version);
    }
  }
  return out;
}

base::Result<> add_resource_list(Discovery& into, const GroupVersion& group_version,
                                 std::string_view body) {
  KL_ASSIGN(const auto document, parse_object(body));
  const auto resources = document.root().find("resources");
  if (!resources) return {};
  for (const View entry : resources->items()) {
    Resource resource;
    resource.group = group_version.group;
    resource.version = group_version.version;
    resource.plural = entry.text("name");
    resource.kind = entry.text("kind");
    const auto namespaced = entry.find("namespaced");
    resource.namespaced = namespaced && namespaced->is_bool() && namespaced->as_bool();
    resource.verbs = texts_of(entry.find("verbs"));
    add_resource(into, std::move(resource));
  }
  return {};
}

void finish_discovery(Discovery& discovery) {
  const auto key = [](const Resource& r) { return std::tie(r.group, r.version, r.kind, r.plural); };
  auto& all = discovery.resources;
  std::ranges::sort(all, {}, key);
  const auto same = [](const Resource& a, const Resource& b) {
    return std::tie(a.group, a.version, a.kind) == std::tie(b.group, b.version, b.kind);
  };
  const auto doubled = std::ranges::unique(all, same);
  all.erase(doubled.begin(), doubled.end());
}

}  // namespace kollect::kube
