#include "sinks/git/delta.h"

#include "sinks/git/file_writer.h"
#include "sinks/git/tree_editor.h"

namespace kollect::sinks::git {

namespace {

base::Result<> put_manifest(const ObjectStore& store, const DeltaPlan& plan, const Pass& pass,
                            TreeEditor& tree, FileWriter& files) {
  KL_ASSIGN(const auto oid, tree.file(plan.next.layout.manifest_path));
  std::optional<std::vector<std::string>> listed;
  if (oid) {
    KL_ASSIGN(const auto text, store.blob(*oid));
    listed = read_manifest(text, pass.head);
  }
  if (!listed) return base::terminal("the set manifest is not there", "no-set-manifest");
  return files.put(plan.set_manifest(pass, std::move(*listed)));
}

}  // namespace

base::Result<DeltaOutcome> build_delta(const base::Context& context, const ObjectStore& store,
                                       const Oid& base, const DeltaPlan& plan, const Pass& pass,
                                       const LayoutSpec& spec, PackWriter& pack,
                                       std::optional<Oid> other) {
  TreeEditor tree(store, base);
  FileWriter files(context, store, tree, pack, false, other);
  DeltaOutcome out;
  for (const auto& path : plan.removed) {
    KL_TRY(files.remove(path));
    out.touched[path] = {};
  }
  KL_TRY(plan.files(pass, spec, [&](File&& file) -> base::Result<> {
    KL_TRY(files.put(file));
    KL_ASSIGN(out.touched[file.path], tree.file(file.path));
    return {};
  }));
  if (plan.manifest) KL_TRY(put_manifest(store, plan, pass, tree, files));
  if (files.changed()) {
    KL_ASSIGN(const auto root, tree.write(pack));
    if (root != base) out.tree = root;
  }
  out.report = std::move(files.report());
  return out;
}

}  // namespace kollect::sinks::git
