// What the engine tells about targets.
#include <algorithm>

#include <fmt/format.h>

#include "collector/engine.h"

namespace kollect::collector {
namespace {

/// Everything of signals but row counts, as text: equal texts need not be told again.
std::string text_of(const Signals& s) {
  const auto error = [](const std::optional<base::Error>& e) {
    return e ? e->reason + ":" + e->message : std::string();
  };
  std::uint64_t mistyped = 0;
  for (const auto& [attribute, count] : s.mistyped) mistyped += count;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}\n{}\n{}\n{}\n{}", s.complete, s.evaluating,
                     fmt::join(s.notes, ","), fmt::join(s.forbidden_namespaces, ","),
                     s.extraction_failures, s.policy_errors, mistyped, s.prune_errors, s.watches,
                     s.registered, error(s.error), error(s.access_check_error),
                     s.last_extraction_error, s.last_policy_error);
}

}  // namespace

std::vector<inventory::Owner> Engine::targets() const {
  const std::scoped_lock lock(mutex_);
  std::vector<inventory::Owner> targets;
  for (const auto& [owner, target] : targets_) targets.push_back(owner);
  return targets;
}

Signals Engine::signals(const inventory::Owner& target) const {
  const std::scoped_lock lock(mutex_);
  const auto found = targets_.find(target);
  if (found == targets_.end()) return {};
  return signals_of(found->second, clock_.steady_now());
}

Signals Engine::signals_of(const Registered& target, base::SteadyTime now) const {
  Signals signals;
  signals.registered = true;
  signals.row_count = count_rows(target);
  // Not placed yet: nothing is known of it.
  signals.complete = !target.placements.empty();
  signals.evaluating = target.dirty;
  for (const auto& [name, placement] : target.placements) {
    add_placement(signals, target, placement, now);
  }
  auto& forbidden = signals.forbidden_namespaces;
  std::ranges::sort(forbidden);
  const auto repeated = std::ranges::unique(forbidden);
  forbidden.erase(repeated.begin(), repeated.end());
  return signals;
}

void Engine::add_placement(Signals& signals, const Registered& target, const Placement& placement,
                           base::SteadyTime now) const {
  signals.complete = signals.complete && (placement.done_once || placement.vanished);
  if (!placement.note.empty()) signals.notes.push_back(placement.note);
  const Tally::Counts counts = placement.tally->counts();
  signals.extraction_failures += counts.failures;
  if (signals.last_extraction_error.empty()) signals.last_extraction_error = counts.last_failure;
  signals.policy_errors += counts.policy_errors;
  if (signals.last_policy_error.empty()) signals.last_policy_error = counts.last_policy_error;
  for (const auto& [attribute, count] : counts.mistyped) signals.mistyped[attribute] += count;
  signals.prune_errors += counts.prune_errors;
  std::optional<base::Error> error = placement.error;
  if (error && error->reason == "discovery-pending") {
    error.reset();
    if (now - placement.since >= options_.first_list_deadline) {
      error = base::retryable("the kinds of the cluster are not known yet", "no-first-list");
    }
  } else if (error && error->kind == base::ErrorKind::kRetryable &&
             now - placement.since < options_.first_list_deadline) {
    error.reset();
  }
  if (placement.kind != nullptr) {
    KindWatches::View view = placement.kind->view(target.registration.target, now);
    signals.evaluating = signals.evaluating || view.evaluating;
    signals.watches += view.watches;
    signals.forbidden_namespaces.insert(signals.forbidden_namespaces.end(), view.forbidden.begin(),
                                        view.forbidden.end());
    if (view.access_error && !signals.access_check_error) {
      signals.access_check_error = view.access_error;
    }
    if (!error) error = std::move(view.error);
  } else {
    signals.evaluating = signals.evaluating || !error;
  }
  if (error && !signals.error) signals.error = std::move(error);
}

std::size_t Engine::count_rows(const Registered& target) const {
  const Registration& registration = target.registration;
  if (registration.target.owner_class == inventory::OwnerClass::kTarget) {
    return store_.row_count(registration.target);
  }
  inventory::Owner owner = registration.target;
  std::size_t rows = store_.row_count(owner);
  for (const std::string& ns : registration.effective) {
    owner.ns = ns;
    rows += store_.row_count(owner);
  }
  return rows;
}

void Engine::log_troubles(const inventory::Owner& owner, Registered& target,
                          const Signals& signals) const {
  if (log_ == nullptr) return;
  const std::string name = owner.ns.empty() ? owner.name : owner.ns + "/" + owner.name;
  // What goes on is not told again, whatever its numbers.
  const bool fails = signals.extraction_failures > 0;
  if (fails && !target.extraction_logged) {
    log_->warn("objects give no row", {{"target", name},
                                       {"objects", std::to_string(signals.extraction_failures)},
                                       {"last", signals.last_extraction_error}});
  }
  target.extraction_logged = fails;
  const bool unsure = signals.access_check_error.has_value();
  if (unsure && !target.access_logged) {
    log_->warn("what may be read cannot be found out",
               {{"target", name}, {"error", signals.access_check_error->message}});
  }
  target.access_logged = unsure;
}

void Engine::note_signals(Bell::Rung& rung, base::SteadyTime now) {
  for (auto& [owner, target] : targets_) {
    for (auto& [name, placement] : target.placements) {
      if (placement.done_once || placement.kind == nullptr) continue;
      placement.done_once = placement.kind->view(owner, now).done;
    }
    const Signals signals = signals_of(target, now);
    std::string text = text_of(signals);
    if (text == target.told) continue;
    log_troubles(owner, target, signals);
    target.told = std::move(text);
    rung.targets.insert(owner);
  }
}

CollectorStats Engine::stats() const {
  CollectorStats stats;
  meter_.fill(stats);
  stats.access_hits = access_.hits();
  stats.access_misses = access_.misses();
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, kind] : watches_) {
    for (WatchStats& watch : kind->stats()) stats.watches.push_back(std::move(watch));
  }
  return stats;
}

}  // namespace kollect::collector
