#include "manager/shards/tenures.h"

#include <algorithm>
#include <utility>

#include "manager/shards/assignment.h"

namespace kollect::manager {

std::stop_token Tenures::Visit::stop() const {
  const std::scoped_lock lock(tenures_->mutex_);
  return tenures_->parts_[part_].stop.get_token();
}

std::optional<Tenures::Visit> Tenures::enter(std::string_view ns) {
  const std::size_t part = part_of(ns);
  const std::scoped_lock lock(mutex_);
  if (!parts_[part].open) return std::nullopt;
  ++parts_[part].inside;
  return Visit(*this, part);
}

bool Tenures::is_open(std::string_view ns) const {
  const std::scoped_lock lock(mutex_);
  return parts_[part_of(ns)].open;
}

std::size_t Tenures::part_of(std::string_view ns) const {
  return manager::part_of(ns, parts_.size());
}

void Tenures::open(std::size_t part) {
  const std::scoped_lock lock(mutex_);
  if (!parts_[part].open) parts_[part].stop = {};
  parts_[part].open = true;
}

void Tenures::close(const std::set<std::size_t>& parts) {
  std::unique_lock lock(mutex_);
  std::vector<std::stop_source> stops;
  for (const std::size_t part : parts) {
    parts_[part].open = false;
    stops.push_back(parts_[part].stop);
  }
  // Callbacks of those who are asked to end run here, and may come back for their visit's end.
  lock.unlock();
  for (auto& stop : stops) stop.request_stop();
  lock.lock();
  left_.wait(lock, [&] {
    return std::ranges::all_of(parts, [&](std::size_t part) { return parts_[part].inside == 0; });
  });
}

void Tenures::leave(std::size_t part) {
  {
    const std::scoped_lock lock(mutex_);
    --parts_[part].inside;
  }
  left_.notify_all();
}

Workers::Look within(Tenures& tenures, Workers::Look look) {
  return [&tenures, look = std::move(look)](
             const base::Context& context,
             const Key& key) -> base::Result<std::optional<base::Duration>> {
    const auto visit = tenures.enter(key.ns);
    if (!visit) return std::optional<base::Duration>();
    return look(context.with_stop(visit->stop()), key);
  };
}

}  // namespace kollect::manager
