#include "pipeline/run/manifest_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "pipeline/object_files.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using base::json::View;

// Our name space for made-up identities; a constant of the format, never to be changed.
constexpr std::string_view kUidNameSpace = "0f3a6c1e-7b52-5d0b-9c1f-6f0a52c3d9e4";

std::map<std::string, std::string> text_map(std::optional<View> map) {
  std::map<std::string, std::string> texts;
  if (!map) return texts;
  for (const auto& [key, value] : map->members()) {
    if (value.is_string()) texts[std::string(key)] = value.as_string();
  }
  return texts;
}

/// Collects objects of all inputs; scopes are settled at the end, when all CRDs are known.
class Reader {
 public:
  base::Result<> read(const std::string& file, std::string_view text) {
    const std::string_view trimmed = base::trim(text);
    if (trimmed.starts_with('{') && read_json(file, trimmed)) return {};
    return base::yaml::read_stream(
        text, base::yaml::limits_of_dump(text),
        [&](base::yaml::Document&& document) -> base::Result<> {
          const Document json = Document::from_value(document.value);
          add(json.root(),
              fmt::format("{}: document {}, line {}", file, document.index, document.start.line));
          return {};
        },
        [&](const base::yaml::Problem& p) {
          ++documents_;
          out_.problems.push_back(fmt::format("{}: document {}, line {}, column {}: {}", file,
                                              p.document, p.place.line, p.place.column, p.message));
        });
  }

  /// An input without a single document says nothing of a cluster: what made it has failed, or the
  /// name is wrong. A List without items says that there is nothing.
  base::Result<> demand_documents(const std::string& input) {
    if (std::exchange(documents_, 0) > 0) return {};
    return base::configuration(fmt::format(
        "{}: no manifest in it, so nothing is known of any object and nothing is changed; a List "
        "without items says that there are none",
        input));
  }

  ManifestObjects finish() {
    for (Pending& pending : pending_) settle(pending);
    for (const ManifestObject& object : out_.objects) {
      if (!object.type.namespaced) continue;
      auto [it, added] = out_.namespaces.try_emplace(object.ns);
      if (added) it->second.name = object.ns;
    }
    return std::move(out_);
  }

 private:
  struct Pending {
    ManifestObject object;
    std::string where;
  };

  /// A JSON document, or a line of JSON per document; false: left to the YAML reader.
  bool read_json(const std::string& file, std::string_view text) {
    if (const auto document = Document::parse_borrowed(text)) {
      add(document->root(), file + ": document 1, line 1");
      return true;
    }
    std::vector<Document> lines;
    for (const std::string_view line : base::split(text, '\n')) {
      if (base::trim(line).empty()) continue;
      auto document = Document::parse(line);
      if (!document) return false;
      lines.push_back(std::move(*document));
    }
    std::size_t number = 0;
    for (const Document& line : lines) {
      ++number;
      add(line.root(), fmt::format("{}: document {}, line {}", file, number, number));
    }
    return true;
  }

  void add(View object, const std::string& where) {
    ++documents_;
    const std::string_view kind = object.is_object() ? object.text("kind") : std::string_view();
    const std::string_view api_version =
        object.is_object() ? object.text("apiVersion") : std::string_view();
    if (const auto items = object.is_object() ? object.find("items") : std::nullopt;
        kind.ends_with("List") && items && items->is_array()) {
      add_items(*items, kind, api_version, where);
      return;
    }
    const auto metadata = object.is_object() ? object.find("metadata") : std::nullopt;
    if (kind.empty() || api_version.empty() || !metadata || metadata->text("name").empty()) {
      out_.problems.push_back(where +
                              ": not an object: apiVersion, kind or metadata.name is missing");
      return;
    }
    add_object(object, api_version, kind, where);
  }

  /// Elements of typed lists may leave out their type: it follows from the list's.
  void add_items(View items, std::string_view list_kind, std::string_view list_version,
                 const std::string& where) {
    const bool typed = list_kind != "List";
    const std::string_view kind = list_kind.substr(0, list_kind.size() - 4);
    std::size_t index = 0;
    for (const View item : items.items()) {
      const std::string at = fmt::format("{}, item {}", where, ++index);
      if (typed && item.is_object() && item.text("kind").empty()) {
        base::json::Value value = base::json::to_value(item);
        value.as_object().set("apiVersion", base::json::Value(list_version));
        value.as_object().set("kind", base::json::Value(kind));
        const Document completed = Document::from_value(value);
        add(completed.root(), at);
      } else {
        add(item, at);
      }
    }
  }

