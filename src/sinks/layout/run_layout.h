// Inner parts of RunLayout that several files share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "sinks/layout.h"
#include "sinks/layout/path_template.h"

namespace kollect::sinks {

inline constexpr std::string_view kDefaultDocument = "inventory/{namespace}/{name}{extension}";
inline constexpr std::string_view kDefaultRow =
    "{cluster}/{sourceNamespace}/{kind}/{sourceName}{extension}";
inline constexpr std::string_view kManifestKind = "KollectExportSetManifest";
inline constexpr std::string_view kSchemaVersion = "kollect.dev/v1alpha1";

/// The cluster's name where an empty one reads "default".
std::string cluster_word(const Export& exp);
/// Path of the document or index with this inventory name (part suffix included).
base::Result<std::string> document_path(const Export& exp, const LayoutSpec& spec,
                                        std::string_view path_template, std::string_view name);

/// Gives rows their paths by the row template.
class RowPaths {
 public:
  RowPaths(const Export& exp, const LayoutSpec& spec);
  /// `altered`: sanitising or cutting changed a value that is part of the path.
  [[nodiscard]] base::Result<CheckedPath> path(const inventory::RowView& row) const;
  [[nodiscard]] const PathTemplate& path_template() const { return template_; }
  [[nodiscard]] std::string_view extension() const { return extension_; }

 private:
  LayoutSpec spec_;
  PathTemplate template_;
  std::string_view extension_;
  std::string cluster_;
  std::string namespace_;
  std::string name_;
  std::string generation_;
};

/// Name of the row's only attribute that is an object of the row's kind (4.2); "" when there is
/// none or more than one.
base::Result<std::string> object_key(const inventory::RowView& row, base::json::Document& scratch);

/// The metadata of a document of the export, without parts.
inventory::EnvelopeMeta envelope_meta(const Export& exp);

/// Writes the text of a row's file. Keeps room between calls; one thread.
class RowTexts {
 public:
  RowTexts(Format format, LayoutContent content, std::string manifest_key)
      : format_(format), content_(content), manifest_key_(std::move(manifest_key)) {}
  /// Error (terminal, "no-manifest"): content is manifest and the row has no such attribute.
  base::Result<std::string> text(const inventory::RowView& row);

 private:
  Format format_;
  LayoutContent content_;
  std::string manifest_key_;
  std::string row_text_;
  base::json::Document document_;
};

/// A split index (4.5): `paths` of the rows in their order, `checksum` of their JSON array.
File index_file(const Export& exp, Format format, std::string path, std::string checksum,
                PathList paths);
/// Row checksum of rows [first, last).
std::string range_checksum(const inventory::RowSet& rows, std::size_t first, std::size_t last);
/// Hands out paths one by one, as often as it is called.
using Listing = std::function<base::Result<>(const PathList::Visit& visit)>;
/// Of a list that is there.
Listing listing(std::vector<std::string> paths);
/// The set manifest (5.3); `paths` come sorted. Borrows the export.
File manifest_file(const Export& exp, std::string path, std::size_t parts, Listing paths);

/// Length of a part suffix (".part-0001-of-0002") at the start of the text, 0 when there is none.
std::size_t part_suffix_length(std::string_view text);

/// Suffix that separates objects whose paths meet: "-" and eight digits.
std::string collision_suffix(const inventory::RowView& row);

struct RunLayout::Impl {
  const std::vector<Export>* exports = nullptr;
  LayoutSpec spec;
  std::vector<LaidOut> laid_out;
};

/// Row paths of one export before collisions are looked at.
struct DraftPaths {
  PathList base;  ///< by the template alone
  std::vector<bool> altered;
  std::map<std::uint32_t, std::string> sticky;  ///< by row: suffixed path from an earlier export
};

/// Decides the final row paths of all exports (4.4) and puts them into `laid_out`.
base::Result<> settle_paths(const std::vector<Export>& exports, const LayoutSpec& spec,
                            std::vector<DraftPaths>&& drafts, std::vector<LaidOut>& laid_out);

}  // namespace kollect::sinks
