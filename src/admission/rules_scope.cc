// KollectScope and KollectClusterScope (K1 to K4), KollectConnectionTest (C1 to C4) (spec:
// crds 5.7, 5.8, 5.11).
#include <algorithm>
#include <set>

#include "admission/checks.h"
#include "admission/rules.h"

namespace kollect::admission {

namespace {

/// K4: the first empty or repeated entry of a sink list.
std::optional<std::string> list_problem(const char* name, const std::vector<std::string>& values) {
  std::set<std::string_view> seen;
  for (const std::string& value : values) {
    if (value.empty()) {
      return fmt::format("{} must not hold an empty name", name);
    }
    if (!seen.insert(value).second) {
      return fmt::format("{} holds {} twice", name, value);
    }
  }
  return std::nullopt;
}

void check_ceiling(Findings& findings, const api::ScopeSpec& spec) {
  for (std::size_t i = 0; i < spec.allowed_gvks.size(); ++i) {
    check_gvk(findings, fmt::format("spec.allowedGVKs[{}]", i), spec.allowed_gvks[i]);
  }
  check_unique(findings, "spec.allowedNamespaces", spec.allowed_namespaces);
  check_unique(findings, "spec.deniedNamespaces", spec.denied_namespaces);
  check_interval(findings, "spec.minExportInterval", spec.min_export_interval);
  if (!findings.clean()) {
    return;
  }
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"spec.snapshotSinkRefs", &spec.snapshot_sink_refs},
      {"spec.databaseSinkRefs", &spec.database_sink_refs},
      {"spec.eventSinkRefs", &spec.event_sink_refs}};
  for (const auto& [name, values] : lists) {
    if (const auto problem = list_problem(name, *values)) {
      findings.plain(*problem);
      return;
    }
  }
}

}  // namespace

void check_scope(Findings& findings, const api::Scope& scope, const RuleContext& /*context*/) {
  check_ceiling(findings, scope.spec);
}

void check_cluster_scope(Findings& findings, const api::ClusterScope& scope,
                         const RuleContext& /*context*/) {
  check_ceiling(findings, scope.spec);
}

void check_connection_test(Findings& findings, const api::ConnectionTest& test,
                           const RuleContext& /*context*/) {
  const api::ConnectionTestSinkRef& sink = test.spec.sink_ref;
  const std::pair<const char*, const std::string*> members[] = {
      {"spec.sinkRef.snapshotSinkRef", &sink.snapshot_sink_ref},
      {"spec.sinkRef.databaseSinkRef", &sink.database_sink_ref},
      {"spec.sinkRef.eventSinkRef", &sink.event_sink_ref}};
  const auto given = std::count_if(std::begin(members), std::end(members),
                                   [](const auto& member) { return !member.second->empty(); });
  if (given == 0) {
    findings.required("spec.sinkRef",
                      "one of snapshotSinkRef, databaseSinkRef and eventSinkRef must be given");
  } else if (given > 1) {
    findings.invalid("spec.sinkRef",
                     "only one of snapshotSinkRef, databaseSinkRef and eventSinkRef may be given");
  } else {
    for (const auto& [path, name] : members) {
      if (!name->empty()) {
        check_name_ref(findings, path, *name);
      }
    }
  }
  if (!test.spec.profile_ref.empty()) {
    check_name_ref(findings, "spec.profileRef", test.spec.profile_ref);
  }
}

}  // namespace kollect::admission
