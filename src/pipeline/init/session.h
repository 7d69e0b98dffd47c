// What both forms of `kollect init` share: the cluster, its kinds, sampling, and writing the
// result.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "kube/client.h"
#include "pipeline/init/plan.h"
#include "pipeline/init_command.h"

namespace kollect::pipeline::init {

/// A connection to the chosen context.
struct Cluster {
  std::string context;
  std::string server;
  std::unique_ptr<kube::Client> client;
};

/// Resolves the context; no request is made.
base::Result<Cluster> open_cluster(const InitOptions& options,
                                   const std::map<std::string, std::string>& env,
                                   const base::Logger& log);

/// Kinds that can be listed, no subresources, sorted; preferred versions first within a kind.
struct OfferedKind {
  kube::Resource resource;
  bool preferred = true;
  [[nodiscard]] std::string label() const;  ///< "Kind (group/version)", other versions marked
  [[nodiscard]] api::GroupVersionKind gvk() const {
    return {resource.group, resource.version, resource.kind};
  }
};
base::Result<std::vector<OfferedKind>> offered_kinds(const base::Context& context,
                                                     const kube::Client& client,
                                                     const base::Logger& log);

struct NamespaceInfo {
  std::string name;
  std::map<std::string, std::string> labels;
};
base::Result<std::vector<NamespaceInfo>> list_namespaces(const base::Context& context,
                                                         kube::Client& client);

/// Namespace and name of up to `most` objects that the plan selects.
struct Candidate {
  std::string ns;
  std::string name;
};
base::Result<std::vector<Candidate>> candidates(const base::Context& context, kube::Client& client,
                                                const kube::Resource& resource, const Plan& plan,
                                                std::size_t most);

/// A file that is going to be written.
struct Output {
  std::string path;
  std::string content;
};
/// Writes all files or none: each by rename, and what was replaced is put back when a later one
/// fails. The folder is created 0750, files 0600.
base::Result<> write_all(const std::string& folder, const std::vector<Output>& outputs);

/// The commands to try next, repeating --kubeconfig and --context when they were given.
std::string next_steps(const InitOptions& options);

}  // namespace kollect::pipeline::init
