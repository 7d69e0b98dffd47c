#include "sinks/git/git_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "sinks/credentials.h"
#include "sinks/git/commit_loop.h"
#include "sinks/git/pass_job.h"
#include "sinks/git/run_job.h"

namespace kollect::sinks {

namespace {

constexpr std::chrono::seconds kProbeDeadline{15};

class GitSink final : public Sink {
 public:
  explicit GitSink(GitSinkOptions options) : options_(std::move(options)), loop_(options_) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    if (exports.empty()) return ExportReport{};
    git::RunJob job(exports, options_, dry_run);
    return timed(context, job);
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    if (git::PassJob::is_idle(pass, ledgers_)) {
      return git::PassJob::unchanged(ledgers_.at(pass.head.inventory));
    }
    git::PassJob job(pass, options_, ledgers_);
    return timed(context, job);
  }

  base::Result<> probe(const base::Context& context) override {
    auto result = loop_.probe(context.with_timeout(kProbeDeadline));
    if (!result.has_value()) return git::own_deadline(context, result.error(), shown());
    return result;
  }

 private:
  [[nodiscard]] std::string shown() const { return loop_.transport().remote().shown(); }

  base::Result<ExportReport> timed(const base::Context& context, git::Job& job) {
    auto result = loop_.run(context.with_timeout(options_.deadline), job);
    if (!result.has_value()) return git::own_deadline(context, result.error(), shown());
    return std::move(result->report);
  }

  const GitSinkOptions options_;
  git::CommitLoop loop_;
  git::Ledgers ledgers_;
};

}  // namespace

std::unique_ptr<Sink> make_git_sink(GitSinkOptions options) {
  return std::make_unique<GitSink>(std::move(options));
}

base::Result<GitSinkOptions> git_sink_options(const api::SnapshotSink& sink, const SecretData& auth,
                                              const std::optional<std::string>& ca_pem) {
  GitSinkOptions out;
  KL_ASSIGN(out.transport.remote, git::parse_remote(sink.spec.endpoint));
  KL_ASSIGN(out.transport.access, git::read_access(sink.spec, auth, ca_pem, out.transport.remote));
  out.transport.access.secret_name = credentials_title(sink, auth);
  KL_ASSIGN(out.layout, layout_spec(sink.spec));
  KL_ASSIGN(out.branch,
            git::choose_branch(sink.spec.git ? sink.spec.git->branch : "", out.transport.remote));
  out.sink_name = sink.metadata.name;
  out.ensure = !sink.spec.provisioning || sink.spec.provisioning->mode != "existing";
  if (!sink.spec.git) return out;
  const auto& settings = *sink.spec.git;
  out.depth =
      static_cast<int>(std::clamp<std::int64_t>(settings.clone_depth.value_or(1), 1, 1 << 30));
  out.force_push = settings.push_policy == "ForcePush";
  if (settings.author) {
    const auto name = git::signature_text(settings.author->name);
    const auto email = git::signature_text(settings.author->email);
    if (!name.empty()) out.author_name = name;
    if (!email.empty()) out.author_email = email;
  }
  out.commit = {settings.commit_message, settings.commit_body, settings.commit_trailers};
  return out;
}

}  // namespace kollect::sinks
