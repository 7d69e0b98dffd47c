#include "fleet/polls.h"

namespace kollect::fleet {

namespace {

constexpr std::size_t kNames = 1000;
constexpr std::size_t kLongest = 253;  ///< a DNS name has no more

/// False: there is no place.
bool note(std::map<std::string, Polls::Seen>& polls, const std::string& name, std::size_t most,
          base::WallTime now) {
  auto place = polls.find(name);
  if (place == polls.end()) {
    if (polls.size() >= most || name.size() > kLongest) return false;
    place = polls.emplace(name, Polls::Seen{.count = 0, .first = now, .last = now}).first;
  }
  ++place->second.count;
  place->second.last = now;
  return true;
}

}  // namespace

void Polls::see_deleted(const std::string& dns, base::WallTime now) {
  const std::lock_guard lock(mutex_);
  // Only names with a tombstone come here: the store bounds them.
  (void)note(deleted_, dns, SIZE_MAX, now);
}

void Polls::see_unknown(const std::string& dns, base::WallTime now) {
  const std::lock_guard lock(mutex_);
  if (!note(unknown_, dns, kNames, now)) ++uncounted_;
}

Polls::Seen Polls::of_deleted(const std::string& dns) const {
  const std::lock_guard lock(mutex_);
  const auto found = deleted_.find(dns);
  return found == deleted_.end() ? Seen{} : found->second;
}

std::map<std::string, Polls::Seen> Polls::unknown() const {
  const std::lock_guard lock(mutex_);
  return unknown_;
}

std::uint64_t Polls::uncounted() const {
  const std::lock_guard lock(mutex_);
  return uncounted_;
}

}  // namespace kollect::fleet
