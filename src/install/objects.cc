#include "install/objects.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "install/state.h"
#include "pipeline/manifest_set.h"
#include "sandbox/registry.h"

namespace kollect::install {

using base::json::Value;

namespace {

template <class T>
base::Result<> decode_into(std::vector<T>& list, const Value& manifest) {
  KL_ASSIGN(T object, api::decode<T>(manifest));
  list.push_back(std::move(object));
  return {};
}

}  // namespace

base::Result<> take(Objects& into, Value manifest) {
  const std::string kind(manifest.text("kind"));
  if (api::find_kind(kind) == nullptr) return {};
  api::prune_and_default(kind, manifest);
  if (const auto errors = api::validate_schema(kind, manifest); !errors.empty()) {
    return base::configuration(fmt::format("{}: {}", errors.front().path, errors.front().message));
  }
  if (kind == "KollectProfile") return decode_into(into.profiles, manifest);
  if (kind == "KollectTarget") return decode_into(into.targets, manifest);
  if (kind == "KollectClusterTarget") return decode_into(into.cluster_targets, manifest);
  if (kind == "KollectScope") return decode_into(into.scopes, manifest);
  if (kind == "KollectClusterScope") return decode_into(into.cluster_scopes, manifest);
  if (kind == "KollectSnapshotSink") return decode_into(into.snapshot_sinks, manifest);
  if (kind == "KollectDatabaseSink") return decode_into(into.database_sinks, manifest);
  if (kind == "KollectEventSink") return decode_into(into.event_sinks, manifest);
  return {};
}

base::Result<Files> read_files(const std::vector<std::string>& paths, std::string_view stdin_text) {
  KL_ASSIGN(pipeline::ManifestSet set, pipeline::load_manifests(paths, stdin_text));
  if (!set.problems.empty()) return base::configuration(set.problems.front().one_line());
  Files files;
  for (const pipeline::Manifest& manifest : set.ours) {
    if (const auto taken = take(files.objects, manifest.value); !taken) {
      return taken.error().with_prefix(fmt::format("{}: {}", manifest.where(), manifest.title()));
    }
  }
  for (const Value& definition : set.definitions) {
    for (kube::Resource& one : served_by(definition)) files.definitions.push_back(std::move(one));
  }
  return files;
}

std::vector<kube::Resource> served_by(const Value& definition) {
  std::vector<kube::Resource> found;
  for (const Value& version : list_at(definition, {"spec", "versions"})) {
    const Value* served = version.find("served");
    if (served != nullptr && served->is_bool() && !served->as_bool()) continue;
    found.push_back({.group = text_at(definition, {"spec", "group"}),
                     .version = std::string(version.text("name")),
                     .kind = text_at(definition, {"spec", "names", "kind"}),
                     .plural = text_at(definition, {"spec", "names", "plural"}),
                     .namespaced = text_at(definition, {"spec", "scope"}) == "Namespaced",
                     .verbs = {}});
  }
  return found;
}

base::Result<kube::Resource> find_resource(const std::vector<kube::Resource>& known,
                                           const api::GroupVersionKind& kind) {
  for (const kube::Resource& one : known) {
    if (one.group == kind.group && one.kind == kind.kind) return one;
  }
  if (const api::KindInfo* info = kind.group == api::kGroup ? api::find_kind(kind.kind) : nullptr) {
    return kube::Resource{.group = kind.group,
                          .version = kind.version,
                          .kind = kind.kind,
                          .plural = info->plural,
                          .namespaced = info->namespaced,
                          .verbs = {}};
  }
  for (const sandbox::ServedPtr& one : sandbox::builtin_kinds()) {
    if (one->group != kind.group || one->kind != kind.kind) continue;
    return kube::Resource{.group = one->group,
                          .version = one->version,
                          .kind = one->kind,
                          .plural = one->plural,
                          .namespaced = one->namespaced,
                          .verbs = {}};
  }
  return base::configuration(fmt::format(
      "the resource of {}{}{} is not known: add its CustomResourceDefinition to the files, or ask "
      "a cluster with --discover",
      kind.kind, kind.group.empty() ? "" : ".", kind.group));
}

}  // namespace kollect::install
