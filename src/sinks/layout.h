// From rows to files: formats, layouts, path templates, collisions, manifest (spec: sinks 4 and 5).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "sinks/sink.h"

namespace kollect::sinks {

enum class Format { kYaml, kJson, kNdjson };
enum class LayoutMode { kDocument, kPerResource, kSplit };
enum class LayoutContent { kItem, kAttributes, kManifest };

std::string_view extension_of(Format format);  ///< ".yaml", ".json", ".ndjson"
base::Result<Format> parse_format(std::string_view text);

/// Layout settings of a sink with all defaults applied but those that depend on the rows.
struct LayoutSpec {
  Format format = Format::kYaml;
  std::optional<LayoutMode> mode;        ///< none: decided by the rows (4.2)
  std::optional<LayoutContent> content;  ///< none: decided by the rows
  std::string document_template;         ///< "" = inventory/{namespace}/{name}{extension}
  std::string row_template;              ///< "" = {cluster}/{sourceNamespace}/{kind}/{sourceName}{extension}
  std::optional<bool> index_enabled;
  std::string index_template;
  bool lowercase_kind = true;
  bool group_in_path = true;  ///< false: groupInPath never
  std::size_t max_segment_length = 63;
  bool prune = false;  ///< git.prune; trees always prune
};

/// LayoutSpec of a git, gitlab or local sink.
LayoutSpec layout_spec(const api::SnapshotSinkSpec& spec);

/// One file of an export, ready to be written.
struct File {
  std::string path;  ///< relative, "/"-separated, checked: no "..", not absolute, portable segments
  std::string content;
  std::uint64_t rows = 0;
};

/// Renders all files of one export and hands them out one by one, in writing order (index first, manifest last).
struct RenderResult {
  std::string document_path;            ///< path of the document (or index), for commit texts
  LayoutMode mode = LayoutMode::kDocument;
  bool prune = false;
  std::string checksum;                 ///< row checksum of the set
  std::vector<std::string> paths;       ///< all files written
  std::vector<std::string> warnings;
};
base::Result<RenderResult> render(const Export& exp, const LayoutSpec& spec,
                                  const std::function<base::Result<>(File&&)>& emit);

/// Sanitises one path segment (spec: sinks 4.3; field-names-with-colons-and-slashes).
std::string sanitise_segment(std::string_view text, std::size_t max_length = 63);

}  // namespace kollect::sinks
