#include "manager/shards/roster.h"

#include <algorithm>

#include "base/json/value.h"
#include "manager/leader/lease.h"

namespace kollect::manager {
namespace {

std::string name_of(base::json::View object) {
  const auto metadata = object.find("metadata");
  return metadata ? std::string(metadata->text("name")) : std::string();
}

}  // namespace

void Roster::object(base::json::View object) {
  const std::string name = name_of(object);
  if (!name.starts_with(id_)) return;
  listed_.insert(name);
  put(name, lease_record(base::json::to_value(object)));
}

void Roster::deleted(base::json::View object) {
  const std::string name = name_of(object);
  if (name.starts_with(id_)) put(name, std::nullopt);
}

void Roster::end_list() {
  std::vector<std::string> gone;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [lease, seen] : seen_) {
      if (!listed_.contains(lease)) gone.push_back(lease);
    }
    known_ = true;
  }
  for (const std::string& lease : gone) put(lease, std::nullopt);
  changed_({}, std::nullopt);
}

Roster::Seen Roster::seen_now(const LeaseRecord& record, bool first) const {
  const base::SteadyTime now = clock_.steady_now();
  Seen seen{.record = record, .since = now, .heard = now};
  if (first && record.renewed) {
    seen.heard -= std::clamp<base::Duration>(clock_.now() - *record.renewed, base::Duration::zero(),
                                             record.duration);
  }
  return seen;
}

void Roster::put(const std::string& lease, const std::optional<LeaseRecord>& record) {
  {
    const std::scoped_lock lock(mutex_);
    if (!record) {
      seen_.erase(lease);
    } else if (const auto it = seen_.find(lease);
               it == seen_.end() || it->second.record.version != record->version) {
      seen_.insert_or_assign(lease, seen_now(*record, it == seen_.end()));
    }
  }
  changed_(lease, record);
}

bool Roster::known() const {
  const std::scoped_lock lock(mutex_);
  return known_;
}

std::optional<Roster::Seen> Roster::find(const std::string& lease) const {
  const std::scoped_lock lock(mutex_);
  const auto it = seen_.find(lease);
  return it == seen_.end() ? std::nullopt : std::optional(it->second);
}

std::string Roster::holder(const std::string& lease) const {
  const auto seen = find(lease);
  if (!seen || clock_.steady_now() >= seen->heard + seen->record.duration) return {};
  return seen->record.holder;
}

}  // namespace kollect::manager
