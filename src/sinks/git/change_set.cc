#include "sinks/git/change_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "sinks/git/file_writer.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kMostReadToRecognise = 4U << 20U;

class Builder {
 public:
  Builder(const base::Context& context, const ObjectStore& store, std::optional<Oid> tip_tree,
          const std::vector<Export>& exports, const LayoutSpec& spec, PackWriter& pack, bool list,
          std::optional<Oid> proposed)
      : store_(store),
        tip_tree_(tip_tree),
        exports_(exports),
        spec_(spec),
        pack_(pack),
        tree_(store, tip_tree),
        files_(context, store, tree_, pack, list, proposed) {}

  base::Result<ChangeSet> run() {
    owned_.resize(exports_.size());
    known_.resize(exports_.size());
    for (std::size_t i = 0; i < exports_.size(); ++i) KL_TRY(find_owned(i));
    KL_ASSIGN(auto layout, RunLayout::plan(exports_, spec_, owned_));
    laid_out_ = &layout.exports();
    for (const auto& laid_out : *laid_out_) {
      auto& warnings = files_.report().warnings;
      warnings.insert(warnings.end(), laid_out.warnings.begin(), laid_out.warnings.end());
    }
    kept_.resize(exports_.size());
    for (std::size_t i = 0; i < exports_.size(); ++i) KL_TRY(prune(i));
    for (std::size_t i = 0; i < exports_.size(); ++i) {
      KL_TRY(layout.emit(i, [this](File&& file) { return files_.put(file); }));
      const auto& laid_out = (*laid_out_)[i];
      if (!laid_out.writes_manifest) continue;
      KL_TRY(files_.put(layout.manifest(i, kept_[i])));
    }
    std::optional<Oid> changed;
    if (files_.changed()) {
      KL_ASSIGN(const auto root, tree_.write(pack_));
      if (!tip_tree_ || root != *tip_tree_) changed = root;
    }
    return ChangeSet{changed, std::move(files_.report()), std::move(layout), std::move(kept_)};
  }

 private:
  /// Those of the paths of earlier files that this run does not write, sorted.
  std::vector<std::string> unwritten(std::vector<std::string> paths) const {
    std::unordered_set<std::string_view> fixed;
    std::vector<const PathList*> rows;
    for (const auto& laid_out : *laid_out_) {
      fixed.insert(laid_out.fixed_paths.begin(), laid_out.fixed_paths.end());
      if (laid_out.writes_manifest) fixed.insert(laid_out.manifest_path);
      rows.push_back(&laid_out.row_paths);
    }
    std::erase_if(paths, [&](const std::string& path) { return fixed.contains(path); });
    return not_in(std::move(paths), rows);
  }

  base::Result<std::optional<std::string>> text(std::string_view path) {
    KL_ASSIGN(const auto oid, tree_.file(path));
    if (!oid) return std::optional<std::string>();
    KL_ASSIGN(auto content, store_.blob(*oid));
    return std::optional(std::move(content));
  }

  /// Paths of the last manifest of this inventory, else of its index.
  base::Result<> find_owned(std::size_t i) {
    const auto& exp = exports_[i];
    auto& owned = owned_[i];
    for (const auto& place : manifest_places(exp, spec_)) {
      KL_ASSIGN(const auto manifest, text(place));
      if (manifest && is_foreign_manifest(*manifest, exp)) continue;
      if (owned.manifest_path.empty()) owned.manifest_path = place;
      const auto paths = manifest ? read_manifest(*manifest, exp) : std::nullopt;
      if (!paths) continue;
      owned.manifest_path = place;
      owned.paths.insert(paths->begin(), paths->end());
      known_[i] = true;
      return {};
    }
    if (spec_.mode != LayoutMode::kSplit) return {};
    const auto index = document_path(exp, spec_, spec_.index_template, exp.inventory.name);
    if (!index.has_value()) return {};
    KL_ASSIGN(const auto listed, text(*index));
    if (!listed) return {};
    const auto paths = read_index(*listed);
    if (paths.empty()) return {};
    owned.paths.insert(paths.begin(), paths.end());
    owned.paths.insert(*index);
    known_[i] = true;
    return {};
  }

