// The admission rules of each kind on decoded objects (spec: crds 5). Internal to the room, and for
// its tests.
#pragma once

#include "admission/findings.h"
#include "api/types.h"

namespace kollect::admission {

void check_profile(Findings& findings, const api::Profile& profile, const RuleContext& context);
void check_target(Findings& findings, const api::Target& target, const RuleContext& context);
void check_cluster_target(Findings& findings, const api::ClusterTarget& target,
                          const RuleContext& context);
void check_inventory(Findings& findings, const api::Inventory& inventory,
                     const RuleContext& context);
void check_cluster_inventory(Findings& findings, const api::ClusterInventory& inventory,
                             const RuleContext& context);
void check_snapshot_sink(Findings& findings, const api::SnapshotSink& sink,
                         const RuleContext& context);
void check_database_sink(Findings& findings, const api::DatabaseSink& sink,
                         const RuleContext& context);
void check_event_sink(Findings& findings, const api::EventSink& sink, const RuleContext& context);
void check_scope(Findings& findings, const api::Scope& scope, const RuleContext& context);
void check_cluster_scope(Findings& findings, const api::ClusterScope& scope,
                         const RuleContext& context);
void check_connection_test(Findings& findings, const api::ConnectionTest& test,
                           const RuleContext& context);

/// Format that a sink of this type writes when nothing is said, or what is said (spec: crds 4.10,
/// 7).
std::string effective_format(const api::SnapshotSinkSpec& spec);

}  // namespace kollect::admission
