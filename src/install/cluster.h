// The one cluster that a command is about.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/invocation.h"
#include "kube/client.h"

namespace kollect::install {

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};
/// Errors (configuration): no kubeconfig, or --context is not the name of one.
base::Result<std::unique_ptr<kube::Client>> open_cluster(const cli::Invocation& invocation,
                                                         const ClusterFlags& flags);

}  // namespace kollect::install
