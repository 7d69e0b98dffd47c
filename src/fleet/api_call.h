// What the routes of the fleet API share: a request with its path taken apart, its parts, and
// answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "fleet/fleet.h"
#include "fleet/model.h"
#include "fleet/problem.h"
#include "fleet/tokens.h"
#include "http/server.h"

namespace kollect::fleet {

inline constexpr std::string_view kFluxPath = "/api/v2/flux/clusters";
/// Segments of the path of the fleet list, and of a cluster's polls.
inline constexpr std::size_t kListDepth = 4;
inline constexpr std::size_t kClusterDepth = 6;

/// Indices of Api::route_names(); the rows of records come behind them.
enum Counted : std::size_t {
  kNoRoute,
  kHealth,
  kReady,
  kOpenApi,
  kMetrics,
  kFluxClusters,
  kFluxComponents,
  kFluxNamespaces,
  kFluxRoleBindings,
  kFirstRow,
};

struct Call {
  const http::ServerRequest& request;
  std::string method;  ///< HEAD counts as GET
  std::vector<std::string> segments;
  Actor actor;
  // What the pattern of the route names.
  Family family = Family::kCluster;
  std::string id = {};
  Family definitions = Family::kComponent;  ///< of a part of a cluster
  std::string part = {};
  std::size_t route = kNoRoute;  ///< for the meter: index of Api::route_names()

  [[nodiscard]] bool reads() const { return method == "GET" || method == "OPTIONS"; }
  [[nodiscard]] bool polls() const;
  /// What a token must be good for.
  [[nodiscard]] Need need() const;
  /// The version of If-Match; none: any.
  [[nodiscard]] Outcome<std::optional<std::uint64_t>> expected() const;
  /// A parameter of the query; none: not there.
  [[nodiscard]] std::optional<std::string> parameter(const std::string& name) const;
  /// A parameter that must be a number, and there once at most.
  [[nodiscard]] Outcome<std::optional<std::uint64_t>> number(const std::string& name) const;
  /// `limit`, `offset`, `cursor`, `shard`.
  [[nodiscard]] Outcome<ListQuery> list_query() const;
  /// `?name=true` or `?name=false`; not there: false. 400 for anything else.
  [[nodiscard]] Outcome<bool> flag(const std::string& name) const;
  /// The JSON of the body; 413 past `most_bytes`.
  [[nodiscard]] Outcome<base::json::Value> body(std::size_t most_bytes = 2U << 20U) const;
  /// If-None-Match: the client has what it asks for.
  [[nodiscard]] bool knows(const std::string& etag) const;
};

http::Answer refused(const Problem& problem);
http::Answer refused(int status, const char* code, std::string message);
http::Answer no_route();
http::Answer not_allowed(const std::string& allow);
http::Answer shown_json(const base::json::Value& value);

std::string etag_of(std::uint64_t version);
/// With its ETag; without its body when the client knows it.
http::Answer shown_record(const Call& call, Family family, const Record& record);
/// After a write: the record, its ETag, the warnings.
http::Answer written(Family family, const Kept& kept);
void add_warnings(http::Answer& answer, const std::vector<std::string>& warnings);

}  // namespace kollect::fleet
