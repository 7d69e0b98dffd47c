#include "collector/tally.h"

#include "base/hash.h"

namespace kollect::collector {
namespace {

constexpr std::size_t kTexts = 16;

}  // namespace

std::uint64_t Tally::hash(std::string_view text) {
  return base::xxh64(text);
}

bool Tally::failed(std::uint64_t uid, std::uint64_t ns, Source source, std::string text) {
  const std::scoped_lock lock(mutex_);
  const auto sweep = sweeps_.find(source);
  const Mark mark{.ns = ns, .source = source, .sweep = sweep == sweeps_.end() ? 0 : sweep->second};
  const bool added = marks_.insert_or_assign(uid, mark).second;
  failures_ = marks_.size();
  if (!texts_.contains(uid) && texts_.size() >= kTexts) {
    texts_.erase(texts_.begin()->first == last_ ? std::prev(texts_.end()) : texts_.begin());
  }
  const bool news = added || texts_[uid] != text;
  counts_.last_failure = text;
  texts_[uid] = std::move(text);
  last_ = uid;
  return news;
}

bool Tally::succeeded(std::uint64_t uid) {
  if (failures_ == 0) return false;
  const std::scoped_lock lock(mutex_);
  if (marks_.erase(uid) == 0) return false;
  forget(uid);
  return true;
}

void Tally::forget(std::uint64_t uid) {
  failures_ = marks_.size();
  texts_.erase(uid);
}

template <class Stale>
bool Tally::erase(const Stale& stale) {
  bool any = false;
  for (auto it = marks_.begin(); it != marks_.end();) {
    if (!stale(it->second)) {
      ++it;
      continue;
    }
    texts_.erase(it->first);
    it = marks_.erase(it);
    any = true;
  }
  failures_ = marks_.size();
  return any;
}

void Tally::begin_sweep(Source source) {
  const std::scoped_lock lock(mutex_);
  ++sweeps_[source];
}

bool Tally::end_sweep(Source source) {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t sweep = sweeps_[source];
  return erase([&](const Mark& mark) { return mark.source == source && mark.sweep != sweep; });
}

void Tally::drop_source(Source source) {
  const std::scoped_lock lock(mutex_);
  sweeps_.erase(source);
  erase([&](const Mark& mark) { return mark.source == source; });
}

void Tally::drop_namespaces(const std::set<std::uint64_t>& namespaces) {
  const std::scoped_lock lock(mutex_);
  erase([&](const Mark& mark) { return namespaces.contains(mark.ns); });
}

void Tally::add(const select::PolicyErrors& errors) {
  if (errors.count == 0) return;
  const std::scoped_lock lock(mutex_);
  counts_.policy_errors += errors.count;
  counts_.last_policy_error = errors.last;
}

void Tally::add(const std::vector<std::string_view>& mistyped, std::uint32_t prune_errors) {
  if (mistyped.empty() && prune_errors == 0) return;
  const std::scoped_lock lock(mutex_);
  for (const std::string_view attribute : mistyped) {
    const auto known = counts_.mistyped.find(attribute);
    ++(known == counts_.mistyped.end() ? counts_.mistyped[std::string(attribute)] : known->second);
  }
  counts_.prune_errors += prune_errors;
}

Tally::Counts Tally::counts() const {
  const std::scoped_lock lock(mutex_);
  Counts counts = counts_;
  counts.failures = marks_.size();
  if (marks_.empty()) counts.last_failure.clear();
  if (const auto last = texts_.find(last_); last != texts_.end()) {
    counts.last_failure = last->second;
  } else if (!texts_.empty()) {
    counts.last_failure = texts_.begin()->second;
  }
  return counts;
}

}  // namespace kollect::collector
