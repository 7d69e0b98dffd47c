#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

/// The sanitised cluster name; a name of which nothing is left counts as none.
std::string cluster_segment(const Export& exp, std::size_t max_length) {
  auto out = sanitise_segment(cluster_word(exp), max_length);
  return out.empty() ? "default" : out;
}

}  // namespace

std::string cluster_word(const Export& exp) {
  const auto name = base::trim(exp.cluster);
  return name.empty() ? "default" : std::string(name);
}

base::Result<std::string> document_path(const Export& exp, const LayoutSpec& spec,
                                        std::string_view path_template, std::string_view name) {
  const PathTemplate parsed(path_template.empty() ? kDefaultDocument : path_template,
                            document_placeholders());
  const auto cluster = cluster_segment(exp, spec.max_segment_length);
  const auto generation = fmt::to_string(exp.generation);
  const auto raw = parsed.expand([&](std::string_view word) -> std::string_view {
    if (word == "cluster") return cluster;
    if (word == "namespace") return exp.inventory.ns;
    if (word == "name") return name;
    if (word == "generation") return generation;
    return extension_of(spec.format);
  });
  if (base::trim(raw).starts_with('/')) {
    return base::configuration(fmt::format("path \"{}\" is absolute; use a relative one", raw),
                               "bad-path");
  }
  KL_ASSIGN(auto checked, check_path(raw, extension_of(spec.format)));
  return checked.path;
}

RowPaths::RowPaths(const Export& exp, const LayoutSpec& spec)
    : spec_(spec),
      template_(spec.row_template.empty() ? kDefaultRow : std::string_view(spec.row_template),
                row_placeholders()),
      extension_(extension_of(spec.format)),
      cluster_(cluster_segment(exp, spec.max_segment_length)),
      namespace_(sanitise_segment(exp.inventory.ns, spec.max_segment_length)),
      name_(sanitise_segment(exp.inventory.name, spec.max_segment_length)),
      generation_(fmt::to_string(exp.generation)) {}

base::Result<CheckedPath> RowPaths::path(const inventory::RowView& row) const {
  bool altered = false;
  std::string raw;
  const auto add = [&](std::string_view value) {
    const auto clean = sanitise_segment(value, spec_.max_segment_length);
    altered = altered || clean != value;
    raw += clean;
  };
  for (const auto& piece : template_.pieces()) {
    const std::string_view word = piece.text;
    if (!piece.placeholder) {
      raw += word;
    } else if (word == "cluster") {
      raw += cluster_;
    } else if (word == "namespace") {
      raw += namespace_;
    } else if (word == "name") {
      raw += name_;
    } else if (word == "generation") {
      raw += generation_;
    } else if (word == "extension") {
      raw += extension_;
    } else if (word == "targetNamespace") {
      add(row.target_namespace);
    } else if (word == "targetName") {
      add(row.target_name);
    } else if (word == "sourceNamespace") {
      add(row.ns);
    } else if (word == "sourceName") {
      add(row.name);
    } else if (word == "group") {
      if (spec_.group_in_path) add(row.group);
    } else if (word == "kind") {
      spec_.lowercase_kind ? add(base::to_lower(row.kind)) : add(row.kind);
    } else if (word == "uid") {
      add(row.uid);
    }
  }
  KL_ASSIGN(auto checked, check_path(raw, extension_));
  checked.altered = checked.altered || altered;
  return checked;
}

std::string collision_suffix(const inventory::RowView& row) {
  const auto hash =
      row.uid.empty()
          ? base::sha256_hex(fmt::format("{}/{}/{}/{}", row.group, row.kind, row.ns, row.name))
          : base::sha256_hex(row.uid);
  return "-" + hash.substr(0, 8);
}

}  // namespace kollect::sinks
