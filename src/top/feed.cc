#include "top/feed.h"

#include <algorithm>

namespace kollect::top {

namespace {

int weight(const Problem& problem) {
  return problem.reason == "Pending" || problem.reason == "Unseen" ? 1 : 0;
}

}  // namespace

void finish(Picture& picture) {
  if (picture.clusters.empty()) picture.clusters = clusters_of(picture.inventories);
  std::ranges::stable_sort(picture.problems, {}, weight);
  picture.problem_count = std::max<std::uint64_t>(picture.problem_count, picture.problems.size());
}

}  // namespace kollect::top
