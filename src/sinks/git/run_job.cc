#include "sinks/git/run_job.h"

#include <fmt/format.h>

#include "sinks/git/change_set.h"

namespace kollect::sinks::git {

base::Result<Built> RunJob::build(const Try& one) {
  std::optional<Oid> proposed;
  if (one.proposal) proposed = one.proposal->tree;
  KL_ASSIGN(auto changes, build_change_set(one.context, one.store, one.tree, exports_,
                                           options_.layout, one.pack, dry_run_, proposed));
  Built out;
  out.report = std::move(changes.report);
  if (dry_run_ || !changes.tree) return out;
  out.tree = changes.tree;
  out.texts = commit_context(exports_, changes.layout.exports(), options_.sink_name);
  return out;
}

base::Error own_deadline(const base::Context& callers, base::Error error, std::string_view where) {
  if (error.kind != base::ErrorKind::kCancelled || !callers.check().has_value()) return error;
  return base::retryable(fmt::format("git {}: no end within the time limit", where), "timeout");
}

}  // namespace kollect::sinks::git
