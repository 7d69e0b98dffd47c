// From rows to files: formats, layouts, path templates, collisions, manifest (spec: sinks 4 and 5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "sinks/layout/path_list.h"
#include "sinks/sink.h"

namespace kollect::sinks {

enum class Format { kYaml, kJson, kNdjson };
enum class LayoutMode { kDocument, kPerResource, kSplit };
enum class LayoutContent { kItem, kAttributes, kManifest };

std::string_view extension_of(Format format);  ///< ".yaml", ".json", ".ndjson"
/// Trimmed, any case. Error (configuration): another word.
base::Result<Format> parse_format(std::string_view text);

/// Layout settings of a sink with all defaults applied but those that depend on the rows.
struct LayoutSpec {
  Format format = Format::kYaml;
  std::optional<LayoutMode> mode;        ///< none: decided by the rows (4.2)
  std::optional<LayoutContent> content;  ///< none: decided by the rows
  std::string document_template;         ///< "" = inventory/{namespace}/{name}{extension}
  std::string row_template;  ///< "" = {cluster}/{sourceNamespace}/{kind}/{sourceName}{extension}
  std::optional<bool> index_enabled;
  std::string index_template;
  bool lowercase_kind = true;
  bool group_in_path = true;  ///< false: groupInPath never
  std::size_t max_segment_length = 63;
  bool prune = false;  ///< git.prune; trees always prune
};

/// LayoutSpec of a git, gitlab or local sink. Error (configuration): an unknown format, mode or
/// content, or a template that leaves the folder.
base::Result<LayoutSpec> layout_spec(const api::SnapshotSinkSpec& spec);

/// Receives a file's text piece by piece.
using ChunkFn = std::function<base::Result<>(std::string_view)>;

/// One file of an export, ready to be written. Large documents are not in memory as a whole:
/// `write` hands their text out in pieces, as often as it is called. Valid only during the call
/// that hands the file out.
struct File {
  std::string path;  ///< relative, "/"-separated, checked: no "..", not absolute, portable segments
  std::uint64_t rows = 0;
  /// The text holds the export time: a file that differs in nothing else is not to be written again
  /// (P-7).
  bool timed = false;
  /// `write` takes little time and does not fail by itself: better asked again than remembered.
  bool light = false;
  std::string content;  ///< the text when `write` is empty
  std::function<base::Result<>(const ChunkFn& out, base::WallTime exported_at)> write;
  base::WallTime exported_at{};

  /// Hands out the text, with another export time when asked.
  base::Result<> chunks(const ChunkFn& out, std::optional<base::WallTime> at = {}) const;
  /// The whole text.
  [[nodiscard]] base::Result<std::string> text(std::optional<base::WallTime> at = {}) const;
};

/// Export time that the head of an earlier text of a timed file names.
std::optional<base::WallTime> exported_at_of(std::string_view old_text);

/// What the backend holds of an inventory from earlier exports by the same sink.
struct Owned {
  std::set<std::string, std::less<>> paths;  ///< data files, index included, manifest not
  std::string manifest_path;  ///< where the set manifest is or goes; "" = default_manifest_path()
};

/// How one export of a run is laid out.
struct LaidOut {
  LayoutMode mode = LayoutMode::kDocument;
  LayoutContent content = LayoutContent::kItem;
  std::string manifest_key;  ///< attribute that holds the whole object
  bool rows_carry_objects = false;
  /// The rows decided mode, content or key: another set may be laid out in another way.
  bool by_rows = false;
  /// With by_rows and rows that do not carry objects: numbers of one or two rows that show it.
  std::vector<std::size_t> unlike_rows;
  bool prune = false;
  bool writes_manifest = false;  ///< trees, and pruned documents
  std::string document_path;     ///< of the document (or index), for commit texts
  std::string manifest_path;
  std::vector<std::string> index_paths;  ///< one a part
  std::vector<std::string> fixed_paths;  ///< documents, or indexes; written before the row files
  PathList row_paths;                    ///< in row order; empty in document mode
  std::vector<std::pair<std::size_t, std::size_t>> parts;  ///< rows [first, last) of each part
  std::vector<std::string> warnings;
};

/// The files of all exports of one run. Paths are decided for all of them together, so that two
/// exports never write the same file. Borrows the exports. Not thread-safe.
class RunLayout {
 public:
  /// `owned` has one element per export (may be empty: nothing known). Errors: terminal for
  /// collisions (reason "path-collision"), rows without an object under the manifest key, rows
  /// above the ceiling; configuration for templates that leave the folder. Nothing has been handed
  /// out then.
  static base::Result<RunLayout> plan(const std::vector<Export>& exports, const LayoutSpec& spec,
                                      const std::vector<Owned>& owned = {});
  RunLayout(RunLayout&&) noexcept;
  RunLayout& operator=(RunLayout&&) noexcept;
  ~RunLayout();

