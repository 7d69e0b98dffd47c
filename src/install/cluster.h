// The one cluster that a command is about.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "cli/flags.h"
#include "cli/invocation.h"
#include "kube/client.h"

namespace kollect::install {

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
  std::string ns;  ///< empty: the context's, else "default"
  bool all_namespaces = false;
};
/// --kubeconfig and --context; with `namespaced` also --namespace and --all-namespaces.
void add_cluster_flags(CLI::App& app, ClusterFlags& flags, bool namespaced);

/// Errors (configuration): no kubeconfig, or --context is not the name of one.
base::Result<std::unique_ptr<kube::Client>> open_cluster(const cli::Invocation& invocation,
                                                         const ClusterFlags& flags);
/// The namespace that is meant; "" for all.
std::string namespace_of(const kube::Client& client, const ClusterFlags& flags);

/// The resource of one of our kinds.
kube::Resource our_resource(const std::string& kind);
/// A resource of Kubernetes itself: group, version, kind, plural.
kube::Resource resource(std::string group, std::string version, std::string kind,
                        std::string plural, bool namespaced = true);

/// All objects of a resource. Errors: as of kube::Client::list.
base::Result<std::vector<base::json::Value>> list_all(kube::Client& client,
                                                      const base::Context& context,
                                                      const kube::Resource& resource,
                                                      const std::string& ns = {},
                                                      const std::string& label_selector = {});
/// All of one of our kinds; those without a namespace whatever `ns`.
base::Result<std::vector<base::json::Value>> list_ours(kube::Client& client,
                                                       const base::Context& context,
                                                       const std::string& kind,
                                                       const std::string& ns);

/// Prints `COMMAND: what is wrong` and gives the exit code.
int failed(const cli::Invocation& invocation, const char* command, const base::Error& error);

}  // namespace kollect::install
