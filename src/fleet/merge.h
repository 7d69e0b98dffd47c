// Records to the inputs of Flux (spec: fleet-api 5.2, 6), and changes that merge (15.6).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json/value.h"
#include "fleet/model.h"
#include "fleet/problem.h"

namespace kollect::fleet {

/// A definition by its id; null when there is none (its reference is skipped).
using Definitions = std::function<const base::json::Value*(std::string_view id)>;

/// Which ids `depends_on` of a component's input has: the definition's, or of these only other
/// components that are enabled on the cluster (others would never become ready).
enum class Dependencies : std::uint8_t { kAll, kEnabled };

/// Appends the inputs of a cluster to a JSON list, in the order of its references. Every documented
/// key is on every input.
void append_inputs(std::string& out, Family family, const base::json::Value& cluster,
                   const Definitions& definitions, Dependencies dependencies = Dependencies::kAll);
/// An input of the list of all clusters.
void append_cluster_input(std::string& out, const base::json::Value& cluster);

/// `record` with a PATCH body: scalars replace, null clears what may be absent (and empties lists
/// and maps), references merge by id, maps by key. 422.
Outcome<base::json::Value> merged(Family family, const base::json::Value& record,
                                  const base::json::Value& body);

}  // namespace kollect::fleet
