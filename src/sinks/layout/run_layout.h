// Inner parts of RunLayout that several files share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// Suffix that separates objects whose paths meet: "-" and eight digits.
std::string collision_suffix(const inventory::RowView& row);

struct RunLayout::Impl {
  const std::vector<Export>* exports = nullptr;
  LayoutSpec spec;
  std::vector<LaidOut> laid_out;
};

/// Row paths of one export before collisions are looked at.
struct DraftPaths {
  std::vector<std::string> base;  ///< by the template alone
  std::vector<bool> altered;
  std::vector<std::string>
      sticky;  ///< suffixed path from an earlier export; empty vector: none at all
};

/// Decides the final row paths of all exports (4.4) and puts them into `laid_out`.
base::Result<> settle_paths(const std::vector<Export>& exports, const LayoutSpec& spec,
                            std::vector<DraftPaths>&& drafts, std::vector<LaidOut>& laid_out);

}  // namespace kollect::sinks
