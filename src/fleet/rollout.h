// Rollouts: batches that are recorded, can be looked at and undone, and the flows of a fleet that
// become one (spec: fleet-api 1, 15.5).
//
// {"kind": ..., "note": ..., "dry_run": true} and what the kind needs. Clusters are "ids",
// "environment" or "selector" (batch.h).
//   batch         "operations"
//   component     "component" (an id, or a catalog entry to make), clusters, "reference", "patches"
//   upgrade       "component" and members of its catalog entry; "clear_overrides"
//   canary        "component", "component_path" and "oci_tag" (one at least), clusters
//   hotfix        "component", "oci_tag", clusters
//   promote       "component", "from" (an environment) or "from_cluster", "to" (an environment, or
//                 "catalog": the default of all, and overrides that say the same go),
//                 "assign_missing"
//   decommission  clusters
#pragma once

#include <optional>
#include <string>

#include "base/json/value.h"
#include "fleet/batch.h"
#include "fleet/fleet.h"

namespace kollect::fleet {

/// Does a rollout, or says what it would do. {"id" (null: nothing was changed), "kind", "dry_run",
/// "operations", "created", "changed", "deleted", "unchanged", "reaches", "results", "warnings"}.
Outcome<base::json::Value> run_rollout(Fleet& fleet, const base::json::Value& body,
                                       const Actor& actor);
/// The operations that a rollout is. Errors: 404, 409, 422.
Outcome<base::json::Value> operations_of(const Draft& draft, const base::json::Value& body);

/// {"rollouts": [...], "cursor"}, newest first.
Outcome<base::json::Value> list_rollouts(Fleet& fleet, std::optional<std::int64_t> before,
                                         std::size_t limit);
/// One, with "members": what it changed.
Outcome<base::json::Value> get_rollout(Fleet& fleet, const std::string& id);
/// Puts back what the rollout changed, and nothing that was changed since. 409 when its own members
/// were changed again, or it is undone already. A rollout of its own, answered as run_rollout.
Outcome<base::json::Value> undo_rollout(Fleet& fleet, const std::string& id, bool dry_run,
                                        const Actor& actor);

/// Which state of a record: with a version, or after an entry of the trail (before it, if that is a
/// deletion).
struct Earlier {
  enum class By : std::uint8_t { kVersion, kSequence };
  By by = By::kVersion;
  std::int64_t number = 1;
};
/// Makes the record as it was, a deleted one too. 404 when the trail does not know that state.
Outcome<Kept> restore_record(Fleet& fleet, Family family, const std::string& id,
                             const Earlier& earlier, std::optional<std::uint64_t> if_match,
                             const Actor& actor);

}  // namespace kollect::fleet
