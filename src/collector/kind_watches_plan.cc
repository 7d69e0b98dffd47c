// Which watches there should be, and how to get there.
#include <algorithm>

#include "collector/kind_watches.h"

namespace kollect::collector {

void KindWatches::plan(base::SteadyTime now) {
  refresh_index();
  look_at_trouble(now);
  Goal goal = decide(now);
  std::set<std::string> newly;
  std::ranges::set_difference(goal.forbidden, goal_.forbidden, std::inserter(newly, newly.end()));
  const bool everything = goal.forbidden_everything && !goal_.forbidden_everything;
  goal_ = std::move(goal);
  announce(newly, everything);
  pursue();
  // What may not be read any more is not told any more.
  for (const auto& [target, placed] : lanes_) drop_rows(*placed.lane, newly);
  if (goal_.forbidden_everything) {
    for (auto& [target, placed] : lanes_) {
      drop_leftovers(*placed.lane->core, std::exchange(placed.leftovers, {}));
    }
  }
  settle_leftovers();
  start_errands(now);
}

void KindWatches::announce(const std::set<std::string>& newly, bool everything) {
  if (!*tools_.services.refused || (newly.empty() && !everything)) return;
  for (const auto& [target, placed] : lanes_) {
    Refusal refusal{.target = target, .everything = everything};
    std::ranges::copy_if(placed.lane->effective, std::back_inserter(refusal.namespaces),
                         [&](const std::string& ns) { return newly.contains(ns); });
    if (refusal.namespaces.empty() && !everything) continue;
    (*tools_.services.refused)(refusal);
    tools_.services.bell.signal(target);
  }
}

void KindWatches::look_at_trouble(base::SteadyTime now) {
  for_watches([&](Watch& watch) {
    const Watch::Trouble trouble = watch.take_trouble();
    if (trouble.list_refused) {
      tools_.access.refused(resource_, watch.ns(), now, *trouble.list_refused);
    } else if (trouble.watch_refused) {
      tools_.access.doubt(resource_, watch.ns());
    }
    if (!tools_.services.options.access_reviews) watch.probe(now);
    if (trouble.not_served) tools_.kinds.suspect();
  });
}

KindWatches::Goal KindWatches::decide(base::SteadyTime now) {
  Goal goal;
  if (lanes_.empty()) return goal;
  const bool one_by_one = tools_.services.options.tenant_mode;
  if (resource_.namespaced) {
    if (needed_.empty()) return goal;
    // A watch on everything is not narrowed again.
    const bool single = needed_.size() == 1 && !watches_.contains("");
    if (one_by_one || single) {
      decide_one_by_one(goal, now);
      return goal;
    }
  }
  const Access access = tools_.access.ask(resource_, "", now);
  goal.access_error = access.error;
  switch (access.verdict) {
    case Access::Verdict::kUnknown:
      goal.keep = true;
      goal.forbidden = goal_.forbidden;
      goal.message = goal_.message;
      break;
    case Access::Verdict::kAllowed:
      goal.everything = true;
      break;
    case Access::Verdict::kDenied:
      goal.message = access.message;
      if (resource_.namespaced) {
        decide_one_by_one(goal, now);
      } else {
        goal.forbidden_everything = true;
      }
      break;
  }
  return goal;
}

void KindWatches::decide_one_by_one(Goal& goal, base::SteadyTime now) {
  for (const std::string& ns : needed_) {
    const Access access = tools_.access.ask(resource_, ns, now);
    if (access.error && !goal.access_error) goal.access_error = access.error;
    switch (access.verdict) {
      case Access::Verdict::kUnknown:
        goal.undecided.insert(ns);
        break;
      case Access::Verdict::kAllowed:
        goal.namespaces.insert(ns);
        break;
      case Access::Verdict::kDenied:
        goal.forbidden.insert(ns);
        goal.message = access.message;
        break;
    }
  }
}

void KindWatches::pursue() {
  if (goal_.keep) return;
  if (goal_.everything) {
    pursue_everything();
  } else {
    pursue_namespaces();
  }
}

void KindWatches::pursue_everything() {
  const auto found = watches_.find("");
  if (found == watches_.end()) {
    std::set<std::string> left_out;
    for (auto& [ns, watch] : watches_) {
      if (!watch->synced()) {
        retire(std::move(watch));
        continue;
      }
      left_out.insert(ns);
      leaving_[ns] = std::move(watch);
    }
    watches_.clear();
    open("", std::move(left_out));
    return;
  }
  if (leaving_.empty() || !found->second->synced()) return;
  // From here on the new watch handles what the old ones did, and lists it once more: between its
  // first list and now only they did. They end first: whatever they have done is older than that
  // list.
  std::set<std::string> namespaces;
  for (auto& [ns, watch] : leaving_) {
    namespaces.insert(ns);
    retire(std::move(watch));
  }
  leaving_.clear();
  found->second->take_over(namespaces);
}

void KindWatches::pursue_namespaces() {
  if (const auto all = watches_.find(""); all != watches_.end()) {
    const WatchPtr watch = std::move(all->second);
    watches_.erase(all);
    retire(watch);
    // They never ended.
    watches_.merge(leaving_);
    leaving_.clear();
  }
  for (auto it = watches_.begin(); it != watches_.end();) {
    if (goal_.namespaces.contains(it->first) || goal_.undecided.contains(it->first)) {
      ++it;
      continue;
    }
    retire(std::move(it->second));
    it = watches_.erase(it);
  }
  for (const std::string& ns : goal_.namespaces) {
    if (!watches_.contains(ns)) open(ns);
  }
}

void KindWatches::open(const std::string& ns, std::set<std::string> left_out) {
  const auto watch = std::make_shared<Watch>(tools_.services, resource_, ns, ++tools_.last_source);
  if (const base::Logger* log = tools_.services.log) {
    log->info("watch opened", {{"resource", resource_.plural},
                               {"group", resource_.group},
                               {"namespace", ns.empty() ? "all" : ns}});
  }
  watch->open(index_, std::move(left_out));
  watches_[ns] = watch;
}

void KindWatches::bury(WatchPtr watch) {
  watch->mute();
  // Its end waits for a thread.
  tools_.quick.post([watch = std::move(watch)](const base::Context&) mutable { watch.reset(); });
}

void KindWatches::retire(WatchPtr watch) {
  for (auto& [target, placed] : lanes_) {
    for (const inventory::Owner& owner : placed.lane->owners) {
      placed.leftovers.push_back({.owner = owner, .source = watch->source()});
    }
  }
  bury(std::move(watch));
}

void KindWatches::settle_leftovers() {
  for (auto& [target, placed] : lanes_) {
    if (placed.leftovers.empty() || !settled(*placed.lane)) continue;
    drop_leftovers(*placed.lane->core, std::exchange(placed.leftovers, {}));
  }
}

void KindWatches::drop_leftovers(const Core& core, const std::vector<Leftover>& leftovers) {
  for (const Leftover& leftover : leftovers) {
    tools_.services.store.drop_source(leftover.owner, leftover.source);
    core.tally->drop_source(leftover.source);
  }
}

void KindWatches::start_errands(base::SteadyTime now) {
  for (const auto& [ns, watch] : watches_) {
    auto errand = watch->next_errand(now);
    if (!errand) continue;
    tools_.lists.post([watch, errand = std::move(*errand)](const base::Context& context) {
      watch->run(context, errand);
    });
  }
}

}  // namespace kollect::collector
