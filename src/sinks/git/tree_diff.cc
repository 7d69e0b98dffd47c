#include "sinks/git/tree_diff.h"

#include <algorithm>
#include <vector>

namespace kollect::sinks::git {

namespace {

struct Folders {
  std::string prefix;  // "" or ends in a slash
  std::optional<Oid> left;
  std::optional<Oid> right;
};

base::Result<std::vector<TreeEntry>> entries_of(const ObjectStore& store,
                                                const std::optional<Oid>& tree) {
  if (!tree) return std::vector<TreeEntry>();
  KL_ASSIGN(auto entries, store.tree(*tree));
  std::ranges::sort(entries, {}, &TreeEntry::name);
  return entries;
}

}  // namespace

base::Result<> for_each_difference(const ObjectStore& store, const std::optional<Oid>& left,
                                   const std::optional<Oid>& right,
                                   const std::function<base::Result<>(std::string&& path)>& visit) {
  if (left == right) return {};
  // A stack of our own: how deep a tree is, other people decide.
  std::vector<Folders> open = {{"", left, right}};
  while (!open.empty()) {
    const auto at = std::move(open.back());
    open.pop_back();
    KL_ASSIGN(const auto ours, entries_of(store, at.left));
    KL_ASSIGN(const auto theirs, entries_of(store, at.right));
    auto a = ours.begin();
    auto b = theirs.begin();
    while (a != ours.end() || b != theirs.end()) {
      const bool has_a = a != ours.end() && (b == theirs.end() || a->name <= b->name);
      const bool has_b = b != theirs.end() && (a == ours.end() || b->name <= a->name);
      const auto* one = has_a ? &*a : nullptr;
      const auto* other = has_b ? &*b : nullptr;
      if (has_a) ++a;
      if (has_b) ++b;
      if (one != nullptr && other != nullptr && one->mode == other->mode &&
          one->oid == other->oid) {
        continue;
      }
      const auto path = at.prefix + (one != nullptr ? one : other)->name;
      const auto folder = [](const TreeEntry* entry) -> std::optional<Oid> {
        if (entry == nullptr || entry->mode != kModeTree) return {};
        return entry->oid;
      };
      const auto is_file = [&](const TreeEntry* entry) {
        return entry != nullptr && entry->mode != kModeTree;
      };
      if (is_file(one) || is_file(other)) KL_TRY(visit(std::string(path)));
      if (folder(one) || folder(other)) open.push_back({path + "/", folder(one), folder(other)});
    }
  }
  return {};
}

}  // namespace kollect::sinks::git
