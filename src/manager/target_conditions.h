// The condition tables of KollectTarget and KollectClusterTarget as a function of facts (spec:
// runtime 7.1, 7.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "manager/inventory_conditions.h"
#include "manager/status_draft.h"

namespace kollect::manager {

struct TargetFacts {
  std::string profile = {};
  /// Why nothing is collected; its reason is the condition's (Suspended, ProfileNotFound,
  /// ScopeGVKDenied, InformerRegistrationFailed, ...).
  std::optional<base::Error> blocked = {};
  /// A kind of it cannot be read (now); its reason is InformerRegistrationFailed.
  std::optional<base::Error> failed = {};
  std::string waiting = {};  ///< what it waits for before it can begin
  bool complete = false;     ///< the first lists are in
  std::uint64_t rows = 0;
  std::vector<std::string> forbidden_namespaces = {};
  std::optional<std::string> access_check_error = {};
  std::uint64_t extraction_failures = 0;
  std::string last_extraction_error = {};
  /// First missing or broken sink of the namespace's inventories, or why these cannot be listed;
  /// its reason is the condition's.
  std::optional<base::Error> sink_problem = {};
  std::size_t sinks = 0;
  /// Of a cluster target: how many namespaces it collects from. Sinks are not asked then.
  std::optional<std::size_t> namespaces = {};
};

/// Sets Ready, Synced, SinkReachable and Degraded; in the order of the steps.
std::vector<Told> set_target_conditions(StatusDraft& draft, const TargetFacts& facts);

}  // namespace kollect::manager
