// `kollect extract --live`: objects of a cluster for the session (spec: pipeline 15).
#pragma once

#include <string>
#include <vector>

#include "pipeline/extract_command.h"
#include "pipeline/cli_names.h"

namespace kollect::pipeline {

struct LiveOptions {
  std::string kubeconfig;
  std::string context;
  std::string ns;
  std::string selector;
};

/// Lists the profile's kind and extracts each object as it comes. Exit code 0, 1 (an object
/// failed), 2.
int run_extract_live(const Invocation& invocation, const ExtractOptions& options,
                     const LiveOptions& live);

/// Objects of a kind as owned documents; at most `limit` (0: all). For samples, not for whole
/// clusters.
base::Result<std::vector<base::json::Document>> read_live_objects(const Invocation& invocation,
                                                                  const LiveOptions& live,
                                                                  const api::GroupVersionKind& kind,
                                                                  std::size_t limit);

}  // namespace kollect::pipeline
