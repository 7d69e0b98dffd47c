#include "manager/work_queue.h"

#include <algorithm>

namespace kollect::manager {

void WorkQueue::plan(const Key& key, base::SteadyTime when) {
  ++adds_;
  if (running_.contains(key)) {
    const auto [it, fresh] = again_.emplace(key, when);
    if (!fresh) it->second = std::min(it->second, when);
    return;
  }
  const auto [it, fresh] = planned_.emplace(key, when);
  if (!fresh) {
    if (it->second <= when) return;
    order_.erase({it->second, key});
    it->second = when;
  }
  order_.emplace(when, key);
  changed_.notify_one();
}

void WorkQueue::add(const Key& key) {
  add_after(key, base::Duration::zero());
}

void WorkQueue::add_after(const Key& key, base::Duration wait) {
  const std::scoped_lock lock(mutex_);
  plan(key, clock_.steady_now() + wait);
}

void WorkQueue::add_failed(const Key& key) {
  const std::scoped_lock lock(mutex_);
  ++retries_;
  const std::uint32_t doublings = std::min<std::uint32_t>(failures_[key]++, 40);
  base::Duration wait = options_.backoff_cap;
  if (options_.backoff_base <= options_.backoff_cap / (std::int64_t{1} << doublings)) {
    wait = options_.backoff_base * (std::int64_t{1} << doublings);
  }
  plan(key, clock_.steady_now() + wait);
}

void WorkQueue::forget(const Key& key) {
  const std::scoped_lock lock(mutex_);
  failures_.erase(key);
}

std::optional<Key> WorkQueue::pop_due(base::SteadyTime now) {
  if (order_.empty() || order_.begin()->first > now) return std::nullopt;
  Key key = order_.begin()->second;
  order_.erase(order_.begin());
  planned_.erase(key);
  running_.insert(key);
  return key;
}

std::optional<Key> WorkQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto key = pop_due(clock_.steady_now())) return key;
    if (order_.empty()) {
      changed_.wait(lock, stop, [&] { return !order_.empty(); });
    } else {
      const base::SteadyTime due = order_.begin()->first;
      changed_.wait_for(lock, stop, clock_.real_time(due - clock_.steady_now()),
                        [&] { return order_.empty() || order_.begin()->first < due; });
    }
  }
  return std::nullopt;
}

std::optional<Key> WorkQueue::try_take() {
  const std::scoped_lock lock(mutex_);
  return pop_due(clock_.steady_now());
}

void WorkQueue::done(const Key& key) {
  const std::scoped_lock lock(mutex_);
  running_.erase(key);
  if (const auto it = again_.find(key); it != again_.end()) {
    const base::SteadyTime when = it->second;
    again_.erase(it);
    plan(key, when);
  }
}

WorkQueue::Counts WorkQueue::counts() const {
  const std::scoped_lock lock(mutex_);
  Counts counts{.running = running_.size(), .adds = adds_, .retries = retries_};
  const base::SteadyTime now = clock_.steady_now();
  for (auto it = order_.begin(); it != order_.end() && it->first <= now; ++it) ++counts.due;
  return counts;
}

std::size_t WorkQueue::waiting() const {
  const std::scoped_lock lock(mutex_);
  return planned_.size() + again_.size();
}

std::size_t WorkQueue::running() const {
  const std::scoped_lock lock(mutex_);
  return running_.size();
}

std::optional<base::SteadyTime> WorkQueue::next_due() const {
  const std::scoped_lock lock(mutex_);
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

}  // namespace kollect::manager
