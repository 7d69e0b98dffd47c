#include "collector/access_book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kollect::collector {

AccessBook::Key AccessBook::key_of(const kube::Resource& resource, const std::string& ns) {
  return {resource.group, resource.version, resource.plural, ns};
}

Access AccessBook::ask(const kube::Resource& resource, const std::string& ns,
                       base::SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const Key key = key_of(resource, ns);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    // Past the bound lists tell themselves.
    if (!ns.empty() && entries_.size() >= options_.entries) {
      return {.verdict = Access::Verdict::kAllowed, .error = {}, .message = {}};
    }
    found = entries_.emplace(key, Entry{}).first;
  }
  Entry& entry = found->second;
  entry.used = true;
  if (now < entry.expires || entry.asking) {
    ++hits_;
    return entry.access;
  }
  ++misses_;
  if (!options_.reviews) {
    entry.access = {.verdict = Access::Verdict::kAllowed, .error = {}, .message = {}};
    entry.expires = base::SteadyTime::max();
    return entry.access;
  }
  entry.asking = true;
  questions_.push_back({.resource = resource, .ns = ns});
  return entry.access;
}

void AccessBook::refused(const kube::Resource& resource, const std::string& ns,
                         base::SteadyTime now, std::string message) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[key_of(resource, ns)];
  entry.access = {.verdict = Access::Verdict::kDenied, .error = {}, .message = std::move(message)};
  entry.expires = now + options_.ttl;
}

void AccessBook::doubt(const kube::Resource& resource, const std::string& ns) {
  if (!options_.reviews) return;
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key_of(resource, ns));
  if (found != entries_.end()) found->second.expires = {};
}

std::vector<AccessBook::Question> AccessBook::take_questions() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(questions_, {});
}

void AccessBook::answered(const Question& question, const base::Result<bool>& answer,
                          base::SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key_of(question.resource, question.ns));
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.asking = false;
  if (!answer) {
    entry.access.error = answer.error();
    const auto doublings = std::min(entry.failures++, 5U);
    entry.expires =
        now + std::min<base::Duration>(options_.ttl, std::chrono::seconds(1) * (1U << doublings));
    return;
  }
  entry.failures = 0;
  entry.expires = now + options_.ttl;
  entry.access = {.verdict = *answer ? Access::Verdict::kAllowed : Access::Verdict::kDenied,
                  .error = {},
                  .message = {}};
  if (*answer) return;
  entry.access.message = fmt::format(
      "this identity may not list {}{} {}", question.resource.plural,
      question.resource.group.empty() ? "" : "." + question.resource.group,
      question.ns.empty() ? (question.resource.namespaced ? "in all namespaces" : "in this cluster")
                          : "in namespace " + question.ns);
}

void AccessBook::sweep() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_,
                [](const auto& item) { return !item.second.used && !item.second.asking; });
  for (auto& [key, entry] : entries_) entry.used = false;
}

base::SteadyTime AccessBook::next() const {
  const std::scoped_lock lock(mutex_);
  auto next = base::SteadyTime::max();
  for (const auto& [key, entry] : entries_) {
    if (!entry.asking) next = std::min(next, entry.expires);
  }
  return next;
}

std::uint64_t AccessBook::hits() const {
  const std::scoped_lock lock(mutex_);
  return hits_;
}

std::uint64_t AccessBook::misses() const {
  const std::scoped_lock lock(mutex_);
  return misses_;
}

}  // namespace kollect::collector
