// GET /drift.
#include <fmt/format.h>

#include <mutex>

#include "fleet/api.h"
#include "fleet/api_call.h"
#include "fleet/drift_report.h"

namespace kollect::fleet {

namespace {

/// Of one look at the inventory.
constexpr auto kLongest = std::chrono::minutes(2);

Outcome<std::optional<base::Duration>> duration(const Call& call, const char* name) {
  const auto text = call.parameter(name);
  if (!text) return std::optional<base::Duration>();
  const auto parsed = base::parse_duration(*text);
  if (!parsed || *parsed < base::Duration::zero()) {
    return bad_request(fmt::format("{}: must be a duration as in 1h30m", name));
  }
  return std::optional(*parsed);
}

Outcome<DriftQuery> read_query(const Call& call) {
  constexpr std::uint64_t kMost = 10000;
  DriftQuery query{.cluster = call.parameter("cluster"),
                   .environment = call.parameter("environment"),
                   .component = call.parameter("component"),
                   .cursor = call.parameter("cursor").value_or("")};
  if (const auto named = call.parameter("finding")) {
    query.drift = drift_named(*named);
    if (!query.drift) return bad_request(fmt::format("finding: {} is none", *named));
  }
  FLEET_ASSIGN(query.older_than, duration(call, "older_than"));
  FLEET_ASSIGN(const auto max_age, duration(call, "max_age"));
  query.max_age = max_age.value_or(query.max_age);
  FLEET_ASSIGN(const auto limit, call.number("limit"));
  query.limit = std::clamp<std::uint64_t>(limit.value_or(query.limit), 1, kMost);
  return query;
}

}  // namespace

Outcome<http::Answer> Api::drift(const Call& call) {
  FLEET_ASSIGN(const DriftQuery query, read_query(call));
  if (!options_.inventory) {
    return not_found("this server knows no inventory: INVENTORY_URL is not set");
  }
  // Each takes one of the few workers for seconds.
  const std::unique_lock alone(drift_, std::try_to_lock);
  if (!alone) {
    return problem(429, "busy", "another answer about drift is being made; ask again in a moment");
  }
  const base::Context context = base::Context(clock_, std::stop_token()).with_timeout(kLongest);
  const auto observed = look_at_inventory(context, *options_.inventory);
  if (!observed) return no_inventory(observed.error());
  FLEET_ASSIGN(const base::json::Value report, drift_report(fleet_, **observed, query));
  return shown_json(report);
}

}  // namespace kollect::fleet
