// Which files belong to an inventory, and which of them must stay (spec: sinks 7.5, pipeline P-9).
#include <fmt/format.h>

#include <algorithm>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

namespace json = base::json;

// Stands for the inventory's name while the pieces around it are found.
constexpr std::string_view kNameMark = "kollect0inventory0name0mark";

base::yaml::Limits index_limits() {
  base::yaml::Limits limits;
  limits.max_nodes = 4'000'000;
  return limits;
}

bool has_manifest_kind(json::View root) {
  return root.text("kind") == kManifestKind;
}

bool is_of(json::View root, const Export& exp) {
  return root.text("cluster") == cluster_word(exp) && root.text("namespace") == exp.inventory.ns &&
         root.text("name") == exp.inventory.name;
}

std::optional<json::Value> read_value(std::string_view text) {
  auto value = base::yaml::read_one(text);
  if (!value.has_value() || !value->is_object()) return {};
  return std::move(*value);
}

/// What the text of a row's file tells of it.
struct Told {
  std::optional<std::string> ns;  ///< none: the text is neither a row nor a whole object
  bool target = false;            ///< it is a row, and these are its target
  std::string target_namespace;
  std::string target_name;
};

Told told_by(std::string_view text) {
  Told out;
  const auto value = read_value(text);
  if (!value) return out;
  if (value->find("targetName") != nullptr && value->find("namespace") != nullptr) {
    out.ns = value->text("namespace");
    out.target = true;
    out.target_namespace = value->text("targetNamespace");
    out.target_name = value->text("targetName");
    return out;
  }
  const auto* metadata = value->find("metadata");
  if (metadata != nullptr && value->find("apiVersion") != nullptr) {
    out.ns = metadata->text("namespace");
  }
  return out;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// True when a place in the path may be one of the names ("b" of "a/b" counts).
bool may_name(std::string_view path, const std::vector<std::string>& names, std::size_t longest) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const auto word = sanitise_segment(name.substr(name.rfind('/') + 1), longest);
    return path.find(word) != std::string_view::npos;
  });
}

}  // namespace

std::size_t part_suffix_length(std::string_view text) {
  std::size_t at = 0;
  for (const std::string_view word : {".part-", "-of-"}) {
    if (!text.substr(at).starts_with(word)) return 0;
    at += word.size();
    const auto end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end - at < 4) return 0;
    at = end;
  }
  return at;
}

std::string manifest_path(const Export& exp, bool with_cluster) {
  const auto ns = sanitise_segment(exp.inventory.ns, 253);
  const auto name = sanitise_segment(exp.inventory.name, 240);
  if (!with_cluster) return fmt::format("inventory/{}/{}.manifest.json", ns, name);
  auto cluster = portable_segment(sanitise_segment(cluster_word(exp)));
  if (cluster.empty()) cluster = "default";
  return fmt::format("inventory/{}/{}/{}.manifest.json", cluster, ns, name);
}

std::vector<std::string> manifest_places(const Export& exp, const LayoutSpec& spec) {
  if (spec.document_template.find("{cluster}") != std::string::npos) {
    return {manifest_path(exp, true)};
  }
  return {manifest_path(exp, false), manifest_path(exp, true)};
}

std::vector<std::string> manifest_paths(std::string_view text) {
  std::vector<std::string> out;
  const auto document = json::Document::parse(text);
  if (!document.has_value() || !has_manifest_kind(document->root())) return out;
  if (const auto paths = document->root().find("paths")) {
    for (const auto path : paths->items()) {
      if (path.is_string()) out.emplace_back(path.as_string());
    }
  }
  return out;
}

std::optional<std::vector<std::string>> read_manifest(std::string_view text, const Export& exp) {
  const auto document = json::Document::parse(text);
  if (!document.has_value()) return {};
  const auto root = document->root();
  if (!has_manifest_kind(root) || !is_of(root, exp)) return {};
  return manifest_paths(text);
}

bool is_foreign_manifest(std::string_view text, const Export& exp) {
  const auto document = json::Document::parse(text);
  return document.has_value() && has_manifest_kind(document->root()) &&
         !is_of(document->root(), exp);
}

std::vector<std::string> read_index(std::string_view text) {
  std::vector<std::string> out;
  const auto value = base::yaml::read_one(text, index_limits());
  if (!value.has_value() || value->text("schemaVersion") != kSchemaVersion) return out;
  const auto* paths = value->find("paths");
  if (paths == nullptr || !paths->is_array()) return out;
  for (const auto& path : paths->as_array()) {
    if (path.is_string()) out.push_back(path.as_string());
  }
  return out;
}

