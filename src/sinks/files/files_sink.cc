#include "sinks/files/files_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sinks/files/delta_run.h"
#include "sinks/files/folder.h"
#include "sinks/files/folder_manifest.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

// Up to this many files of a run are brought to the disk one by one. Of larger trees the kernel
// takes care: a file that a power cut loses is found different and written again by the next run.
constexpr std::size_t kSyncEach = 8;

using What = ExportReport::Change::What;

FolderManifest::Key key_of(const Export& exp) {
  return {cluster_word(exp), exp.inventory};
}

/// All rows of some exports into the folder.
class Run {
 public:
  Run(const FilesSinkOptions& options, const base::Context& context,
      const std::vector<Export>& exports, bool dry_run, Folder& folder)
      : options_(options),
        context_(context),
        exports_(exports),
        dry_run_(dry_run),
        folder_(folder) {}

  base::Result<ExportReport> run() {
    KL_TRY(load());
    KL_ASSIGN(auto layout, RunLayout::plan(exports_, options_.layout, owned_));
    layout_ = &layout;
    for (const auto& laid_out : layout.exports()) {
      written_.insert(laid_out.fixed_paths.begin(), laid_out.fixed_paths.end());
      written_.insert(laid_out.row_paths.begin(), laid_out.row_paths.end());
      if (laid_out.writes_manifest) written_.insert(laid_out.manifest_path);
      report_.warnings.insert(report_.warnings.end(), laid_out.warnings.begin(),
                              laid_out.warnings.end());
    }
    sync_each_ = written_.size() <= kSyncEach;
    KL_TRY(announce());
    for (std::size_t i = 0; i < exports_.size(); ++i) KL_TRY(write_export(i));
    for (std::size_t i = 0; i < exports_.size(); ++i) KL_TRY(finish_export(i));
    if (options_.prune) KL_TRY(prune_left());
    KL_TRY(save(next_));
    if (remembered_) {
      const auto& laid_out = layout.exports().front();
      KL_ASSIGN(remembered_, SetLedger::of(exports_.front(), remembered_->set_hash, options_.layout,
                                           laid_out, kept_));
    }
    return std::move(report_);
  }

  /// Before run(), for a single export: what the folder holds afterwards is wanted.
  void remember(std::string set_hash) { remembered_.emplace().set_hash = std::move(set_hash); }
  [[nodiscard]] SetLedger& remembered() { return *remembered_; }

 private:
  base::Result<> load() {
    KL_ASSIGN(const auto text, folder_.read(kFolderManifest));
    if (text) {
      old_ = FolderManifest::parse(*text);
      saved_text_ = *text;
      if (old_.entries.empty() && old_.text() != *text) {
        report_.warnings.push_back(
            fmt::format("{} cannot be read; files of earlier runs are left alone",
                        folder_.shown(kFolderManifest)));
      }
    }
    next_ = old_;
    owned_.resize(exports_.size());
    for (std::size_t i = 0; i < exports_.size(); ++i) {
      const auto entry = old_.entries.find(key_of(exports_[i]));
      if (entry != old_.entries.end()) owned_[i].paths = entry->second;
      KL_TRY(find_manifest(i));
    }
    return {};
  }

  /// The set manifest of a tree, which may be older than the folder's own list.
  base::Result<> find_manifest(std::size_t i) {
    for (const auto& place : manifest_places(exports_[i], options_.layout)) {
      KL_ASSIGN(const auto text, folder_.read(place));
      if (text && is_foreign_manifest(*text, exports_[i])) continue;
      if (owned_[i].manifest_path.empty()) owned_[i].manifest_path = place;
      if (!text) continue;
      const auto paths = read_manifest(*text, exports_[i]);
      if (!paths) continue;
      owned_[i].manifest_path = place;
      for (const auto& path : *paths) {
        const auto checked = check_path(path, {});
        if (checked.has_value() && checked->path == path) owned_[i].paths.insert(path);
      }
      break;
    }
    return {};
  }

