// Lists beside a watch.
#include <algorithm>

#include <fmt/format.h>

#include "collector/watch.h"

namespace kollect::collector {
namespace {

/// More namespaces at a time are not listed one by one.
constexpr std::size_t kMostLists = 8;

}  // namespace

/// Hands the objects of an errand's lists to the watch.
class Watch::ErrandReceiver final : public kube::ListReceiver {
 public:
  ErrandReceiver(Watch& watch, const Errand& errand) : watch_(watch), errand_(errand) {
    for (const auto& core : errand.cores) only_.push_back(core.get());
    const kube::Resource& resource = watch.resource_;
    handler_.item_api_version = resource.group.empty()
                                    ? resource.version
                                    : fmt::format("{}/{}", resource.group, resource.version);
    handler_.item_kind = resource.kind;
    handler_.on_item = [this](base::json::View item) -> base::Result<> {
      if (!watch_.handle_listed(errand_, only_, item)) {
        return base::cancelled("a list of the watch took its place", "superseded");
      }
      return {};
    };
    handler_.on_bad_item = [this](const base::Error& error) {
      if (watch_.services_.log == nullptr) return;
      watch_.services_.log->warn("an object of a list cannot be read",
                                 {{"list", watch_.resource_.plural}, {"error", error.message}});
    };
  }

  base::Result<> begin() override { return {}; }
  base::Result<> page(std::string_view text) override {
    KL_TRY(base::json::walk_list(text, handler_));
    return {};
  }

 private:
  Watch& watch_;
  const Errand& errand_;
  std::vector<const Core*> only_;
  base::json::ListHandler handler_;
};

std::vector<std::string> Watch::lists_for(const std::set<const Core*>& cores) const {
  const std::vector<std::string> everything = {""};
  if (!ns_.empty() || !resource_.namespaced) return everything;
  std::set<std::string> namespaces;
  for (const LanePtr& lane : index_->lanes()) {
    if (!cores.contains(lane->core.get())) continue;
    namespaces.insert(lane->effective.begin(), lane->effective.end());
    if (namespaces.size() > kMostLists) return everything;
  }
  return {namespaces.begin(), namespaces.end()};
}

void Watch::widen_wants() {
  if (namespaces_.size() <= kMostLists) return;
  for (const auto& [ns, order] : namespaces_) {
    for (const LaneIndex::Entry& entry : index_->in(ns)) cores_[entry.lane->core.get()] = order;
  }
  namespaces_.clear();
}

std::optional<Errand> Watch::next_errand(base::SteadyTime now) {
  if (synced_ && now >= resync_) {
    want_all();
    const std::scoped_lock lock(mutex_);
    resync_ = now + services_.options.resync;
  }
  const std::scoped_lock lock(mutex_);
  // While it lists, that list may do; and what it is told by then is older than an errand's list.
  if (muted_ || !synced_ || listing_ || errand_ || now < errand_after_) return std::nullopt;
  widen_wants();
  if (cores_.empty() && namespaces_.empty()) return std::nullopt;
  Errand errand;
  errand.order = order_;
  errand.lists_begun = lists_begun_;
  errand.index = index_;
  if (!cores_.empty()) {
    std::set<const Core*> cores;
    for (const LanePtr& lane : index_->lanes()) {
      if (!cores_.contains(lane->core.get())) continue;
      errand.cores.push_back(lane->core);
      cores.insert(lane->core.get());
    }
    errand.lists = lists_for(cores);
    begin_sweeps(cores);
  } else {
    for (const auto& [ns, order] : namespaces_) errand.lists.push_back(ns);
  }
  errand_ = true;
  touched_.clear();
  return errand;
}

bool Watch::handle_listed(const Errand& errand, const std::vector<const Core*>& only,
                          base::json::View object) {
  const base::SteadyTime began = services_.clock.steady_now();
  {
    const std::scoped_lock lock(mutex_);
    if (muted_ || lists_begun_ != errand.lists_begun) return false;
    const auto id = applier_.identify(object);
    if (!id || left_out_.contains(id->ns) || touched_.contains(id->uid_hash)) return true;
    applier_.exists(*index_, object, *id, only);
  }
  services_.meter.add(services_.clock.steady_now() - began);
  return true;
}

void Watch::run(const base::Context& context, const Errand& errand) {
  const auto list_all = [&]() -> base::Result<> {
    KL_ASSIGN(const auto place, services_.gate.enter(context));
    ErrandReceiver receiver(*this, errand);
    for (const std::string& ns : errand.lists) {
      services_.meter.lists_beside_watches.fetch_add(1);
      kube::ListQuery query;
      query.resource = resource_;
      query.ns = ns.empty() ? ns_ : ns;
      query.page_size = services_.options.page_size;
      KL_TRY(services_.client.list(context, query, receiver));
    }
    return {};
  };
  finish(errand, list_all());
  services_.bell.plan();
}

void Watch::finish(const Errand& errand, const base::Result<>& outcome) {
  const std::scoped_lock lock(mutex_);
  errand_ = false;
  touched_.clear();
  if (muted_ || lists_begun_ != errand.lists_begun) return;
  if (!outcome) {
    note_trouble(outcome.error());
    const kube::ReflectorOptions& pace = services_.options.reflector;
    const auto doublings = std::min(errand_failures_++, 10U);
    errand_after_ = services_.clock.steady_now() +
                    std::min(pace.backoff_cap, pace.backoff_base * (1U << doublings));
    if (services_.log != nullptr) {
      services_.log->debug("list beside a watch",
                           {{"of", resource_.plural}, {"error", outcome.error().message}});
    }
    return;
  }
  errand_failures_ = 0;
  errand_after_ = {};
  std::set<const Core*> cores;
  for (const auto& core : errand.cores) {
    cores.insert(core.get());
    const auto want = cores_.find(core.get());
    if (want != cores_.end() && want->second <= errand.order) cores_.erase(want);
  }
  if (!cores.empty()) {
    end_sweeps(*errand.index, cores);
    return;
  }
  for (const std::string& ns : errand.lists) {
    const auto want = namespaces_.find(ns);
    if (want != namespaces_.end() && want->second <= errand.order) namespaces_.erase(want);
  }
}

}  // namespace kollect::collector
