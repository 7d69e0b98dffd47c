#include "fleet/polls.h"

#include <algorithm>
#include <utility>

namespace kollect::fleet {

namespace {

constexpr std::size_t kLongest = 253;  ///< a DNS name has no more

PollCount one_at(base::WallTime now) {
  return {.count = 1, .first = now, .last = now};
}

}  // namespace

void PollCount::add(const PollCount& more) {
  if (more.count == 0) return;
  first = count == 0 ? more.first : std::min(first, more.first);
  last = count == 0 ? more.last : std::max(last, more.last);
  count += more.count;
}

void PollNotes::add(const PollNotes& more) {
  // Only names with a tombstone are there: the store bounds them.
  for (const auto& [name, polls] : more.dead) dead[name].add(polls);
  for (const auto& [name, polls] : more.unknown) {
    const bool place = unknown.size() < kMostUnknownNames && name.size() <= kLongest;
    if (place || unknown.contains(name)) {
      unknown[name].add(polls);
    } else {
      others += polls.count;
    }
  }
  others += more.others;
}

void Polls::see_dead(const std::string& dns, base::WallTime now) {
  const std::lock_guard lock(mutex_);
  notes_.dead[dns].add(one_at(now));
}

void Polls::see_unknown(const std::string& dns, base::WallTime now) {
  PollNotes one;
  one.unknown.emplace(dns, one_at(now));
  add(one);
}

PollNotes Polls::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

PollNotes Polls::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

void Polls::add(const PollNotes& notes) {
  const std::lock_guard lock(mutex_);
  notes_.add(notes);
}

}  // namespace kollect::fleet
