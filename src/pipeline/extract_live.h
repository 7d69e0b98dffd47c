// `kollect extract --live`: objects of a cluster for the session (spec: pipeline 15).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/cli_names.h"
#include "pipeline/extract_command.h"
#include "pipeline/namespace_labels.h"

namespace kollect::pipeline {

struct LiveOptions {
  std::string kubeconfig;
  std::string context;
  std::string ns;
  std::string selector;
};

/// One cluster to try profiles on, discovered once. Not thread-safe.
class LiveCluster {
 public:
  /// Errors (configuration): no kubeconfig, a context that is none or not one alone; else those of
  /// kube::Client::discover.
  static base::Result<LiveCluster> open(const Invocation& invocation, const LiveOptions& live);
  LiveCluster(LiveCluster&&) noexcept;
  LiveCluster& operator=(LiveCluster&&) noexcept;
  ~LiveCluster();

  /// Where the objects of a list go.
  struct Receiver {
    std::function<bool(base::json::View)> take;           ///< false: no more are wanted
    std::function<void(const base::Error&)> on_bad = {};  ///< an object that cannot be read
  };
  /// Hands out the objects of a kind as they come. Errors as of kube::Client::list.
  base::Result<> list(const api::GroupVersionKind& kind, const std::string& ns,
                      const std::string& selector, const Receiver& receiver);
  /// Labels of all namespaces. Errors as of list().
  base::Result<NamespaceLabels> namespaces();
  /// At most `limit` objects of a kind, and the CustomResourceDefinition of a custom kind when this
  /// identity may read it.
  base::Result<std::vector<base::json::Document>> sample(const api::GroupVersionKind& kind,
                                                         std::size_t limit);

 private:
  struct Impl;
  explicit LiveCluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Lists the profile's kind and extracts each object as it comes. Exit code 0, 1 (an object
/// failed), 2.
int run_extract_live(const Invocation& invocation, const ExtractOptions& options,
                     const LiveOptions& live);

}  // namespace kollect::pipeline
