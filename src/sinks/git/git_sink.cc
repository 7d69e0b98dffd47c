#include "sinks/git/git_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/strings.h"
#include "sinks/git/change_set.h"
#include "sinks/git/mirror.h"

namespace kollect::sinks {

namespace {

using git::Oid;

constexpr const char* kTipRef = "refs/kollect/tip";
constexpr int kRebuilds = 5;
constexpr int kDeclines =
    2;  // a refusal by the server is tried once more: it may have been about a race
constexpr int kNetworkTries = 3;
constexpr std::chrono::seconds kProbeDeadline{15};
constexpr std::chrono::seconds kLongestPause{10};

/// Name or address without the characters that a commit's header cannot hold.
std::string signature_text(std::string_view text) {
  std::string out;
  for (const char c : base::trim(text)) {
    if (c != '<' && c != '>' && static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

/// A deadline of our own that passed is a failure that can be tried again; the caller's is not.
base::Error own_deadline(const base::Context& callers, base::Error error, std::string_view where) {
  if (error.kind != base::ErrorKind::kCancelled || !callers.check().has_value()) return error;
  return base::retryable(fmt::format("git {}: no end within the time limit", where), "timeout");
}

class GitSink final : public Sink {
 public:
  explicit GitSink(GitSinkOptions options)
      : options_(std::move(options)), transport_(options_.transport) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    if (exports.empty()) return ExportReport{};
    const auto limited = context.with_timeout(options_.deadline);
    auto result = with_mirror(limited, exports, dry_run);
    if (!result.has_value()) {
      return own_deadline(context, result.error(), transport_.remote().shown());
    }
    return result;
  }

  base::Result<> probe(const base::Context& context) override {
    auto result = transport_.probe(context.with_timeout(kProbeDeadline));
    if (!result.has_value()) {
      return own_deadline(context, result.error(), transport_.remote().shown());
    }
    return result;
  }

 private:
  base::Result<ExportReport> with_mirror(const base::Context& context,
                                         const std::vector<Export>& exports, bool dry_run) {
    KL_ASSIGN(const auto root, git::mirror_root(options_.mirror_dir, git::read_environment));
    KL_ASSIGN(auto mirror,
              git::Mirror::open(context, root,
                                git::Mirror::key(transport_.remote().url, options_.branch)));
    auto result = attempt(context, mirror, exports, dry_run);
    if (!result.has_value() && is_damage(result.error())) {
      // The mirror is a cache: once more with a new one.
      mirror.discard();
      result = attempt(context, mirror, exports, dry_run);
    }
    // After a cut the mirror may be half-finished; its mark stays and the next run starts anew.
    if (result.has_value() ||
        (result.error().kind != base::ErrorKind::kCancelled && !is_damage(result.error()))) {
      mirror.finish();
    }
    return result;
  }

  static bool is_damage(const base::Error& error) {
    if (error.reason == "damaged") return true;
    if (error.kind != base::ErrorKind::kRetryable) return false;
    const auto text = base::to_lower(error.message);
    constexpr std::array<std::string_view, 10> kSigns = {
        "bad object",           "corrupt",          "missing blob",
        "missing tree",         "index-pack",       ".lock': file exists",
        "not a git repository", "unresolved delta", "did not send all",
        "loose object"};
    return std::any_of(kSigns.begin(), kSigns.end(),
                       [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
  }

  base::Result<ExportReport> attempt(const base::Context& context, const git::Mirror& mirror,
                                     const std::vector<Export>& exports, bool dry_run) {
    int races = 0;
    int declines = 0;
    int failures = 0;
    while (true) {
      KL_TRY(context.check());
      const auto began = context.clock().steady_now();
      KL_ASSIGN(auto store, git::ObjectStore::open(mirror.git_dir()));
      KL_ASSIGN(const auto tip, fetch_tip(context, store));
      KL_ASSIGN(auto pack,
                git::PackWriter::create(mirror.git_dir() / "kollect-new.pack",
                                        [&](const Oid& oid) { return store.exists(oid); }));
      std::optional<Oid> tip_tree;
      if (tip) {
        KL_ASSIGN(tip_tree, store.tree_of_commit(*tip));
      }
      KL_ASSIGN(auto changes,
                git::build_change_set(context, store, tip_tree, exports, options_.layout, pack));
      if (dry_run || !changes.tree) {
        if (!dry_run) changes.report.changes.clear();
        return std::move(changes.report);
      }
      KL_ASSIGN(const auto commit,
                make_commit(context, store, pack, tip, *changes.tree, exports, changes.laid_out));
      std::optional<std::string> lease;
      if (options_.force_push) lease = tip ? tip->hex() : "";
      KL_ASSIGN(auto pushed,
                transport_.push(context, mirror.git_dir(), commit.hex(), options_.branch, lease));
      using What = git::PushResult::What;
      if (pushed.what == What::kDone) {
        KL_TRY(store.set_ref(kTipRef, commit));
        changes.report.changes.clear();
        return std::move(changes.report);
      }
      KL_TRY(wait_before_next(context, pushed, context.clock().steady_now() - began, races,
                              declines, failures));
    }
  }

  /// Counts the failed push; an error when there is no point in another try. `took`: the time from
  /// fetch to push.
  static base::Result<> wait_before_next(const base::Context& context,
                                         const git::PushResult& pushed, base::Duration took,
                                         int& races, int& declines, int& failures) {
    using What = git::PushResult::What;
    if (pushed.what == What::kRace) {
      if (++races > kRebuilds) {
        return base::retryable(
            fmt::format("other writers were faster {} times: {}", races, pushed.error.message),
            "push-race");
      }
      // Only one of those who push within the time that a try takes can win. So the pauses are
      // random over a multiple of that time, twice as long after each loss.
      const auto most = std::min<base::Duration>(took * (2 << races), kLongestPause);
      std::mt19937_64 random(std::random_device{}());
      const auto pause =
          std::uniform_int_distribution<base::Duration::rep>(0, most.count())(random);
      if (!context.sleep(base::Duration(pause))) return context.check();
      return {};
    }
    if (pushed.what == What::kDeclined) {
      if (++declines >= kDeclines) return pushed.error;
      return {};
    }
    if (pushed.error.kind != base::ErrorKind::kRetryable || ++failures >= kNetworkTries) {
      return pushed.error;
    }
    if (!context.sleep(std::chrono::seconds(failures))) return pushed.error;
    return {};
  }

  base::Result<std::optional<Oid>> fetch_tip(const base::Context& context,
                                             const git::ObjectStore& store) const {
    KL_ASSIGN(const bool there,
              transport_.fetch(context, store.path(), options_.branch, options_.depth));
    if (!there) return std::optional<Oid>();
    KL_ASSIGN(auto tip, store.ref(kTipRef));
    if (!tip) return base::retryable("git mirror: the fetched tip is not there", "damaged");
    return tip;
  }

  base::Result<Oid> make_commit(const base::Context& context, git::ObjectStore& store,
                                git::PackWriter& pack, const std::optional<Oid>& tip,
                                const Oid& tree, const std::vector<Export>& exports,
                                const std::vector<LaidOut>& laid_out) const {
    const auto texts = git::commit_context(exports, laid_out, options_.sink_name);
    KL_ASSIGN(const auto message, git::commit_message(options_.commit, texts));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(context.clock().now().time_since_epoch())
            .count();
    const auto who = fmt::format("{} <{}> {} +0000", signature_text(options_.author_name),
                                 signature_text(options_.author_email), seconds);
    git::Pieces content;
    content.add(fmt::format("tree {}\n", tree.hex()));
    if (tip) content.add(fmt::format("parent {}\n", tip->hex()));
    content.add(fmt::format("author {}\ncommitter {}\n\n{}\n", who, who, message));
    const auto commit = git::hash_object(git::ObjectType::kCommit, content);
    KL_TRY(pack.add(git::ObjectType::kCommit, commit, content));
    KL_TRY(pack.finish());
    if (pack.count() > 0) KL_TRY(store.take_pack(pack.path()));
    return commit;
  }

  GitSinkOptions options_;
  git::Transport transport_;
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
  KL_ASSIGN(out.layout, layout_spec(sink.spec));
  KL_ASSIGN(out.branch,
            git::choose_branch(sink.spec.git ? sink.spec.git->branch : "", out.transport.remote));
  out.sink_name = sink.metadata.name;
  if (!sink.spec.git) return out;
  const auto& settings = *sink.spec.git;
  out.depth =
      static_cast<int>(std::clamp<std::int64_t>(settings.clone_depth.value_or(1), 1, 1 << 30));
  out.force_push = settings.push_policy == "ForcePush";
  if (settings.author) {
    const auto name = signature_text(settings.author->name);
    const auto email = signature_text(settings.author->email);
    if (!name.empty()) out.author_name = name;
    if (!email.empty()) out.author_email = email;
  }
  out.commit = {settings.commit_message, settings.commit_body, settings.commit_trailers};
  return out;
}

}  // namespace kollect::sinks