  /// Lists new files before they are written: a run that is killed leaves none that nobody knows.
  base::Result<> announce() {
    auto both = old_;
    for (std::size_t i = 0; i < exports_.size(); ++i) {
      const auto& laid_out = layout_->exports()[i];
      auto& paths = both.entries[key_of(exports_[i])];
      paths.insert(owned_[i].paths.begin(), owned_[i].paths.end());
      paths.insert(laid_out.fixed_paths.begin(), laid_out.fixed_paths.end());
      paths.insert(laid_out.row_paths.begin(), laid_out.row_paths.end());
      if (laid_out.writes_manifest) paths.insert(laid_out.manifest_path);
      next_.entries[key_of(exports_[i])].clear();
    }
    return save(both);
  }

  base::Result<> save(const FolderManifest& manifest) {
    auto text = manifest.text();
    if (dry_run_ || text == saved_text_) return {};
    File file;
    file.path = kFolderManifest;
    file.content = text;
    KL_TRY(folder_.write(file, true));
    saved_text_ = std::move(text);
    return {};
  }

  base::Result<> write_export(std::size_t i) {
    auto& listed = next_.entries[key_of(exports_[i])];
    return layout_->emit(i, [&](File&& file) -> base::Result<> {
      listed.insert(file.path);
      return put(file);
    });
  }

  base::Result<> put(const File& file) {
    KL_TRY(context_.check());
    KL_ASSIGN(const auto outcome,
              dry_run_ ? folder_.compare(file) : folder_.write(file, sync_each_));
    ++(outcome.same ? report_.unchanged : report_.written);
    if (!outcome.same) report_.bytes += outcome.bytes;
    if (dry_run_) {
      const auto what = outcome.same      ? What::kUnchanged
                        : outcome.existed ? What::kUpdate
                                          : What::kCreate;
      report_.changes.push_back({what, file.path, file.rows, outcome.bytes});
    }
    return {};
  }

  /// Removes what the export no longer has and writes the set manifest.
  base::Result<> finish_export(std::size_t i) {
    const auto& exp = exports_[i];
    const auto& laid_out = layout_->exports()[i];
    const PartSiblings siblings(exp, options_.layout);
    auto& listed = next_.entries[key_of(exp)];
    std::vector<std::string> kept;
    for (const auto& path : owned_[i].paths) {
      if (written_.contains(path)) continue;
      const bool tree = laid_out.mode != LayoutMode::kDocument;
      const bool stale = laid_out.prune || options_.prune || (!tree && siblings.matches(path));
      if (stale &&
          !must_keep(exp, options_.layout, laid_out, path, [&] { return old_text(path); })) {
        KL_TRY(remove(key_of(exp), path));
      } else if (const auto there = folder_.read(path, 1); there.has_value() && *there) {
        listed.insert(path);
        kept_.push_back(path);
        if (!path.ends_with(".manifest.json")) kept.push_back(path);
      }
    }
    if (!laid_out.writes_manifest) return {};
    listed.insert(laid_out.manifest_path);
    return put(layout_->manifest(i, std::move(kept)));
  }

  std::optional<std::string> old_text(const std::string& path) const {
    auto text = folder_.read(path);
    return text.has_value() ? std::move(*text) : std::nullopt;
  }

  base::Result<> remove(const FolderManifest::Key& key, const std::string& path) {
    if (written_.contains(path) || old_.owned_by_other(key, path)) return {};
    KL_TRY(context_.check());
    if (dry_run_) {
      KL_ASSIGN(const auto there, folder_.read(path, 1));
      if (!there) return {};
      report_.changes.push_back({What::kRemove, path, 0, 0});
      ++report_.removed;
      return {};
    }
    KL_ASSIGN(const bool removed, folder_.remove(path));
    if (removed) ++report_.removed;
    return {};
  }

  /// Documents of inventories that left the configuration, of this run's clusters only.
  base::Result<> prune_left() {
    std::set<std::string> clusters;
    for (const auto& exp : exports_) clusters.insert(cluster_word(exp));
    for (const auto& [key, paths] : old_.entries) {
      const auto is_known = std::any_of(exports_.begin(), exports_.end(),
                                        [&](const Export& exp) { return key_of(exp) == key; }) ||
                            std::find(options_.configured.begin(), options_.configured.end(),
                                      key.inventory) != options_.configured.end();
      if (!clusters.contains(key.cluster) || is_known) continue;
      for (const auto& path : paths) KL_TRY(remove(key, path));
      next_.entries.erase(key);
    }
    return {};
  }