  void add_object(View object, std::string_view api_version, std::string_view kind,
                  const std::string& where) {
    Pending pending;
    pending.where = where;
    ManifestObject& stored = pending.object;
    const std::size_t slash = api_version.find('/');
    stored.type.group =
        slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
    stored.type.version = slash == std::string_view::npos
                              ? std::string(api_version)
                              : std::string(api_version.substr(slash + 1));
    stored.type.kind = kind;
    const View metadata = *object.find("metadata");
    stored.ns = metadata.text("namespace");
    stored.name = metadata.text("name");
    base::json::append_compact(stored.json, object);
    if (stored.type.group.empty() && kind == "Namespace") learn_namespace(metadata);
    if (stored.type.group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition") {
      learn_scope(object);
    }
    pending_.push_back(std::move(pending));
  }

  void learn_namespace(View metadata) {
    select::Namespace ns;
    ns.name = metadata.text("name");
    ns.labels = text_map(metadata.find("labels"));
    ns.annotations = text_map(metadata.find("annotations"));
    // The server sets this label on every namespace; files may lack it.
    ns.labels.try_emplace("kubernetes.io/metadata.name", ns.name);
    out_.namespaces[ns.name] = std::move(ns);
  }

  void learn_scope(View crd) {
    const auto spec = crd.find("spec");
    const auto names = spec ? spec->find("names") : std::nullopt;
    if (!names) return;
    scopes_[{std::string(spec->text("group")), std::string(names->text("kind"))}] =
        spec->text("scope") == "Namespaced";
  }

  [[nodiscard]] bool is_namespaced(const ManifestObject& object) const {
    if (const auto it = scopes_.find({object.type.group, object.type.kind}); it != scopes_.end()) {
      return it->second;
    }
    return builtin_is_namespaced(object.type.group, object.type.kind).value_or(!object.ns.empty());
  }

  void settle(Pending& pending) {
    ManifestObject& object = pending.object;
    object.type.namespaced = is_namespaced(object);
    if (!object.type.namespaced) object.ns.clear();
    if (object.type.namespaced && object.ns.empty()) {
      object.ns = "default";
      if (auto document = Document::parse(object.json)) {
        base::json::Value value = base::json::to_value(document->root());
        value.find("metadata")->as_object().set("namespace", base::json::Value("default"));
        object.json = base::json::compact(value);
      }
    }
    const auto key = std::tuple(object.type.group, object.type.kind, object.ns, object.name);
    const auto [it, added] = places_.try_emplace(key, out_.objects.size());
    if (added) {
      out_.objects.push_back(std::move(object));
      return;
    }
    out_.warnings.push_back(fmt::format("{}: {} {}{}{} stands twice, the last one counts",
                                        pending.where, object.type.kind, object.ns,
                                        object.ns.empty() ? "" : "/", object.name));
    out_.objects[it->second] = std::move(object);
  }

  ManifestObjects out_;
  std::size_t documents_ = 0;  ///< of the input that is read, unreadable ones and items too
  std::vector<Pending> pending_;
  std::map<std::pair<std::string, std::string>, bool> scopes_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> places_;
};

using KindSet = std::set<std::pair<std::string, std::string>>;

/// Group and kind of the objects that are in no namespace.
KindSet cluster_scoped_kinds(const ManifestObjects& input) {
  KindSet kinds;
  for (const ManifestObject& object : input.objects) {
    if (!object.type.namespaced) kinds.emplace(object.type.group, object.type.kind);
  }
  return kinds;
}

std::string name_of(std::string_view group, std::string_view kind) {
  return fmt::format("{} ({})", kind, group.empty() ? "core" : group);
}

/// Of kinds and groups that no target reads those that look like `wanted`. A kind of Kubernetes
/// itself is spelt right.
std::vector<std::string> meant_by(const api::GroupVersionKind& wanted,
                                  const std::set<std::pair<std::string, std::string>>& unwanted) {
  std::vector<std::string> kinds = {wanted.kind};
  if (!builtin_is_namespaced(wanted.group, wanted.kind)) {
    std::vector<std::string> others;
    for (const auto& [kind, group] : unwanted) others.push_back(kind);
    for (std::string& near : base::near_names(wanted.kind, others)) kinds.push_back(near);
  }
  std::vector<std::string> names;
  for (const auto& [kind, group] : unwanted) {
    if (std::ranges::find(kinds, kind) != kinds.end()) names.push_back(name_of(group, kind));
  }
  return names;
}

}  // namespace

