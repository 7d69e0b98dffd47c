// The drift of a fleet: filtered, counted, in pages.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json/value.h"
#include "fleet/drift.h"
#include "fleet/fleet.h"
#include "fleet/observed.h"
#include "fleet/problem.h"

namespace kollect::fleet {

/// Absent filters take everything.
struct DriftQuery {
  std::optional<std::string> cluster = {};  ///< id; also a name of an unknown cluster
  std::optional<std::string> environment = {};
  std::optional<Drift> drift = {};
  std::optional<std::string> component = {};
  /// Only what has been so for that long: neither the object nor the wish for it changed since.
  std::optional<base::Duration> older_than = {};
  /// A cluster that was not seen for longer is stale.
  base::Duration max_age = std::chrono::hours(1);
  std::size_t limit = 1000;
  std::string cursor = {};
};

/// {"at", "summary": {"clusters", "drifting", "findings", "by_finding"} (null with a cursor),
/// "findings": [...], "cursor": null or where to go on}. Clusters by id, then unknown clusters by
/// name. Reads the rows of a few clusters at a time. Problems: 400 (cursor), 503 (the inventory
/// cannot be read), those of the audit trail.
Outcome<base::json::Value> drift_report(Fleet& fleet, Observed& observed, const DriftQuery& query);

/// 503: never an answer that could be taken for "no drift".
std::unexpected<Problem> no_inventory(const base::Error& error);

}  // namespace kollect::fleet
