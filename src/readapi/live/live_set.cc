#include "readapi/live/live_set.h"

#include <algorithm>
#include <tuple>

namespace kollect::readapi {
namespace {

/// 4 bytes each.
constexpr std::size_t kMostPlaces = 16U << 20U;
constexpr std::size_t kMostNames = 64;

}  // namespace

LiveSet::LiveSet(std::string state, base::WallTime at, inventory::RowSet targets,
                 inventory::RowSet cluster_targets)
    : state_(std::move(state)),
      at_(at),
      targets_(std::move(targets)),
      cluster_targets_(std::move(cluster_targets)) {
  const std::vector<Run> left = runs_of(inventory::OwnerClass::kTarget);
  const std::vector<Run> right = runs_of(inventory::OwnerClass::kClusterTarget);
  const auto place = [](const Run& run) { return std::tie(run.owner.ns, run.owner.name); };
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() || r < right.size()) {
    if (r == right.size() || (l < left.size() && place(left[l]) < place(right[r]))) {
      append(left[l++]);
    } else if (l == left.size() || place(right[r]) < place(left[l])) {
      append(right[r++]);
    } else {
      interleave(left[l++], right[r++]);
    }
  }
}

std::vector<LiveSet::Run> LiveSet::runs_of(inventory::OwnerClass owner_class) const {
  std::vector<Run> runs;
  std::size_t index = 0;
  (void)part(owner_class).for_each_key([&](const inventory::RowView& row) -> base::Result<> {
    if (runs.empty() || runs.back().owner.name != row.target_name ||
        runs.back().owner.ns != row.target_namespace) {
      runs.push_back({.owner = {.owner_class = owner_class,
                                .ns = std::string(row.target_namespace),
                                .name = std::string(row.target_name)},
                      .first = index});
    }
    ++runs.back().count;
    ++index;
    return {};
  });
  return runs;
}

/// A target and a cluster target of one name: their rows stand among each other.
void LiveSet::interleave(const Run& a, const Run& b) {
  const auto keys = [this](const Run& run) {
    std::vector<std::tuple<std::string, std::string, std::string>> found;
    (void)part(run.owner.owner_class)
        .for_key_range(run.first, run.first + run.count,
                       [&](const inventory::RowView& row) -> base::Result<> {
                         found.emplace_back(row.ns, row.name, row.uid);
                         return {};
                       });
    return found;
  };
  const auto left = keys(a);
  const auto right = keys(b);
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() || r < right.size()) {
    const bool from_left = r == right.size() || (l < left.size() && left[l] <= right[r]);
    const Run& run = from_left ? a : b;
    std::size_t& at = from_left ? l : r;
    append({.owner = run.owner, .first = run.first + at, .count = 1});
    ++at;
  }
}

void LiveSet::append(Run run) {
  run.start = size_;
  size_ += run.count;
  runs_.push_back(std::move(run));
}

base::Result<> LiveSet::visit(const Run& run, bool attributes, const Visit& visit) const {
  std::size_t place = run.start;
  const auto each = [&](const inventory::RowView& row) { return visit(place++, row); };
  const inventory::RowSet& rows = part(run.owner.owner_class);
  return attributes ? rows.for_range(run.first, run.first + run.count, each)
                    : rows.for_key_range(run.first, run.first + run.count, each);
}

base::Result<> LiveSet::visit(std::size_t place, const inventory::RowSet::Visit& visit) const {
  const auto behind = std::ranges::upper_bound(runs_, place, {}, &Run::start);
  const Run& run = *std::prev(behind);
  const std::size_t index = run.first + (place - run.start);
  return part(run.owner.owner_class).for_range(index, index + 1, visit);
}

std::shared_ptr<const Places> LiveSet::remembered(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto it = remembered_.find(name);
  return it == remembered_.end() ? nullptr : it->second;
}

void LiveSet::remember(const std::string& name, std::shared_ptr<const Places> places) const {
  const std::scoped_lock lock(mutex_);
  if (remembered_.contains(name)) return;
  if (remembered_.size() >= kMostNames || remembered_places_ + places->size() > kMostPlaces) {
    remembered_.clear();
    remembered_places_ = 0;
  }
  if (places->size() > kMostPlaces) return;
  remembered_places_ += places->size();
  remembered_[name] = std::move(places);
}

}  // namespace kollect::readapi