PartSiblings::PartSiblings(const Export& exp, const LayoutSpec& spec) : name_(exp.inventory.name) {
  const auto path = document_path(exp, spec, spec.document_template, kNameMark);
  if (!path.has_value()) return;
  std::string_view rest = *path;
  for (auto at = rest.find(kNameMark); at != std::string_view::npos; at = rest.find(kNameMark)) {
    pieces_.emplace_back(rest.substr(0, at));
    rest.remove_prefix(at + kNameMark.size());
  }
  pieces_.emplace_back(rest);
  const auto slash = pieces_.front().rfind('/');
  folder_ = slash == std::string::npos ? "" : pieces_.front().substr(0, slash);
}

bool PartSiblings::matches(std::string_view path) const {
  if (pieces_.size() < 2 || !path.starts_with(pieces_.front())) return false;
  auto name = path.substr(pieces_.front().size());
  if (!name.starts_with(name_)) return false;
  name = name.substr(0, name_.size() + part_suffix_length(name.substr(name_.size())));
  std::string whole = pieces_.front();
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    whole += name;
    whole += pieces_[i];
  }
  return whole == path;
}

bool PartSiblings::may_be_below(std::string_view folder) const {
  if (pieces_.empty()) return false;
  const auto start = pieces_.front() + name_;
  return start.starts_with(std::string(folder) + "/") || folder.starts_with(start);
}

bool must_keep(const Export& exp, const LayoutSpec& spec, const LaidOut& laid_out,
               std::string_view path, const std::function<std::optional<std::string>()>& read_old) {
  const auto& namespaces = exp.keep_namespaces;
  const auto& targets = exp.keep_targets;
  if (laid_out.mode == LayoutMode::kDocument || !exp.keeps()) return false;
  Told told;
  if (const auto old = read_old()) {
    if (!read_index(*old).empty()) return false;
    told = told_by(*old);
  }
  const RowPaths paths(exp, spec);
  const auto by_path = [&](std::string_view place, const std::vector<std::string>& names) {
    if (names.empty()) return false;
    return !paths.path_template().uses(place) || may_name(path, names, spec.max_segment_length);
  };
  if (told.ns ? has(namespaces, *told.ns) : by_path("sourceNamespace", namespaces)) return true;
  const auto of_target = [&](const std::vector<std::string>& names) {
    if (!told.target) return by_path("targetName", names);
    return has(names, told.target_name) ||
           has(names, fmt::format("{}/{}", told.target_namespace, told.target_name));
  };
  if (of_target(targets)) return true;
  return std::ranges::any_of(exp.keep_parts, [&](const KeptPart& part) {
    return (told.ns ? *told.ns == part.ns : by_path("sourceNamespace", {part.ns})) &&
           of_target({part.target});
  });
}

bool parses_as_own(const Export& exp, const LayoutSpec& spec, const LaidOut& laid_out,
                   std::string_view path, std::string_view text) {
  const auto value = read_value(text);
  if (!value) return false;
  const RowPaths paths(exp, spec);
  inventory::RowView row;
  if (laid_out.content == LayoutContent::kItem) {
    row = {value->text("targetNamespace"),
           value->text("targetName"),
           value->text("namespace"),
           value->text("name"),
           value->text("group"),
           value->text("version"),
           value->text("kind"),
           value->text("uid"),
           "{}"};
    if (row.target_name.empty() || row.kind.empty() || row.name.empty()) return false;
    bool known = false;
    (void)exp.rows->for_each([&](const inventory::RowView& own) -> base::Result<> {
      known = own.target_namespace == row.target_namespace && own.target_name == row.target_name;
      return known ? base::Result<>(base::not_found("found", "stop")) : base::Result<>();
    });
    if (!known) return false;
  } else if (laid_out.content == LayoutContent::kManifest) {
    const auto* metadata = value->find("metadata");
    if (metadata == nullptr || paths.path_template().uses("targetName") ||
        paths.path_template().uses("targetNamespace")) {
      return false;
    }
    const auto api_version = value->text("apiVersion");
    const auto slash = api_version.find('/');
    row.group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    row.kind = value->text("kind");
    row.ns = metadata->text("namespace");
    row.name = metadata->text("name");
    row.uid = metadata->text("uid");
    if (row.kind.empty() || row.name.empty()) return false;
  } else {
    return false;
  }
  const auto own_path = paths.path(row);
  if (!own_path.has_value()) return false;
  return path == own_path->path ||
         path == with_suffix(own_path->path, collision_suffix(row), paths.extension());
}

}  // namespace kollect::sinks
