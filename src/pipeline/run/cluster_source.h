// Objects of one cluster: discovery, namespaces, one list per kind (spec: pipeline 7.1).
#pragma once

#include <string>

#include "base/context.h"
#include "kube/client.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/progress.h"
#include "pipeline/run/result.h"

namespace kollect::pipeline {

struct ClusterJob {
  std::string context;
  std::string cluster;
  std::string only_namespace;  ///< --namespace, empty: none
};

/// Never fails as a whole function: what went wrong stands in the result, per context or per
/// target.
ContextResult collect_cluster(const base::Context& context, kube::Client& client, const Plan& plan,
                              const ClusterJob& job, Progress& progress);

}  // namespace kollect::pipeline
