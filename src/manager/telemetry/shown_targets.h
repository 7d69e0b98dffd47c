// Which targets the sums over rows are shown of.
#pragma once

#include <vector>

#include "api/types.h"
#include "manager/object_cache.h"
#include "manager/shards/tenures.h"
#include "manager/telemetry/domain_series.h"

namespace kollect::manager {

/// Targets of both kinds that are collected here and whose profile is known.
std::vector<ShownTarget> shown_targets(const ObjectCache<api::Profile>& profiles,
                                       const ObjectCache<api::Target>& targets,
                                       const ObjectCache<api::ClusterTarget>& cluster_targets,
                                       const Tenures& tenures);

}  // namespace kollect::manager
