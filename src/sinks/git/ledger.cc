#include "sinks/git/ledger.h"

#include <algorithm>
#include <unordered_set>

#include "sinks/git/tree_diff.h"

namespace kollect::sinks::git {

bool Ledger::touched_in(const ObjectStore& store, const std::optional<Oid>& other) const {
  if (other == tree) return false;
  if (!other || !store.exists(tree)) return true;
  std::unordered_set<std::uint64_t> differ;
  const auto compared =
      for_each_difference(store, tree, other, [&](std::string&& path) -> base::Result<> {
        differ.insert(path_hash(path));
        return {};
      });
  if (!compared.has_value()) return true;
  const auto ours = [&](std::uint64_t path) { return differ.contains(path); };
  return std::ranges::any_of(set.fixed, ours) || std::ranges::any_of(set.paths, ours);
}

}  // namespace kollect::sinks::git
