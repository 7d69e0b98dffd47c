#include "sinks/layout/path_list.h"

#include <algorithm>
#include <queue>

namespace kollect::sinks {

namespace {

constexpr std::size_t kBlock = 64U << 10U;
/// Paths that are sorted as texts at a time.
constexpr std::size_t kRun = 8192;

/// A number in seven bits a byte, the lowest first; all but the last have the eighth bit.
void append_number(std::string& out, std::size_t number) {
  for (; number >= 0x80; number >>= 7U) out += static_cast<char>((number & 0x7fU) | 0x80U);
  out += static_cast<char>(number);
}

std::size_t read_number(const std::string& from, std::size_t& at) {
  std::size_t out = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from[at++]);
    out |= static_cast<std::size_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return out;
  }
}

/// Sorted lists that together have what `list` and `more` have.
std::vector<PathList> sorted_runs(const PathList& list, std::vector<std::string>&& more) {
  std::vector<PathList> out;
  std::vector<std::string> run = std::move(more);
  const auto end_run = [&] {
    if (run.empty()) return;
    std::ranges::sort(run);
    auto& sorted = out.emplace_back();
    for (const auto& path : run) sorted.add(path);
    run.clear();
  };
  for (const auto& path : list) {
    run.push_back(path);
    if (run.size() >= kRun) end_run();
  }
  end_run();
  return out;
}

base::Result<> merge(const std::vector<PathList>& runs, const PathList::Visit& visit) {
  std::vector<PathList::Iterator> heads;
  for (const auto& run : runs) heads.push_back(run.begin());
  const auto later = [&](std::size_t a, std::size_t b) { return *heads[a] > *heads[b]; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < heads.size(); ++i) next.push(i);
  while (!next.empty()) {
    const auto first = next.top();
    next.pop();
    KL_TRY(visit(*heads[first]));
    if (++heads[first] != PathList::end()) next.push(first);
  }
  return {};
}

}  // namespace

void PathList::add(std::string_view path) {
  const auto most = std::min(path.size(), last_.size());
  const auto from_start = static_cast<std::size_t>(
      std::mismatch(path.begin(), path.begin() + most, last_.begin()).first - path.begin());
  std::size_t from_end = 0;
  while (from_end < most - from_start &&
         path[path.size() - 1 - from_end] == last_[last_.size() - 1 - from_end]) {
    ++from_end;
  }
  const auto own = path.substr(from_start, path.size() - from_start - from_end);
  constexpr std::size_t kNumbers = 30;
  if (blocks_.empty() || blocks_.back().size() + own.size() + kNumbers > kBlock) {
    blocks_.emplace_back();
    // Most lists are short.
    if (blocks_.size() > 1) blocks_.back().reserve(std::max(kBlock, own.size() + kNumbers));
  }
  auto& block = blocks_.back();
  append_number(block, from_start);
  append_number(block, from_end);
  append_number(block, own.size());
  block += own;
  ascends_ = ascends_ && (size_ == 0 || last_ <= path);
  last_ = path;
  ++size_;
}

PathList::Iterator::Iterator(const PathList& list) : blocks_(&list.blocks_), left_(list.size_) {
  if (left_ > 0) read();
}

void PathList::Iterator::read() {
  if (at_ == (*blocks_)[block_].size()) {
    ++block_;
    at_ = 0;
  }
  const auto& block = (*blocks_)[block_];
  const auto from_start = read_number(block, at_);
  const auto from_end = read_number(block, at_);
  const auto own = read_number(block, at_);
  text_.replace(from_start, text_.size() - from_start - from_end, block, at_, own);
  at_ += own;
}

PathList::Iterator& PathList::Iterator::operator++() {
  if (--left_ > 0) read();
  return *this;
}

PathList::Iterator PathList::Iterator::operator++(int) {
  auto before = *this;
  ++*this;
  return before;
}

bool PathList::operator==(const PathList& other) const {
  return size_ == other.size_ && std::equal(begin(), end(), other.begin());
}

base::Result<> PathList::visit_sorted(std::vector<std::string> more, const Visit& visit) const {
  if (!ascends_) return merge(sorted_runs(*this, std::move(more)), visit);
  std::ranges::sort(more);
  auto next = more.begin();
  for (const auto& path : *this) {
    for (; next != more.end() && *next < path; ++next) KL_TRY(visit(*next));
    KL_TRY(visit(path));
  }
  for (; next != more.end(); ++next) KL_TRY(visit(*next));
  return {};
}

std::vector<std::string> not_in(std::vector<std::string> candidates,
                                const std::vector<const PathList*>& lists) {
  if (candidates.empty()) return candidates;
  std::ranges::sort(candidates);
  std::vector<bool> found(candidates.size());
  for (const auto* list : lists) {
    for (const auto& path : *list) {
      const auto [first, last] = std::ranges::equal_range(candidates, path);
      for (auto at = first; at != last; ++at) {
        found[static_cast<std::size_t>(at - candidates.begin())] = true;
      }
    }
  }
  std::size_t number = 0;
  std::erase_if(candidates, [&](const std::string&) { return found[number++]; });
  return candidates;
}

}  // namespace kollect::sinks