  /// Paths that any manifest in the repository lists: they belong to other inventories.
  base::Result<std::unordered_set<std::string>> claimed_paths() {
    std::vector<std::string> manifests;
    KL_TRY(tree_.for_files_below(
        "inventory", [](std::string_view) { return true; },
        [&](std::string_view path) -> base::Result<> {
          if (path.ends_with(".manifest.json")) manifests.emplace_back(path);
          return {};
        }));
    std::unordered_set<std::string> out;
    for (const auto& path : manifests) {
      KL_ASSIGN(const auto content, text(path));
      if (!content) continue;
      auto listed = manifest_paths(*content);
      out.insert(std::make_move_iterator(listed.begin()), std::make_move_iterator(listed.end()));
    }
    return out;
  }

  /// A repository without manifest and index: files beside ours that are this inventory's content.
  base::Result<> recognise(std::size_t i) {
    if (!tip_tree_) return {};
    const auto& laid_out = (*laid_out_)[i];
    KL_ASSIGN(const auto claimed, claimed_paths());
    std::set<std::string> folders;
    for (const auto& path : laid_out.row_paths) {
      const auto slash = path.rfind('/');
      if (slash != std::string::npos) folders.insert(path.substr(0, slash));
    }
    std::vector<std::string> files;
    for (const auto& folder : folders) {
      KL_TRY(tree_.for_files_in(
          folder, [&](std::string_view name, const Oid& /*oid*/) -> base::Result<> {
            auto path = fmt::format("{}/{}", folder, name);
            if (!claimed.contains(path) && path.ends_with(extension_of(spec_.format))) {
              files.push_back(std::move(path));
            }
            return {};
          }));
    }
    for (const auto& path : unwritten(std::move(files))) {
      KL_ASSIGN(const auto content, text(path));
      if (!content || content->size() > kMostReadToRecognise) continue;
      if (parses_as_own(exports_[i], spec_, laid_out, path, *content)) owned_[i].paths.insert(path);
    }
    return {};
  }

  /// Documents of another numbering of parts (K-10).
  base::Result<> find_siblings(std::size_t i) {
    const PartSiblings siblings(exports_[i], spec_);
    const auto& folder = siblings.folder();
    std::vector<std::string> found;
    KL_TRY(tree_.for_files_below(
        folder, [&](std::string_view below) { return siblings.may_be_below(below); },
        [&](std::string_view path) -> base::Result<> {
          if (siblings.matches(path)) found.emplace_back(path);
          return {};
        }));
    for (const auto& path : unwritten(std::move(found))) KL_TRY(files_.remove(path));
    return {};
  }

  base::Result<> prune(std::size_t i) {
    const auto& laid_out = (*laid_out_)[i];
    if (laid_out.mode == LayoutMode::kDocument) {
      KL_TRY(find_siblings(i));
    } else if (!known_[i]) {
      KL_TRY(recognise(i));
    }
    if (!laid_out.prune) return {};
    std::vector<std::string> earlier;
    for (auto& owned = owned_[i].paths; !owned.empty();) {
      earlier.push_back(std::move(owned.extract(owned.begin()).value()));
    }
    for (const auto& path : unwritten(std::move(earlier))) {
      base::Result<std::optional<std::string>> old = std::optional<std::string>();
      const bool keep = must_keep(exports_[i], spec_, laid_out, path, [&] {
        old = text(path);
        return old.has_value() ? *old : std::nullopt;
      });
      if (!old.has_value()) return old.error();
      if (!keep) {
        KL_TRY(files_.remove(path));
        continue;
      }
      KL_ASSIGN(const auto there, tree_.file(path));
      if (there) kept_[i].push_back(path);
    }
    return {};
  }

  const ObjectStore& store_;
  const std::optional<Oid> tip_tree_;
  const std::vector<Export>& exports_;
  const LayoutSpec& spec_;
  PackWriter& pack_;
  TreeEditor tree_;
  FileWriter files_;
  const std::vector<LaidOut>* laid_out_ = nullptr;
  std::vector<Owned> owned_;
  std::vector<bool> known_;  // a manifest or index told what is owned
  std::vector<std::vector<std::string>> kept_;
};

}  // namespace

base::Result<ChangeSet> build_change_set(const base::Context& context, const ObjectStore& store,
                                         std::optional<Oid> tip_tree,
                                         const std::vector<Export>& exports,
                                         const LayoutSpec& layout, PackWriter& pack, bool list,
                                         std::optional<Oid> proposed) {
  return Builder(context, store, tip_tree, exports, layout, pack, list, proposed).run();
}

}  // namespace kollect::sinks::git
