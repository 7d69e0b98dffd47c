#include "sinks/files/delta_run.h"

#include "sinks/files/folder_manifest.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

// As in export_all: a few files go to the disk one by one, of many the kernel takes care.
constexpr std::size_t kSyncEach = 8;

class DeltaRun {
 public:
  DeltaRun(const base::Context& context, Folder& folder, const DeltaPlan& plan, const Pass& pass,
           const LayoutSpec& spec)
      : context_(context),
        folder_(folder),
        plan_(plan),
        pass_(pass),
        spec_(spec),
        key_{cluster_word(pass.head), pass.head.inventory},
        sync_each_(pass.changes->size() <= kSyncEach) {}

  base::Result<ExportReport> run() {
    const bool lists = !plan_.created.empty() || !plan_.removed.empty();
    if (plan_.manifest) KL_TRY(read_set_manifest());
    // New files are listed before they are written, old ones until they are gone.
    if (lists) KL_TRY(read_folder_manifest());
    if (!plan_.created.empty()) KL_TRY(save());
    KL_TRY(plan_.files(pass_, spec_, [this](File&& file) { return put(file); }));
    for (const auto& path : plan_.removed) KL_TRY(remove(path));
    if (plan_.manifest) KL_TRY(put(plan_.set_manifest(pass_, std::move(listed_))));
    if (!plan_.removed.empty()) KL_TRY(save());
    return std::move(report_);
  }

 private:
  static base::Error refused(std::string why) {
    return base::retryable(std::move(why), std::string(kNeedsAllRows));
  }

  base::Result<> read_set_manifest() {
    KL_ASSIGN(const auto text, folder_.read(plan_.next.layout.manifest_path));
    auto listed = text ? read_manifest(*text, pass_.head) : std::nullopt;
    if (!listed) return refused("the set manifest is not there");
    listed_ = std::move(*listed);
    return {};
  }

  base::Result<> read_folder_manifest() {
    KL_ASSIGN(const auto text, folder_.read(kFolderManifest));
    if (text) manifest_ = FolderManifest::parse(*text);
    const auto entry = manifest_.entries.find(key_);
    if (entry == manifest_.entries.end())
      return refused("the folder's list does not have the inventory");
    entry->second.insert(plan_.created.begin(), plan_.created.end());
    return {};
  }

  base::Result<> save() {
    File file;
    file.path = kFolderManifest;
    file.content = manifest_.text();
    KL_TRY(folder_.write(file, true));
    return {};
  }

  base::Result<> put(const File& file) {
    KL_TRY(context_.check());
    KL_ASSIGN(const auto outcome, folder_.write(file, sync_each_));
    ++(outcome.same ? report_.unchanged : report_.written);
    if (!outcome.same) report_.bytes += outcome.bytes;
    return {};
  }

  base::Result<> remove(const std::string& path) {
    KL_TRY(context_.check());
    manifest_.entries[key_].erase(path);
    if (manifest_.owned_by_other(key_, path)) return {};
    KL_ASSIGN(const bool removed, folder_.remove(path));
    if (removed) ++report_.removed;
    return {};
  }

  const base::Context& context_;
  Folder& folder_;
  const DeltaPlan& plan_;
  const Pass& pass_;
  const LayoutSpec& spec_;
  const FolderManifest::Key key_;
  const bool sync_each_;
  FolderManifest manifest_;
  std::vector<std::string> listed_;
  ExportReport report_;
};

}  // namespace

base::Result<ExportReport> run_delta(const base::Context& context, Folder& folder,
                                     const DeltaPlan& plan, const Pass& pass,
                                     const LayoutSpec& spec) {
  return DeltaRun(context, folder, plan, pass, spec).run();
}

}  // namespace kollect::sinks
