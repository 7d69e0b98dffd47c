#include "manager/target_controller.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/json/write.h"
#include "base/strings.h"
#include "manager/owners.h"
#include "manager/scope_rules.h"
#include "manager/target_parts.h"
#include "manager/upkeep.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Value;

namespace {

constexpr const char* kKind = "KollectTarget";
constexpr const char* kFinalizer = "kollect.dev/target-cleanup";

}  // namespace

select::NamespaceLimits TargetController::limits(const ScopePtr& scope) const {
  select::NamespaceLimits result{.default_included = options_.default_included,
                                 .default_excluded = options_.default_excluded,
                                 .watch_namespaces = options_.watch_namespaces,
                                 .allowed = {},
                                 .denied = {}};
  if (scope) {
    result.allowed = scope->object.spec.allowed_namespaces;
    result.denied = scope->object.spec.denied_namespaces;
  }
  return result;
}

std::optional<base::Error> TargetController::check_scope(
    const Ptr& target, const ScopePtr& scope, const select::Selection& selection,
    const select::NamespaceResult* namespaces) const {
  std::optional<ScopeRules> rules;
  if (scope) rules = rules_of(*scope);
  if (rules) {
    if (auto denied = rules->kinds_denied(selection.kinds())) return denied;
  }
  if (options_.tenant_mode || (rules && !rules->spec->allowed_namespaces.empty())) {
    auto denied = cluster_kinds_denied(collector_, selection.kinds(), rules ? &*rules : nullptr);
    if (denied) return denied;
  }
  if (!rules || namespaces == nullptr) return std::nullopt;
  const std::vector<std::string> own = {target->meta().ns};
  return rules->namespaces_denied(!namespaces->matched.empty()     ? namespaces->matched
                                  : !namespaces->effective.empty() ? namespaces->effective
                                                                   : own);
}

std::optional<base::Error> TargetController::collect(const Ptr& target, StatusDraft& draft,
                                                     TargetFacts& facts, TargetPhase& phase) {
  const api::TargetSpec& spec = target->object.spec;
  const std::string& ns = target->meta().ns;
  phase = TargetPhase::kGone;
  if (target->problem) return unreadable(*target->problem);
  if (spec.suspend.value_or(false)) {
    return base::configuration("spec.suspend is set; nothing is collected and its rows are removed",
                               "Suspended");
  }
  if (spec.profile_ref.empty()) {
    return base::configuration("spec.profileRef names no profile", "MissingProfileRef");
  }
  if (const auto error = caches_.profiles.lookup_error(ns)) {
    phase = TargetPhase::kUnreadable;
    return base::denied("profiles cannot be listed: " + error->message, "ProfileForbidden");
  }
  const ProfilePtr profile = caches_.profiles.get({.ns = ns, .name = spec.profile_ref});
  if (!profile || profile->problem) {
    return base::not_found(
        fmt::format("there is no profile {} in namespace {}", spec.profile_ref, ns),
        "ProfileNotFound");
  }
  facts.profile = spec.profile_ref;
  // From here on something is wrong with what may be read, not with what is wanted: what was
  // exported stays.
  phase = TargetPhase::kUnreadable;
  const select::Filter filter{
      .common = &spec,
      .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr,
      .label_selector = spec.label_selector ? &*spec.label_selector : nullptr,
      .names = &spec.names,
      .opt_in = spec.watch_mode == "OptIn"};
  KL_ASSIGN(const ScopePtr scope, enforced_scope(caches_.scopes, ns));
  if (scope) {
    if (auto denied = rules_of(*scope).resource_denied(profile->object.spec)) {
      // What may not leave does not stay where it went either.
      phase = TargetPhase::kGone;
      return denied;
    }
  }
  KL_ASSIGN(auto selection, compile_selection(filter, profile->object.spec.target_gvk));
  KL_ASSIGN(auto program, compile_program(*profile, spec.resource_rules, options_.extract));
  const collector::KnownNamespaces known = collector_.namespaces();
  if (!known.known && !known.error) {
    phase = TargetPhase::kUnknown;
    facts.waiting = "namespaces are not known yet";
    return std::nullopt;
  }
  select::Namespaces named;
  if (!known.known) {
    KL_ASSIGN(named, named_namespaces(selection, ns, *known.error));
  }
  const bool no_namespaces = cluster_scoped_only(collector_, selection.kinds()).value_or(false);
  const select::NamespaceResult namespaces =
      no_namespaces ? select::NamespaceResult()
                    : selection.namespaces(known.known ? *known.all : named, limits(scope));
  draft.set_field("matchedNamespaces", strings(namespaces.matched));
  draft.set_field("effectiveNamespaces", strings(namespaces.effective));
  draft.set_field("activeResourceRules", static_cast<std::int64_t>(spec.resource_rules.size()));
  if (auto denied = check_scope(target, scope, selection, no_namespaces ? nullptr : &namespaces)) {
    if (denied->reason != "discovery-pending") return denied;
    phase = TargetPhase::kUnknown;
    facts.waiting = denied->message;
    return std::nullopt;
  }
  collector_.register_target({.target = owner_of_target(target->key()),
                              .selection = std::move(selection),
                              .program = std::move(program),
                              .effective = namespaces.effective,
                              .fingerprint = fingerprint_of(target->meta(), *profile),
                              .cluster = {}});
  return std::nullopt;
}

