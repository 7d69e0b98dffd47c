#include "sinks/gitlab/gitlab_sink.h"

#include <algorithm>
#include <map>
#include <set>

#include "sinks/git/commit_loop.h"
#include "sinks/git/pass_job.h"
#include "sinks/git/run_job.h"
#include "sinks/gitlab/merge_requests.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::gitlab {

namespace {

constexpr std::chrono::seconds kProbeDeadline{15};
constexpr std::chrono::minutes kApiDeadline{2};

/// Counts of a run whose result stood on the branch already.
ExportReport nothing_written(ExportReport report) {
  report.unchanged += report.written;
  report.written = 0;
  report.removed = 0;
  report.bytes = 0;
  report.replaced = 0;
  return report;
}

void add(ExportReport& all, ExportReport&& one) {
  all.written += one.written;
  all.unchanged += one.unchanged;
  all.removed += one.removed;
  all.bytes += one.bytes;
  all.replaced += one.replaced;
  std::ranges::move(one.warnings, std::back_inserter(all.warnings));
  std::ranges::move(one.changes, std::back_inserter(all.changes));
}

class GitLabSink final : public Sink {
 public:
  explicit GitLabSink(GitLabOptions options)
      : options_(std::move(options)), requests_(options_), target_(target_options()) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    ExportReport all;
    std::optional<base::Error> failed;
    for (const auto& one : exports) {
      auto report = export_one(context, one, dry_run);
      if (report.has_value()) {
        add(all, std::move(*report));
      } else if (!failed) {
        // The other inventories have branches of their own.
        failed = std::move(report.error());
      }
      KL_TRY(context.check());
    }
    if (failed) return *failed;
    return all;
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    const auto& inventory = pass.head.inventory;
    // What was pushed may still wait for its merge request.
    if (settled_.contains(inventory) && git::PassJob::is_idle(pass, ledgers_)) {
      return git::PassJob::unchanged(ledgers_.at(inventory));
    }
    KL_ASSIGN(const auto git, line_of(pass.head));
    git::PassJob job(pass, git, ledgers_);
    return run(context, git, inventory, job);
  }

  base::Result<> probe(const base::Context& context) override {
    const auto limited = context.with_timeout(kProbeDeadline);
    const git::CommitLoop loop(target_);
    auto result = loop.probe(limited);
    if (result.has_value()) result = requests_.check(limited);
    if (!result.has_value()) return git::own_deadline(context, result.error(), shown());
    return result;
  }

 private:
  [[nodiscard]] std::string shown() const { return options_.git.transport.remote.shown(); }

  [[nodiscard]] GitSinkOptions target_options() const {
    auto out = options_.git;
    out.branch = out.onto;
    return out;
  }

  /// Git's settings for the inventory's branch. Error (configuration): no name for a branch.
  [[nodiscard]] base::Result<GitSinkOptions> line_of(const Export& head) const {
    auto out = options_.git;
    auto prefix = options_.branch_prefix;
    if (options_.several_clusters) {
      prefix = branch_name(prefix, {sanitise_segment(cluster_word(head)), ""});
    }
    KL_ASSIGN(out.branch, git::check_branch(branch_name(prefix, head.inventory)));
    if (out.branch == out.onto) {
      return base::configuration(
          "gitlab.mergeRequest: branchPrefix leads to the target branch " + out.onto + " itself",
          "bad-branch");
    }
    return out;
  }

  base::Result<ExportReport> export_one(const base::Context& context, const Export& one,
                                        bool dry_run) {
    KL_ASSIGN(const auto git, line_of(one));
    const std::vector<Export> exports = {one};
    git::RunJob job(exports, git, dry_run);
    if (!dry_run) return run(context, git, one.inventory, job);
    git::CommitLoop loop(git);
    auto done = loop.run(context.with_timeout(git.deadline), job);
    if (!done.has_value()) return git::own_deadline(context, done.error(), shown());
    return std::move(done->report);
  }

  base::Result<ExportReport> run(const base::Context& context, const GitSinkOptions& git,
                                 const InventoryId& inventory, git::Job& job) {
    settled_.erase(inventory);
    git::CommitLoop loop(git);
    auto done = loop.run(context.with_timeout(git.deadline), job);
    if (!done.has_value()) return git::own_deadline(context, done.error(), shown());
    auto report = done->pushed ? std::move(done->report) : nothing_written(std::move(done->report));
    auto warning = settle(context.with_timeout(kApiDeadline), git, inventory, *done);
    if (!warning.has_value()) return git::own_deadline(context, warning.error(), shown());
    if (!warning->empty()) report.warnings.push_back(std::move(*warning));
    settled_.insert(inventory);
    return report;
  }

  /// The merge request that what stands on the branch needs; a warning.
  base::Result<std::string> settle(const base::Context& context, const GitSinkOptions& git,
                                   const InventoryId& inventory, const git::Done& done) {
    // Without a branch there is no request: the forge closes it with its branch.
    if (!done.head) return std::string();
    const Branches branches{git.branch, git.onto};
    if (done.proposes) {
      return requests_.ensure_open(
          context, {branches, request_title(options_.title_template, inventory), done.head->hex(),
                    done.pushed});
    }
    KL_TRY(requests_.ensure_closed(context, branches));
    return std::string();
  }

  const GitLabOptions options_;
  MergeRequests requests_;
  const GitSinkOptions target_;  ///< of the target branch alone
  git::Ledgers ledgers_;
  std::set<InventoryId> settled_;  ///< whose merge request is as it should be
};

}  // namespace

std::unique_ptr<Sink> make_gitlab_sink(GitLabOptions options) {
  return std::make_unique<GitLabSink>(std::move(options));
}

}  // namespace kollect::sinks::gitlab