  const FilesSinkOptions& options_;
  const base::Context& context_;
  const std::vector<Export>& exports_;
  const bool dry_run_;
  Folder& folder_;
  const RunLayout* layout_ = nullptr;
  FolderManifest old_;
  FolderManifest next_;
  std::string saved_text_;
  std::vector<Owned> owned_;
  std::unordered_set<std::string> written_;
  bool sync_each_ = true;
  ExportReport report_;
  std::vector<std::string> kept_;  ///< files that stay beside the sets
  std::optional<SetLedger> remembered_;
};

class FilesSink final : public Sink {
 public:
  explicit FilesSink(FilesSinkOptions options) : options_(std::move(options)) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    KL_ASSIGN(auto folder, open(!dry_run));
    if (!dry_run) KL_TRY(folder.lock(context, options_.lock_patience));
    return Run(options_, context, exports, dry_run, folder).run();
  }

  /// Where the inventory's files are as the last pass left them, only changed ones are looked at.
  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    KL_ASSIGN(auto folder, open(true));
    KL_TRY(folder.lock(context, options_.lock_patience));
    auto known = take_known(pass.head.inventory);
    if (known && pass.changes != nullptr && !options_.prune && known->set.layout.writes_manifest) {
      KL_ASSIGN(const auto stamp, folder.stamp(known->set.layout.manifest_path));
      if (stamp == known->stamp) {
        auto report = apply_changes(context, folder, *known, pass);
        if (report.has_value() || report.error().reason != kNeedsAllRows) return report;
      }
    }
    return apply_all(context, folder, pass);
  }

  base::Result<> probe(const base::Context& context) override {
    KL_TRY(context.check());
    KL_TRY(open(false));
    return {};
  }

 private:
  /// What the folder holds of an inventory.
  struct Known {
    SetLedger set;
    std::string stamp;  ///< of its set manifest
  };

  [[nodiscard]] base::Result<Folder> open(bool create) const {
    std::error_code error;
    if (!options_.ensure && !std::filesystem::exists(options_.folder, error)) {
      return base::terminal(
          fmt::format("folder {} does not exist and provisioning.mode is existing",
                      options_.folder.string()),
          "folder-missing");
    }
    return Folder::open(options_.folder, create && options_.ensure);
  }

  /// A pass that fails leaves nothing that is known.
  std::optional<Known> take_known(const InventoryId& inventory) {
    auto node = known_.extract(inventory);
    if (node.empty()) return {};
    return std::move(node.mapped());
  }
  base::Result<> keep(const Folder& folder, SetLedger set) {
    KL_ASSIGN(auto stamp, folder.stamp(set.layout.manifest_path));
    const auto inventory = set.head.inventory;
    known_.insert_or_assign(inventory, Known{std::move(set), std::move(stamp)});
    return {};
  }

  base::Result<ExportReport> apply_changes(const base::Context& context, Folder& folder,
                                           Known& known, const Pass& pass) {
    if (known.set.same_head(pass.head) && known.set.set_hash == pass.changes->set_hash()) {
      ExportReport report;
      report.unchanged = known.set.files();
      KL_TRY(keep(folder, std::move(known.set)));
      return report;
    }
    KL_ASSIGN(auto plan, DeltaPlan::of(known.set, pass, options_.layout));
    KL_ASSIGN(auto report, run_delta(context, folder, plan, pass, options_.layout));
    KL_TRY(keep(folder, std::move(plan.next)));
    return report;
  }

  base::Result<ExportReport> apply_all(const base::Context& context, Folder& folder,
                                       const Pass& pass) {
    if (pass.rows == nullptr) {
      return base::retryable("the changes alone do not do", std::string(kNeedsAllRows));
    }
    const auto rows = pass.rows->to_row_set();
    std::vector<Export> exports = {pass.head};
    exports.front().rows = &rows;
    Run run(options_, context, exports, false, folder);
    run.remember(pass.rows->set_hash());
    KL_ASSIGN(auto report, run.run());
    // Changes do not tell which of two owners' rows the set has.
    if (rows.size() == pass.rows->size()) KL_TRY(keep(folder, std::move(run.remembered())));
    return report;
  }

  FilesSinkOptions options_;
  std::map<InventoryId, Known> known_;
};

}  // namespace

std::unique_ptr<Sink> make_files_sink(FilesSinkOptions options) {
  return std::make_unique<FilesSink>(std::move(options));
}

}  // namespace kollect::sinks