void TargetController::read_signals(const Ptr& target, StatusDraft& draft, TargetFacts& facts,
                                    TargetStanding& standing) {
  const collector::Signals signals = collector_.signals(owner_of_target(target->key()));
  standing = take_signals(signals, facts, board_.of(target->key()));
  if (!signals.registered) return;
  draft.set_field("extractionFailures", static_cast<std::int64_t>(facts.extraction_failures));
  draft.set_field("lastExtractionError", facts.last_extraction_error.empty()
                                             ? Value()
                                             : Value(facts.last_extraction_error));
  if (!signals.complete) return;
  const Value* count = draft.field("collectedCount");
  const auto rows = static_cast<std::int64_t>(facts.rows);
  if (count != nullptr && count->is_int() && count->as_int() == rows) return;
  draft.set_field("collectedCount", rows);
  draft.set_field("collectedCountUpdatedAt", base::format_rfc3339_seconds(clock_.now()));
}

void TargetController::check_sinks(const base::Context& context, const std::string& ns,
                                   TargetFacts& facts) {
  std::set<std::string> seen;
  const auto check = [&](const char* family, const std::vector<api::SinkReference>& list) {
    for (const api::SinkReference& reference : list) {
      const SinkName name{.family = family, .ns = ns, .name = reference.name};
      if (!seen.insert(name.text()).second) continue;
      ++facts.sinks;
      if (facts.sink_problem) continue;
      if (const auto sink = sinks_.resolve(context, name); !sink) {
        facts.sink_problem = sink.error();
        if (facts.sink_problem->reason.empty()) facts.sink_problem->reason = "SinkLookupFailed";
      }
    }
  };
  if (const auto error = caches_.inventories.lookup_error(ns)) {
    facts.sink_problem = error->with_prefix("inventories cannot be listed");
    facts.sink_problem->reason = "InventoryListFailed";
    return;
  }
  for (const auto& inventory : caches_.inventories.in_namespace(ns)) {
    check("snapshot", inventory->object.spec.snapshot_sink_refs);
    check("database", inventory->object.spec.database_sink_refs);
    check("event", inventory->object.spec.event_sink_refs);
  }
}

void TargetController::set_standing(const Key& key, TargetStanding standing, std::uint64_t as_of) {
  if (board_.set(key, std::move(standing), as_of) && on_phase_) on_phase_(key);
}

base::Result<std::optional<base::Duration>> TargetController::reconcile(
    const base::Context& context, const Key& key) {
  const Ptr target = targets_.get(key);
  if (!target) {
    collector_.unregister_target(owner_of_target(key));
    if (board_.forget(key) && on_phase_) on_phase_(key);
    return std::optional<base::Duration>();
  }
  const Subject subject = subject_of(kKind, target->manifest);
  if (target->deleting()) {
    collector_.unregister_target(owner_of_target(key));
    set_standing(key, {.phase = TargetPhase::kGone});
    KL_TRY(let_go(context, writer_, target->manifest, subject, kFinalizer));
    return std::optional<base::Duration>();
  }
  KL_ASSIGN(const Ptr kept,
            with_finalizer(context, writer_, targets_, target, subject, kFinalizer));
  if (!kept) return std::optional<base::Duration>();
  return live(context, kept, subject_of(kKind, kept->manifest));
}

base::Result<std::optional<base::Duration>> TargetController::live(const base::Context& context,
                                                                   const Ptr& target,
                                                                   const Subject& subject) {
  // A profile or scope that the caches do not have yet is not one that does not exist: judging now
  // would let an inventory export without this target's rows.
  const std::string& ns = target->meta().ns;
  if (caches_.profiles.waiting(ns) || caches_.scopes.waiting(ns) ||
      caches_.inventories.waiting(ns)) {
    set_standing(target->key(), {.phase = TargetPhase::kUnknown});
    return std::optional<base::Duration>(kLookAgain);
  }
  StatusDraft draft(target->manifest, clock_.now());
  TargetFacts facts;
  TargetStanding standing;
  const std::uint64_t as_of = board_.refusals(target->key());
  facts.blocked = collect(target, draft, facts, standing.phase);
  if (facts.blocked) {
    // Before its rows go: inventories shall not take that for a change of what there is.
    set_standing(target->key(), standing);
    collector_.unregister_target(owner_of_target(target->key()));
  } else {
    read_signals(target, draft, facts, standing);
    set_standing(target->key(), std::move(standing), as_of);
  }
  // Exports need not wait for what the status says of sinks.
  if (sinks_.waiting("", ns)) return std::optional<base::Duration>(kLookAgain);
  if (!facts.blocked) check_sinks(context, ns, facts);
  tell(context, writer_, subject, set_target_conditions(draft, facts));
  KL_TRY(write_status(context, writer_, targets_, subject, draft));
  return std::optional<base::Duration>(
      facts.complete ? options_.count_resync
                     : std::min<base::Duration>(options_.count_resync, kLookAgain));
}

}  // namespace kollect::manager
