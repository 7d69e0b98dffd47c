// Documents in a repository, proposed by merge requests (spec: sinks 8).
#pragma once

#include <memory>

#include "sinks/gitlab/options.h"

namespace kollect::sinks::gitlab {

/// Each inventory has a branch of its own, rebuilt on the target's present tip by every export and
/// pushed with force (but only over what was seen there), and one open merge request. Where nothing
/// differs from the target nothing is pushed and an open request is closed. Credentials are in
/// memory only. Errors: as of make_git_sink, and those of the API (denied, not_found, terminal,
/// retryable).
std::unique_ptr<Sink> make_gitlab_sink(GitLabOptions options);

}  // namespace kollect::sinks::gitlab