  [[nodiscard]] const std::vector<LaidOut>& exports() const;
  /// Hands out the data files of one export in writing order: index first. The manifest is not
  /// among them.
  base::Result<> emit(std::size_t export_index,
                      const std::function<base::Result<>(File&&)>& take) const;
  /// The set manifest, which lists all data files and those that stay beside them; written last
  /// (5.3). Borrows this.
  [[nodiscard]] File manifest(std::size_t export_index, std::vector<std::string> kept) const;

 private:
  struct Impl;
  explicit RunLayout(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// inventory/{namespace}/{name}.manifest.json; `with_cluster` puts the cluster's folder before the
/// namespace: used where the plain place belongs to another cluster, or the document template names
/// the cluster.
std::string manifest_path(const Export& exp, bool with_cluster);
/// Places where the manifest of this inventory may be, the one for a new manifest first.
std::vector<std::string> manifest_places(const Export& exp, const LayoutSpec& spec);

/// Data paths of a set manifest, none when the text is no manifest of this inventory and cluster.
std::optional<std::vector<std::string>> read_manifest(std::string_view text, const Export& exp);
/// Data paths of any set manifest, whosever it is; none when the text is no manifest.
std::vector<std::string> manifest_paths(std::string_view text);
/// True when the text is a set manifest of another inventory or cluster.
bool is_foreign_manifest(std::string_view text, const Export& exp);
/// Paths that a split index lists (yaml or json), empty when it is none.
std::vector<std::string> read_index(std::string_view text);

/// Name of the document of an earlier numbering of parts, or of the unsplit document (K-10): true
/// when `path` is one and is not in `written`.
class PartSiblings {
 public:
  PartSiblings(const Export& exp, const LayoutSpec& spec);
  [[nodiscard]] bool matches(std::string_view path) const;
  /// False when no sibling can be in this folder.
  [[nodiscard]] bool may_be_below(std::string_view folder) const;
  /// Folder below which all siblings are; "" for the root.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::vector<std::string> pieces_;  ///< text between the places of the inventory's name
  std::string folder_;
  std::string name_;
};

/// Tells whether an owned file must stay because its object's namespace (P-9) or target could
/// not be read. `read_old` gives the file's present text. When neither content nor path tell, it
/// stays.
bool must_keep(const Export& exp, const LayoutSpec& spec, const LaidOut& laid_out,
               std::string_view path, const std::function<std::optional<std::string>()>& read_old);

/// True when the text is a row or a whole object whose file the layout of this export puts at
/// `path`: how files of a tree without manifest and index are recognised (7.5). Rows must be of a
/// target that the export has.
bool parses_as_own(const Export& exp, const LayoutSpec& spec, const LaidOut& laid_out,
                   std::string_view path, std::string_view text);

/// All files of one export at once, for callers that only show them.
struct RenderResult {
  std::string document_path;
  LayoutMode mode = LayoutMode::kDocument;
  bool prune = false;
  std::string checksum;            ///< row checksum of the set
  std::vector<std::string> paths;  ///< all files handed out
  std::vector<std::string> warnings;
};
base::Result<RenderResult> render(const Export& exp, const LayoutSpec& spec,
                                  const std::function<base::Result<>(File&&)>& emit);

/// Name with the part suffix of 5.2 ("b.part-0002-of-0012").
std::string part_name(std::string_view name, std::size_t index, std::size_t total);
/// Path with the part suffix before its last extension.
std::string part_path(std::string_view path, std::size_t index, std::size_t total);

/// Sanitises one path segment (spec: sinks 4.3; field-names-with-colons-and-slashes).
std::string sanitise_segment(std::string_view text, std::size_t max_length = 63);
/// Makes a whole segment, extension included, safe on every system: reserved device names, ".git",
/// trailing dots and blanks, control characters, 255 bytes.
std::string portable_segment(std::string_view segment, std::string_view extension = {});

}  // namespace kollect::sinks