std::string made_up_uid(std::string_view cluster, const ObjectType& type, std::string_view ns,
                        std::string_view name) {
  return base::uuid_v5(kUidNameSpace,
                       fmt::format("{}/{}/{}/{}/{}", cluster, type.group, type.kind, ns, name));
}

base::Result<ManifestObjects> read_manifest_objects(const std::vector<std::string>& paths,
                                                    std::string_view stdin_text) {
  Reader reader;
  for (const std::string& path : paths) {
    if (path == "-") {
      KL_TRY(reader.read("<stdin>", stdin_text));
      KL_TRY(reader.demand_documents("standard input"));
      continue;
    }
    KL_ASSIGN(const auto files, object_files(path));
    for (const std::filesystem::path& file : files) {
      auto text = base::read_file(file);
      if (!text) return base::configuration(text.error().message);
      KL_TRY(reader.read(file.string(), *text));
    }
    KL_TRY(reader.demand_documents(path));
  }
  ManifestObjects objects = reader.finish();
  if (objects.objects.empty() && !objects.problems.empty()) {
    return base::configuration(objects.problems.front());
  }
  return objects;
}

std::vector<std::string> near_misses(const ManifestObjects& input, const Plan& plan) {
  std::set<std::pair<std::string, std::string>> unwanted;  // kind and group
  for (const ManifestObject& object : input.objects) {
    unwanted.emplace(object.type.kind, object.type.group);
  }
  const auto there = unwanted;
  for (const TargetPlan& target : plan.targets) {
    for (const auto& wanted : target.selection.kinds()) unwanted.erase({wanted.kind, wanted.group});
  }
  std::vector<std::string> warnings;
  for (const TargetPlan& target : plan.targets) {
    if (target.suspended) continue;
    for (const api::GroupVersionKind& wanted : target.selection.kinds()) {
      if (there.contains({wanted.kind, wanted.group})) continue;
      const std::vector<std::string> near = meant_by(wanted, unwanted);
      if (near.empty()) continue;
      warnings.push_back(fmt::format("{}: target {} reads {}, and no manifest is one; there is {}",
                                     target.where, target.title(),
                                     name_of(wanted.group, wanted.kind), base::join(near, ", ")));
    }
  }
  return warnings;
}

ContextResult collect_manifests(const base::Context& context, const ManifestObjects& input,
                                const Plan& plan, const std::string& cluster,
                                const std::string& only_namespace) {
  ContextResult result;
  result.context = "local";
  result.cluster = cluster;
  result.namespaces = input.namespaces;
  result.namespaces_listed = true;
  result.warnings = input.warnings;
  result.incomplete_input = !input.problems.empty();
  if (!only_namespace.empty() && !input.namespaces.contains(only_namespace)) {
    result.warnings.push_back(fmt::format("no manifest mentions namespace {}", only_namespace));
  }
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    const TargetPlan& target = plan.targets[i];
    if (target.suspended) continue;
    lanes.push_back({.target = &target,
                     .index = i,
                     .effective = target.selection.namespaces(input.namespaces, {}).effective});
  }
  Intake intake(cluster, input.namespaces, std::move(lanes));
  Document document;
  for (const ManifestObject& object : input.objects) {
    if (auto go_on = context.check(); !go_on) {
      result.error = go_on.error();
      return result;
    }
    // The text is our own writer's, so it parses.
    if (!document.reparse_borrowed(object.json)) continue;
    intake.object(document.root(), object.type,
                  [&] { return made_up_uid(cluster, object.type, object.ns, object.name); });
  }
  result.targets.resize(plan.targets.size());
  for (TargetResult& target : result.targets) target.status = TargetResult::Status::kSuspended;
  const KindSet without_namespaces = cluster_scoped_kinds(input);
  for (Lane& lane : intake.lanes()) {
    TargetResult& target = result.targets[lane.index];
    target.effective = std::move(lane.effective);
    target.cluster_scoped =
        std::ranges::any_of(lane.target->selection.kinds(), [&](const api::GroupVersionKind& kind) {
          return without_namespaces.contains({kind.group, kind.kind}) ||
                 !builtin_is_namespaced(kind.group, kind.kind).value_or(true);
        });
    target.data = std::move(lane.batch);
    target.status = target.data.failures.count() > 0 ? TargetResult::Status::kPartial
                                                     : TargetResult::Status::kOk;
  }
  for (TargetResult& target : result.targets) target.data.rows.seal();
  return result;
}

}  // namespace kollect::pipeline
