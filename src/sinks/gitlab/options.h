// Settings of a gitlab sink whose exports become merge requests (spec: sinks 8).
#pragma once

#include <optional>
#include <string>

#include "api/types.h"
#include "sinks/git/git_sink.h"
#include "sinks/sink.h"

namespace kollect::sinks::gitlab {

/// Where a repository is for the API.
struct Place {
  std::string origin;   ///< scheme://host[:port], no slash at the end
  std::string project;  ///< path of the project: "group/sub/name"
};

struct GitLabOptions {
  GitSinkOptions git;  ///< `onto` is the target branch; `branch` is set per inventory
  Place place;
  std::string user;  ///< the Secret's own user name, empty without; of Gitea and Forgejo
  std::string branch_prefix;
  std::string title_template;
  bool auto_merge = false;
  /// The process exports several clusters through this sink: branches have the cluster after the
  /// prefix.
  bool several_clusters = false;
};

/// Error (configuration): not http(s), or no project in the path.
base::Result<Place> place_of(const git::Remote& remote);

/// "PREFIX/NAMESPACE/NAME", each without blanks and slashes at its ends; prefix "" = "kollect".
std::string branch_name(std::string_view prefix, const InventoryId& inventory);

/// {namespace} and {name} inserted, everything else as it is, at most 255 bytes (GitLab's limit).
/// "" = the default.
std::string request_title(std::string_view title_template, const InventoryId& inventory);

/// True for mode merge_request.
bool wants_merge_requests(const api::SnapshotSinkSpec& spec);

/// Options from the spec and its Secret. Errors (configuration): what git_sink_options() refuses,
/// an endpoint that is no http(s) project, no target branch, a prefix that makes no branch name, no
/// token.
base::Result<GitLabOptions> gitlab_options(const api::SnapshotSink& sink, const SecretData& auth,
                                           const std::optional<std::string>& ca_pem);

}  // namespace kollect::sinks::gitlab
