// Documents in a Git repository (spec: sinks 7).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "sinks/git/commit_text.h"
#include "sinks/git/transport.h"
#include "sinks/layout.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct GitSinkOptions {
  git::TransportOptions transport;
  LayoutSpec layout;
  std::string branch = "main";
  /// Not empty: `branch` is a proposal for this one. It is rebuilt on its tip and pushed with force
  /// wherever it stands; where there is no difference nothing is pushed.
  std::string onto;
  int depth = 1;
  bool force_push = false;
  bool ensure = true;  ///< a missing branch is made; else it is an error (K-13)
  std::string author_name = "kollect";
  std::string author_email = "kollect@kollect.dev";
  git::CommitTemplates commit;
  std::string sink_name;
  std::filesystem::path mirror_dir;  ///< empty: the default places
  base::Duration deadline = std::chrono::minutes(2);
};

/// One commit per call on the branch's tip, none when nothing but export times would change; never
/// a merge, never a working tree. Races with other writers are settled by building anew on the new
/// tip, up to five times. Credentials are in memory only. Errors: configuration, denied, not_found,
/// terminal (refused), retryable.
std::unique_ptr<Sink> make_git_sink(GitSinkOptions options);

/// Options from a sink's spec. Errors: configuration.
base::Result<GitSinkOptions> git_sink_options(const api::SnapshotSink& sink, const SecretData& auth,
                                              const std::optional<std::string>& ca_pem);

}  // namespace kollect::sinks
