// `kollect doctor`: what is wrong with an installation, in plain words. The checks are functions of
// what was read, so that each can be tried alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "install/rights.h"

namespace kollect::install {

enum class Level {
  kFine,
  kNote,     ///< could not be looked at
  kWarning,  ///< works, but perhaps not as meant
  kWrong,
};

struct Finding {
  Level level = Level::kFine;
  std::string about;  ///< "KollectTarget shop/maps"
  std::string text;
  std::string hint = {};  ///< what to do; may be empty
};
using Findings = std::vector<Finding>;

/// A Deployment of the operator.
struct Operator {
  std::string ns;
  std::string name;
  std::string account;
  Mode mode;
  [[nodiscard]] std::string user() const;  ///< of its service account
  /// Whether it reads objects in this namespace ("" : those without one).
  [[nodiscard]] bool reads(const std::string& object_ns) const;
};
/// Those among Deployments that are operators, by the arguments of their container.
std::vector<Operator> operators_in(const std::vector<base::json::Value>& deployments);

/// All eleven kinds are there, served, and know every field that this program knows.
Findings check_definitions(const std::vector<base::json::Value>& definitions);
/// As many replicas as wanted are available; else why not, as far as `pods` tell.
Finding check_deployment(const base::json::Value& deployment,
                         const std::vector<base::json::Value>& pods);
/// Somebody holds each part's lease and renews it. `leases`: of their namespace.
Finding check_shards(const Operator& one, const std::vector<base::json::Value>& leases,
                     base::WallTime now);
/// Somebody holds the lease and renews it.
Finding check_lease(const Operator& one, const base::json::Value& lease, base::WallTime now);
/// A configuration can be answered: `services` and `slices` are those of its namespaces.
Findings check_webhooks(const base::json::Value& configuration,
                        const std::vector<base::json::Value>& services,
                        const std::vector<base::json::Value>& slices);

/// Our objects by kind.
using ObjectsByKind = std::map<std::string, std::vector<base::json::Value>>;
/// What their statuses say, and what cannot work however long one waits. `operators` may be empty.
Findings check_objects(const ObjectsByKind& objects, const std::vector<Operator>& operators,
                       base::WallTime now);

/// A text for people.
std::string report(const Findings& findings);
/// A line of JSON per finding.
std::string report_json(const Findings& findings);

}  // namespace kollect::install
