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
  if (std::ranges::any_of(set.fixed, ours)) return true;
  LedgerRows::Cursor cursor(set.rows);
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    const auto row = cursor.next();
    if (!row.has_value() || ours((*row)->path)) return true;
  }
  return false;
}

}  // namespace kollect::sinks::git
