// Settings of a sink as a LayoutSpec.
#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/layout.h"
#include "sinks/layout/path_template.h"
#include "sinks/layout/words.h"

namespace kollect::sinks {

std::string_view extension_of(Format format) {
  switch (format) {
    case Format::kYaml:
      return ".yaml";
    case Format::kJson:
      return ".json";
    case Format::kNdjson:
      return ".ndjson";
  }
  return ".yaml";
}

base::Result<Format> parse_format(std::string_view text) {
  const auto word = base::to_lower(base::trim(text));
  if (word == "yaml") return Format::kYaml;
  if (word == "json") return Format::kJson;
  if (word == "ndjson") return Format::kNdjson;
  return base::configuration(
      fmt::format("format \"{}\" is not known here; use yaml, json or ndjson", base::trim(text)));
}

namespace {

base::Result<std::optional<LayoutMode>> parse_mode(std::string_view word) {
  if (word.empty()) return std::optional<LayoutMode>();
  if (const auto mode = layout_mode(word)) return mode;
  return base::configuration(
      fmt::format("layout.mode \"{}\" is not known; use document, perResource or split", word));
}

base::Result<std::optional<LayoutContent>> parse_content(std::string_view word) {
  if (word.empty()) return std::optional<LayoutContent>();
  if (const auto content = layout_content(word)) return content;
  return base::configuration(
      fmt::format("layout.content \"{}\" is not known; use item, attributes or manifest", word));
}

base::Result<> read_layout(const api::Layout& layout, LayoutSpec& out) {
  KL_ASSIGN(out.mode, parse_mode(layout.mode));
  KL_ASSIGN(out.content, parse_content(layout.content));
  out.row_template = base::trim(layout.path_template);
  if (layout.index) {
    out.index_enabled = layout.index->enabled;
    out.index_template = base::trim(layout.index->path_template);
  }
  if (layout.filename) {
    out.lowercase_kind = layout.filename->lowercase_kind.value_or(true);
    out.group_in_path = layout.filename->group_in_path != "never";
    if (layout.filename->max_segment_length.value_or(0) > 0) {
      out.max_segment_length = static_cast<std::size_t>(*layout.filename->max_segment_length);
    }
  }
  return {};
}

base::Result<> check_template(std::string_view field, std::string_view text, bool may_be_absolute) {
  if (text.find("..") != std::string_view::npos || (!may_be_absolute && text.starts_with('/'))) {
    return base::configuration(fmt::format(
        "{} \"{}\" leaves the folder; use a relative path without \"..\"", field, text));
  }
  return {};
}

}  // namespace

base::Result<LayoutSpec> layout_spec(const api::SnapshotSinkSpec& spec) {
  LayoutSpec out;
  std::string format = spec.serialization ? spec.serialization->format : "";
  if (base::trim(format).empty() && spec.object_store) format = spec.object_store->format;
  if (!base::trim(format).empty()) {
    KL_ASSIGN(out.format, parse_format(format));
  }
  out.document_template = base::trim(spec.path_template);
  if (spec.layout) KL_TRY(read_layout(*spec.layout, out));
  out.prune = spec.git && spec.git->prune.value_or(false);
  KL_TRY(check_template("pathTemplate", out.document_template, false));
  KL_TRY(check_template("layout.pathTemplate", out.row_template, true));
  KL_TRY(check_template("layout.index.pathTemplate", out.index_template, false));
  return out;
}

}  // namespace kollect::sinks
