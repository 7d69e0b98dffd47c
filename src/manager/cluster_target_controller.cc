#include "manager/cluster_target_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/owners.h"
#include "manager/scope_rules.h"
#include "manager/target_parts.h"
#include "manager/upkeep.h"

namespace kollect::manager {

using base::json::Value;

namespace {

constexpr const char* kKind = "KollectClusterTarget";
constexpr const char* kFinalizer = "kollect.dev/cluster-target-cleanup";

}  // namespace

base::Result<ClusterTargetController::ProfilePtr> ClusterTargetController::profile_of(
    const api::ClusterTargetSpec& spec) const {
  const std::string& ns = spec.profile_ref.ns;
  const std::string& name = spec.profile_ref.name;
  const auto& watched = options_.watch_namespaces;
  if (!watched.empty() && std::ranges::find(watched, ns) == watched.end()) {
    return base::denied(
        fmt::format("profile {}/{}: the operator does not read that namespace", ns, name),
        "ProfileForbidden");
  }
  if (const auto error = caches_.profiles.lookup_error(ns)) {
    return base::denied(fmt::format("profile {}/{} cannot be read: {}", ns, name, error->message),
                        "ProfileForbidden");
  }
  ProfilePtr profile = caches_.profiles.get({.ns = ns, .name = name});
  if (!profile || profile->problem) {
    return base::not_found(fmt::format("there is no profile {} in namespace {}", name, ns),
                           "ProfileNotFound");
  }
  return profile;
}

void ClusterTargetController::tell_where(const std::vector<api::GroupVersionKind>& kinds,
                                         const std::vector<std::string>& effective,
                                         ClusterTargetStanding& standing) const {
  standing.namespaces = effective;
  for (const api::GroupVersionKind& kind : kinds) {
    const auto found = collector_.find_kind(kind);
    if (!found) {
      standing.namespaces.reset();
    } else if (!found->resource.namespaced) {
      standing.cluster_scoped = true;
    }
  }
}

void ClusterTargetController::set_standing(const std::string& name, ClusterTargetStanding standing,
                                           bool leaves, std::uint64_t as_of) {
  if (board_.set(name, std::move(standing), as_of) && on_standing_) on_standing_(name, leaves);
}

void ClusterTargetController::read_signals(const std::string& name, TargetFacts& facts,
                                           ClusterTargetStanding& standing) {
  const collector::Signals signals = collector_.signals(owner_of_cluster_target(name));
  const ClusterTargetStanding before = board_.of(name);
  TargetStanding same;
  same.phase = before.refused ? TargetPhase::kUnreadable : TargetPhase::kUnknown;
  same.unread = before.unread;
  const TargetStanding now = take_signals(signals, facts, same);
  standing.unread = now.unread;
  standing.refused = now.phase == TargetPhase::kUnreadable &&
                     (before.refused || (signals.error && signals.error->reason == "forbidden"));
  // A right that is back is of no use before what it is for was read.
  if (standing.refused && !facts.failed) facts.complete = false;
}

std::optional<base::Error> ClusterTargetController::collect(const Ptr& target, StatusDraft& draft,
                                                            TargetFacts& facts,
                                                            ClusterTargetStanding& standing) {
  const api::ClusterTargetSpec& spec = target->object.spec;
  if (target->problem) return unreadable(*target->problem);
  if (spec.suspend.value_or(false)) {
    return base::configuration("spec.suspend is set; nothing is collected and its rows are removed",
                               "Suspended");
  }
  KL_ASSIGN(const ProfilePtr profile, profile_of(spec));
  facts.profile = spec.profile_ref.ns + "/" + spec.profile_ref.name;
  const select::Filter filter{
      .common = &spec,
      .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr};
  KL_ASSIGN(auto selection, compile_selection(filter, profile->object.spec.target_gvk));
  KL_ASSIGN(auto program, compile_program(*profile, spec.resource_rules, options_.extract));
  const collector::KnownNamespaces known = collector_.namespaces();
  if (!known.known && !known.error) {
    facts.waiting = "namespaces are not known yet";
    return std::nullopt;
  }
  select::Namespaces named;
  if (!known.known) {
    KL_ASSIGN(named, named_namespaces(selection, "", *known.error));
  }
  select::NamespaceLimits limits{.default_included = options_.default_included,
                                 .default_excluded = options_.default_excluded,
                                 .watch_namespaces = options_.watch_namespaces,
                                 .allowed = {},
                                 .denied = {}};
  KL_ASSIGN(const auto scope, enforced_scope(caches_.scopes, ""));
  if (scope) {
    limits.allowed = scope->object.spec.allowed_namespaces;
    limits.denied = scope->object.spec.denied_namespaces;
  }
  const bool no_namespaces = cluster_scoped_only(collector_, selection.kinds()).value_or(false);
  const select::NamespaceResult namespaces =
      no_namespaces ? select::NamespaceResult()
                    : selection.namespaces(known.known ? *known.all : named, limits);
  tell_where(selection.kinds(), namespaces.effective, standing);
  draft.set_field("matchedNamespaces", strings(namespaces.matched));
  draft.set_field("effectiveNamespaces", strings(namespaces.effective));
  draft.set_field("activeResourceRules", static_cast<std::int64_t>(spec.resource_rules.size()));
  if (scope) {
    if (auto denied =
            place_denied(scope->meta().name, scope->object.spec, "profile " + facts.profile,
                         spec.profile_ref.ns, "ScopeNamespaceDenied")) {
      return denied;
    }
    if (auto denied = rules_of(*scope).kinds_denied(selection.kinds())) return denied;
    if (auto denied = rules_of(*scope).resource_denied(profile->object.spec)) return denied;
  }
  facts.namespaces = namespaces.effective.size();
  collector_.register_target({.target = owner_of_cluster_target(target->key().name),
                              .selection = std::move(selection),
                              .program = std::move(program),
                              .effective = namespaces.effective,
                              .fingerprint = fingerprint_of(target->meta(), *profile),
                              .cluster = {}});
  return std::nullopt;
}

base::Result<std::optional<base::Duration>> ClusterTargetController::reconcile(
    const base::Context& context, const Key& key) {
  const Ptr target = caches_.targets.get(key);
  if (!target || target->deleting()) {
    if (board_.forget(key.name) && on_standing_) on_standing_(key.name, true);
    collector_.unregister_target(owner_of_cluster_target(key.name));
  }
  if (!target) {
    return std::optional<base::Duration>();
  }
  const Subject subject = subject_of(kKind, target->manifest);
  if (target->deleting()) {
    KL_TRY(let_go(context, writer_, target->manifest, subject, kFinalizer));
    return std::optional<base::Duration>();
  }
  KL_ASSIGN(const Ptr kept,
            with_finalizer(context, writer_, caches_.targets, target, subject, kFinalizer));
  if (!kept) return std::optional<base::Duration>();
  return live(context, kept, subject_of(kKind, kept->manifest));
}

base::Result<std::optional<base::Duration>> ClusterTargetController::live(
    const base::Context& context, const Ptr& target, const Subject& subject) {
  // A profile or scope that the caches do not have yet is not one that does not exist.
  if (caches_.profiles.waiting(target->object.spec.profile_ref.ns) || caches_.scopes.waiting()) {
    return std::optional<base::Duration>(kLookAgain);
  }
  StatusDraft draft(target->manifest, clock_.now());
  TargetFacts facts;
  facts.namespaces = 0;
  ClusterTargetStanding standing;
  const std::uint64_t as_of = board_.refusals(target->meta().name);
  facts.blocked = collect(target, draft, facts, standing);
  if (facts.blocked) {
    // Before its rows go: inventories shall not take that for a change of what there is.
    standing.phase = ClusterTargetStanding::Phase::kDegraded;
    set_standing(target->meta().name, standing, true);
    collector_.unregister_target(owner_of_cluster_target(target->key().name));
  } else {
    read_signals(target->key().name, facts, standing);
  }
  tell(context, writer_, subject, set_target_conditions(draft, facts));
  standing.phase =
      !draft.reason_of("Degraded", "True").empty() ? ClusterTargetStanding::Phase::kDegraded
      : !draft.reason_of("Ready", "True").empty()  ? ClusterTargetStanding::Phase::kReady
                                                   : ClusterTargetStanding::Phase::kWaiting;
  set_standing(target->meta().name, standing, false, facts.blocked ? UINT64_MAX : as_of);
  KL_TRY(write_status(context, writer_, caches_.targets, subject, draft));
  return std::optional<base::Duration>(
      facts.complete ? options_.count_resync
                     : std::min<base::Duration>(options_.count_resync, kLookAgain));
}

}  // namespace kollect::manager
