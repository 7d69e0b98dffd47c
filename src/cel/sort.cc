#include "cel/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cel/arithmetic.h"
#include "cel/node.h"

namespace kollect::cel {

Value sort_pairs(Evaluation& evaluation, std::span<SortPair> pairs) {
  std::uint64_t cost = pairs.size();
  for (const SortPair& pair : pairs) {
    bool fits = false;
    compare(pairs[0].key, pair.key, fits);
    if (!fits || pair.key.kind != pairs[0].key.kind)
      return evaluation.error("the keys of a sort must be of one type that has an order");
    cost += weight(pair.key);
  }
  if (!evaluation.charge(cost * static_cast<std::uint64_t>(std::bit_width(pairs.size())))) {
    return evaluation.over_budget();
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const SortPair& a, const SortPair& b) {
    bool fits = false;
    const bool a_nan = a.key.kind == Kind::kDouble && std::isnan(a.key.d);
    const bool b_nan = b.key.kind == Kind::kDouble && std::isnan(b.key.d);
    // NaN has no order; at the front it leaves the others sorted.
    if (a_nan || b_nan) return a_nan && !b_nan;
    return compare(a.key, b.key, fits) == Order::kLess;
  });
  ListBuilder builder(evaluation, pairs.size());
  for (const SortPair& pair : pairs) {
    if (!builder.add(pair.value)) return builder.failed();
  }
  return builder.value();
}

}  // namespace kollect::cel
