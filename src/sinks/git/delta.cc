#include "sinks/git/delta.h"

#include <algorithm>
#include <iterator>

#include "sinks/layout/run_layout.h"

namespace kollect::sinks::git {

base::Result<Delta::Outcome> Delta::build(const base::Context& context, const ObjectStore& store,
                                          const Oid& base, PackWriter& pack) const {
  TreeEditor tree(store, base);
  FileWriter files(context, store, tree, pack, false);
  for (const auto& path : removed_) KL_TRY(files.remove(path));
  std::size_t number = 0;
  RowTexts texts(format_, next_.layout.content, next_.layout.manifest_key);
  KL_TRY(pass_->changes->for_each([&](const inventory::RowChange& change) -> base::Result<> {
    const auto& path = writes_[number++];
    if (path.empty()) return {};
    File file;
    file.path = path;
    file.rows = 1;
    KL_ASSIGN(file.content, texts.text(change.row));
    return files.put(file);
  }));
  for (const auto& index : indexes_) KL_TRY(files.put(index));
  if (manifest_) KL_TRY(put_manifest(store, tree, files));
  Outcome out;
  if (files.changed()) {
    KL_ASSIGN(const auto root, tree.write(pack));
    if (root != base) out.tree = root;
  }
  out.report = std::move(files.report());
  return out;
}

base::Result<> Delta::put_manifest(const ObjectStore& store, TreeEditor& tree,
                                   FileWriter& files) const {
  // The paths of unchanged rows stand nowhere but in the old manifest.
  KL_ASSIGN(const auto oid, tree.file(next_.layout.manifest_path));
  std::optional<std::vector<std::string>> listed;
  if (oid) {
    KL_ASSIGN(const auto text, store.blob(*oid));
    listed = read_manifest(text, pass_->head);
  }
  if (!listed) return base::terminal("the set manifest is not there", "no-set-manifest");
  std::ranges::sort(*listed);
  std::vector<std::string> stay;
  stay.reserve(listed->size());
  std::ranges::set_difference(std::move_iterator(listed->begin()),
                              std::move_iterator(listed->end()), removed_.begin(), removed_.end(),
                              std::back_inserter(stay));
  std::vector<std::string> paths;
  paths.reserve(stay.size() + created_.size());
  std::merge(std::move_iterator(stay.begin()), std::move_iterator(stay.end()), created_.begin(),
             created_.end(), std::back_inserter(paths));
  return files.put(manifest_file(pass_->head, next_.layout.manifest_path, next_.layout.parts.size(),
                                 std::move(paths)));
}

}  // namespace kollect::sinks::git
