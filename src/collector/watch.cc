#include "collector/watch.h"

#include <algorithm>

namespace kollect::collector {
namespace {

bool is_passing(const base::Error& error) {
  return error.kind == base::ErrorKind::kRetryable || error.kind == base::ErrorKind::kCancelled;
}

}  // namespace

Watch::Watch(Services& services, const kube::Resource& resource, std::string ns,
             inventory::SourceId source)
    : services_(services),
      resource_(resource),
      ns_(std::move(ns)),
      source_(source),
      opened_(services.clock.steady_now()),
      applier_(services.store, services.namespaces, services.bell, resource, source) {}

Watch::~Watch() {
  mute();
  if (reflector_) services_.meter.held_up_before += reflector_->status().held_up;
  reflector_.reset();
}

void Watch::open(std::shared_ptr<const LaneIndex> index, std::set<std::string> left_out) {
  {
    const std::scoped_lock lock(mutex_);
    index_ = std::move(index);
    left_out_.insert(left_out.begin(), left_out.end());
    if (services_.options.resync > base::Duration::zero()) {
      resync_ = opened_ + services_.options.resync;
    } else {
      resync_ = base::SteadyTime::max();
    }
  }
  want_all();
  kube::ReflectorOptions options = services_.options.reflector;
  options.page_size = services_.options.page_size;
  reflector_ = std::make_unique<kube::Reflector>(
      services_.client,
      kube::WatchQuery{
          .resource = resource_, .ns = ns_, .label_selector = {}, .field_selector = {}},
      *this, services_.gate, services_.clock, services_.log, options);
  reflector_->start([this](const kube::ReflectorStatus& status) { noted(status); });
}

void Watch::set_index(std::shared_ptr<const LaneIndex> index,
                      const std::vector<std::shared_ptr<const Core>>& cores,
                      const std::set<std::string>& namespaces) {
  const std::scoped_lock lock(mutex_);
  index_ = std::move(index);
  const auto there = cores_in(*index_);
  std::erase_if(cores_, [&](const auto& want) { return !there.contains(want.first); });
  std::erase_if(namespaces_, [&](const auto& want) { return index_->in(want.first).empty(); });
  ++order_;
  for (const auto& core : cores) {
    if (there.contains(core.get())) cores_[core.get()] = order_;
  }
  for (const std::string& ns : namespaces) {
    if ((ns_.empty() || ns_ == ns) && !index_->in(ns).empty()) namespaces_[ns] = order_;
  }
}

void Watch::want_all() {
  const std::scoped_lock lock(mutex_);
  ++order_;
  for (const Core* core : cores_in(*index_)) cores_[core] = order_;
}

void Watch::want_namespaces(const std::set<std::string>& namespaces) {
  const std::scoped_lock lock(mutex_);
  ++order_;
  for (const std::string& ns : namespaces) {
    if ((ns_.empty() || ns_ == ns) && !index_->in(ns).empty()) namespaces_[ns] = order_;
  }
}

void Watch::take_over(const std::set<std::string>& namespaces) {
  const std::scoped_lock lock(mutex_);
  ++order_;
  for (const std::string& ns : namespaces) {
    if (left_out_.erase(ns) > 0 && !index_->in(ns).empty()) namespaces_[ns] = order_;
  }
}

void Watch::mute() {
  {
    const std::scoped_lock lock(mutex_);
    muted_ = true;
  }
  if (reflector_) reflector_->request_stop();
}

void Watch::barrier() const {
  const std::scoped_lock lock(mutex_);
}

void Watch::hurry() {
  const kube::ReflectorStatus status = reflector_->status();
  if (status.state == kube::ReflectorState::kWaiting && status.error &&
      status.error->kind == base::ErrorKind::kNotFound) {
    reflector_->retry_now();
  }
}

void Watch::noted(const kube::ReflectorStatus& status) {
  {
    const std::scoped_lock lock(mutex_);
    if (status.error) note_trouble(*status.error);
  }
  if (!status.error) {
    failing_since_ = base::SteadyTime::max();
  } else if (failing_since_.load() == base::SteadyTime::max()) {
    failing_since_ = services_.clock.steady_now();
  }
  services_.bell.plan();
}

void Watch::note_trouble(const base::Error& error) {
  if (error.kind == base::ErrorKind::kNotFound) trouble_.not_served = true;
  if (error.reason != "forbidden") return;
  // Only the text tells which of the two it was.
  if (error.message.starts_with("list ")) {
    trouble_.list_refused = error.message;
  } else {
    trouble_.watch_refused = true;
  }
}

void Watch::probe(base::SteadyTime now) {
  const kube::ReflectorStatus status = reflector_->status();
  if (now < probe_after_ || !status.error || status.error->reason != "forbidden") return;
  probe_after_ = now + services_.options.access_ttl;
  reflector_->relist_now();
}

Watch::Trouble Watch::take_trouble() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(trouble_, {});
}

// ---- Objects

void Watch::object(base::json::View object) {
  handle(object, false);
}

void Watch::deleted(base::json::View object) {
  handle(object, true);
}

