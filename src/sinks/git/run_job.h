// All exports of a run of the command line as one commit at most.
#pragma once

#include <vector>

#include "sinks/git/commit_loop.h"

namespace kollect::sinks::git {

/// Borrows what it is given. With `dry_run` the report names every file and nothing is pushed.
class RunJob final : public Job {
 public:
  RunJob(const std::vector<Export>& exports, const GitSinkOptions& options, bool dry_run)
      : exports_(exports), options_(options), dry_run_(dry_run) {}

  [[nodiscard]] bool asks_first() const override { return true; }
  base::Result<Built> build(const Try& one) override;
  void confirmed(const ObjectStore& /*store*/, const Oid& /*tree*/) override {}
  void before_compaction(const ObjectStore& /*store*/, const Oid& /*tree*/) override {}

 private:
  const std::vector<Export>& exports_;
  const GitSinkOptions& options_;
  bool dry_run_;
};

/// A deadline of the sink's own that passed is a failure that can be tried again; the caller's is
/// not.
base::Error own_deadline(const base::Context& callers, base::Error error, std::string_view where);

}  // namespace kollect::sinks::git
