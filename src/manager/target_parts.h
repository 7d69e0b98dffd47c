// What the controllers of KollectTarget and KollectClusterTarget share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/clock.h"
#include "base/json/value.h"
#include "base/result.h"
#include "collector/collector.h"
#include "extract/program.h"
#include "manager/object_cache.h"
#include "manager/scope_rules.h"
#include "manager/target_board.h"
#include "manager/target_conditions.h"
#include "select/selection.h"

namespace kollect::manager {

/// Until the next look while the first list is on its way; signals come sooner.
inline constexpr base::Duration kLookAgain = std::chrono::seconds(10);

/// A target that does not decode, with reason InformerRegistrationFailed.
base::Error unreadable(base::Error problem);

/// A list for a status field; none for an empty one.
base::json::Value strings(const std::vector<std::string>& list);

/// Both with reason InformerRegistrationFailed.
base::Result<select::Selection> compile_selection(const select::Filter& filter,
                                                  const api::GroupVersionKind& profile_kind);
base::Result<extract::Program> compile_program(const Cached<api::Profile>& profile,
                                               const std::vector<api::ResourceRule>& rules,
                                               const extract::Options& options);

/// Everything that decides what is collected: equal texts need no new registration.
std::string fingerprint_of(const api::Metadata& target, const Cached<api::Profile>& profile);

/// Namespaces for a selection where they cannot be listed: those that it names, else `own` (L-12).
/// Error: it uses labels of namespaces, which nobody knows then.
base::Result<select::Namespaces> named_namespaces(const select::Selection& selection,
                                                  const std::string& own,
                                                  const base::Error& why_unknown);

/// True: all kinds are cluster-scoped; false: none or some; nothing: discovery has not told yet.
std::optional<bool> cluster_scoped_only(const collector::Collector& collector,
                                        const std::vector<api::GroupVersionKind>& kinds);

/// Kinds without namespaces are in no list of namespaces: where such lists bound a target, it may
/// collect them only if `rules` (null: no scope) names them (L-16). ScopeGVKDenied, or
/// InformerRegistrationFailed for a kind of which nobody knows; "discovery-pending": it is not
/// known yet.
std::optional<base::Error> cluster_kinds_denied(const collector::Collector& collector,
                                                const std::vector<api::GroupVersionKind>& kinds,
                                                const ScopeRules* rules);

/// What the collector says of a registered target, and how that counts for inventories.
/// `before`: how it counted so far.
TargetStanding take_signals(const collector::Signals& signals, TargetFacts& facts,
                            const TargetStanding& before);

}  // namespace kollect::manager