void Watch::handle(base::json::View object, bool gone) {
  const base::SteadyTime began = services_.clock.steady_now();
  {
    const std::scoped_lock lock(mutex_);
    if (muted_) return;
    if (listing_ && synced_) ++listed_again_;
    const auto id = applier_.identify(object);
    if (!id || left_out_.contains(id->ns)) return;
    if (errand_ && !listing_) touched_.insert(id->uid_hash);
    if (gone) {
      applier_.gone(*index_, *id);
    } else if (!applier_.exists(*index_, object, *id)) {
      ++misses_;
    }
  }
  services_.meter.add(services_.clock.steady_now() - began);
}

// ---- Lists of the reflector

template <class Sweep>
void Watch::for_owners(const LaneIndex& index, const Sweep& sweep) const {
  if (!ns_.empty()) {
    for (const LaneIndex::Entry& entry : index.in(ns_)) sweep(*entry.lane->core, *entry.owner);
    return;
  }
  for (const LanePtr& lane : index.lanes()) {
    for (const inventory::Owner& owner : lane->owners) sweep(*lane->core, owner);
  }
}

std::set<const Core*> Watch::cores_in(const LaneIndex& index) const {
  std::set<const Core*> cores;
  for_owners(index, [&](const Core& core, const inventory::Owner&) { cores.insert(&core); });
  return cores;
}

void Watch::begin_sweeps(const std::set<const Core*>& cores) {
  for_owners(*index_, [&](const Core& core, const inventory::Owner& owner) {
    if (cores.contains(&core)) services_.store.begin_sweep(owner, source_);
  });
  for (const Core* core : cores) core->tally->begin_sweep(source_);
}

void Watch::end_sweeps(const LaneIndex& index, const std::set<const Core*>& cores) {
  for_owners(index, [&](const Core& core, const inventory::Owner& owner) {
    if (!core.closed && cores.contains(&core)) services_.store.end_sweep(owner, source_);
  });
  for (const Core* core : cores) {
    if (core->tally->end_sweep(source_)) services_.bell.signal(core->target);
  }
}

void Watch::begin_list() {
  const std::scoped_lock lock(mutex_);
  if (muted_) return;
  ++lists_begun_;  // ends an errand
  touched_.clear();
  listing_ = true;
  list_order_ = order_;
  list_index_ = index_;
  begin_sweeps(cores_in(*index_));
}

void Watch::end_list() {
  {
    const std::scoped_lock lock(mutex_);
    if (muted_) return;
    listing_ = false;
    end_sweeps(*list_index_, cores_in(*list_index_));
    list_index_.reset();
    const auto satisfied = [&](const auto& want) { return want.second <= list_order_; };
    std::erase_if(cores_, satisfied);
    std::erase_if(namespaces_, satisfied);
    errand_failures_ = 0;
    errand_after_ = {};
    synced_ = true;
  }
  services_.bell.plan();
}

// ---- What others ask

bool Watch::done(const Core& core) const {
  const std::scoped_lock lock(mutex_);
  return synced_ && !cores_.contains(&core);
}

bool Watch::wants_any(const std::vector<std::string>& namespaces) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(namespaces_, [&](const auto& want) {
    return std::ranges::binary_search(namespaces, want.first);
  });
}

std::optional<base::Error> Watch::problem(base::SteadyTime now) const {
  const kube::ReflectorStatus status = reflector_->status();
  if (status.error && !is_passing(*status.error)) return status.error;
  const base::Duration deadline = services_.options.first_list_deadline;
  if (synced_) {
    const base::SteadyTime since = failing_since_;
    return since <= now && now - since >= deadline ? status.error : std::nullopt;
  }
  if (now - opened_ < deadline) return std::nullopt;
  std::string text =
      "no complete list of " + resource_.plural + " within " + base::format_duration(deadline);
  if (status.error) text += ": " + status.error->message;
  return base::retryable(std::move(text), "no-first-list");
}

base::SteadyTime Watch::next(base::SteadyTime now) const {
  const kube::ReflectorStatus status = reflector_->status();
  auto next = base::SteadyTime::max();
  const auto at = [&](base::SteadyTime time) {
    if (time > now) next = std::min(next, time);
  };
  const base::Duration deadline = services_.options.first_list_deadline;
  if (!synced_) {
    at(opened_ + deadline);
  } else if (const base::SteadyTime since = failing_since_; since <= now) {
    at(since + deadline);
  }
  if (status.error && status.error->reason == "forbidden") at(probe_after_);
  const std::scoped_lock lock(mutex_);
  if (synced_) at(resync_);
  if (!cores_.empty() || !namespaces_.empty()) at(errand_after_);
  return next;
}

WatchStats Watch::stats() const {
  WatchStats stats{.resource = resource_,
                   .ns = ns_,
                   .status = reflector_->status(),
                   .objects = 0,
                   .listed_again = 0,
                   .namespace_misses = 0};
  stats.objects = stats.status.present;
  const std::scoped_lock lock(mutex_);
  stats.listed_again = listed_again_;
  stats.namespace_misses = misses_;
  return stats;
}

}  // namespace kollect::collector
