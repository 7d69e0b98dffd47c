#include "sinks/git/commit_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

constexpr const char* kTipRef = "refs/kollect/tip";
constexpr int kRebuilds = 5;
constexpr int kDeclines =
    2;  // a refusal by the server is tried once more: it may have been about a race
constexpr int kNetworkTries = 3;
constexpr std::chrono::seconds kLongestPause{10};

/// True when the error may come from what the mirror holds, whatever git's words for it are.
bool is_damage(const base::Error& error, const std::filesystem::path& mirror) {
  if (error.reason == "damaged") return true;
  if (error.kind != base::ErrorKind::kRetryable || error.reason == "disk-full") return false;
  if (error.message.find(mirror.string()) != std::string::npos) return true;
  const auto text = base::to_lower(error.message);
  constexpr std::array<std::string_view, 12> kSigns = {
      "bad object",           "corrupt",          "missing blob",
      "missing tree",         "index-pack",       ".lock': file exists",
      "not a git repository", "unresolved delta", "did not send all",
      "loose object",         "packfile",         "does not match index"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
}

}  // namespace

/// Pushes that did not get through.
struct CommitLoop::Losses {
  int races = 0;
  int declines = 0;
  int failures = 0;

  /// Counts a failed push; an error when there is no point in another try. `took`: the time from
  /// fetch to push.
  base::Result<> wait_before_next(const base::Context& context, const PushResult& pushed,
                                  base::Duration took) {
    using What = PushResult::What;
    if (pushed.what == What::kRace) {
      if (++races > kRebuilds) {
        if (!pushed.lock.empty()) {
          return base::retryable(
              fmt::format("the remote repository holds the lock file {} since {} tries: remove it "
                          "there if no other program writes to the repository",
                          pushed.lock, races),
              "push-locked");
        }
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
};

std::string signature_text(std::string_view text) {
  std::string out;
  for (const char c : base::trim(text)) {
    if (c != '<' && c != '>' && static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

base::Result<Done> CommitLoop::run(const base::Context& context, Job& job) {
  KL_ASSIGN(const auto root, mirror_root(options_.mirror_dir, read_environment));
  // All proposals for a branch share what is fetched of it.
  const auto place = proposes() ? options_.onto + "\nproposals" : options_.branch;
  KL_ASSIGN(auto mirror, Mirror::open(context, root, Mirror::key(transport_.remote().url, place)));
  auto result = attempt(context, mirror, job);
  if (!result.has_value() && is_damage(result.error(), mirror.git_dir())) {
    // The mirror is a cache: once more with a new one.
    mirror.discard();
    result = attempt(context, mirror, job);
  }
  // After a cut the mirror may be half-finished; its mark stays and the next run starts anew.
  if (result.has_value() || (result.error().kind != base::ErrorKind::kCancelled &&
                             !is_damage(result.error(), mirror.git_dir()))) {
    mirror.finish();
  }
  return result;
}

/// The two ends of a commit: what it is built on and what it takes the place of.
struct CommitLoop::Ends {
  std::optional<Oid> tip;
  std::optional<Oid> head;  ///< proposals only
  std::optional<Proposal> proposal;
};

std::string CommitLoop::head_ref() const {
  return proposes() ? "refs/kollect/proposed/" + options_.branch : kTipRef;
}

std::optional<std::string> CommitLoop::lease(const Ends& ends) const {
  const auto& replaced = proposes() ? ends.head : ends.tip;
  // Without a lease a branch that somebody has removed would come back.
  if (!proposes() && !options_.force_push && options_.ensure) return {};
  return replaced ? replaced->hex() : "";
}

base::Result<Done> CommitLoop::attempt(const base::Context& context, Mirror& mirror, Job& job) {
  Losses losses;
  auto source = job.asks_first() || proposes() ? Source::kRemote : Source::kMirror;
  while (true) {
    KL_TRY(context.check());
    const auto began = context.clock().steady_now();
    KL_ASSIGN(auto store, ObjectStore::open(mirror.git_dir()));
    KL_ASSIGN(const auto ends, find_ends(context, store, source));
    const auto& tip = ends.tip;
    // Without a branch there is nothing worth a look for every object.
    KL_ASSIGN(auto pack,
              PackWriter::create(mirror.git_dir() / "kollect-new.pack",
                                 [&](const Oid& oid) { return tip && store.exists(oid); }));
    std::optional<Oid> tip_tree;
    if (tip) {
      KL_ASSIGN(tip_tree, store.tree_of_commit(*tip));
    }
    KL_ASSIGN(auto built, job.build({context, store, tip_tree, source != Source::kMirror, pack,
                                     ends.proposal}));
    if (built.ask) {
      source = Source::kRemote;
      continue;
    }
    if (!built.tree) {
      if (tip_tree) job.confirmed(store, *tip_tree);
      return Done{std::move(built.report), false, ends.head, false};
    }
    if (ends.proposal && ends.proposal->on_tip && ends.proposal->tree == *built.tree) {
      job.confirmed(store, *built.tree);
      return Done{std::move(built.report), false, ends.head, true};
    }
    KL_ASSIGN(const auto commit, make_commit(context, store, pack, tip, *built.tree, built.texts));
    KL_ASSIGN(const auto pushed, transport_.push(context, mirror.git_dir(), commit.hex(),
                                                 options_.branch, lease(ends)));
    if (pushed.what == PushResult::What::kDone) {
      KL_TRY(store.set_ref(head_ref(), commit));
      job.confirmed(store, *built.tree);
      compact(context, mirror, store, *built.tree, job);
      return Done{std::move(built.report), true, commit, true};
    }
    // A tip from memory that was out of date is no lost race.
    if (pushed.what != PushResult::What::kRace || source != Source::kMirror) {
      KL_TRY(losses.wait_before_next(context, pushed, context.clock().steady_now() - began));
    }
    source = Source::kFetch;
  }
}

base::Result<CommitLoop::Ends> CommitLoop::find_ends(const base::Context& context,
                                                     ObjectStore& store, Source& source) const {
  if (proposes()) return find_proposal(context, store);
  Ends out;
  KL_ASSIGN(out.tip, find_tip(context, store, source));
  return out;
}

base::Result<CommitLoop::Ends> CommitLoop::find_proposal(const base::Context& context,
                                                         ObjectStore& store) const {
  Ends out;
  KL_ASSIGN(const auto names, transport_.tips(context, {options_.onto, options_.branch}));
  if (names[0]) {
    KL_ASSIGN(out.tip, held(context, store, options_.onto, *names[0], kTipRef));
  }
  if (!out.tip) return no_branch();
  if (names[1]) {
    KL_ASSIGN(out.head, held(context, store, options_.branch, *names[1], head_ref()));
  }
  if (!out.head) {
    KL_TRY(store.drop_ref(head_ref()));
    return out;
  }
  KL_ASSIGN(const auto parents, store.parents_of_commit(*out.head));
  KL_ASSIGN(const auto tree, store.tree_of_commit(*out.head));
  out.proposal = Proposal{tree, parents.size() == 1 && parents.front() == *out.tip};
  return out;
}

base::Result<std::optional<Oid>> CommitLoop::held(const base::Context& context,
                                                  const ObjectStore& store,
                                                  const std::string& branch,
                                                  const std::string& name,
                                                  const std::string& ref) const {
  KL_ASSIGN(auto have, store.ref(ref));
  if (have && have->hex() == name) return have;
  KL_ASSIGN(const bool there, transport_.fetch(context, store.path(), branch, options_.depth, ref));
  if (!there) return std::optional<Oid>();
  KL_ASSIGN(have, store.ref(ref));
  if (!have) return base::retryable("git mirror: the fetched tip is not there", "damaged");
  return have;
}

base::Result<std::optional<Oid>> CommitLoop::find_tip(const base::Context& context,
                                                      const ObjectStore& store,
                                                      Source& source) const {
  KL_ASSIGN(auto tip, store.ref(kTipRef));
  if (tip && source == Source::kMirror) return tip;
  if (tip && source == Source::kRemote) {
    // One question, and no fetch where nobody else has written.
    KL_ASSIGN(const auto name, transport_.tip(context, options_.branch));
    if (!name) return new_branch();
    if (*name == tip->hex()) return tip;
  }
  source = Source::kFetch;
  KL_ASSIGN(const bool there,
            transport_.fetch(context, store.path(), options_.branch, options_.depth, kTipRef));
  if (!there) return new_branch();
  KL_ASSIGN(tip, store.ref(kTipRef));
  if (!tip) return base::retryable("git mirror: the fetched tip is not there", "damaged");
  return tip;
}

base::Result<std::optional<Oid>> CommitLoop::new_branch() const {
  if (options_.ensure) return std::optional<Oid>();
  return no_branch();
}

base::Error CommitLoop::no_branch() const {
  const auto where = transport_.remote().shown();
  return base::terminal(
      proposes() ? fmt::format("git {}: there is no branch {} to merge into", where, options_.onto)
                 : fmt::format("git {}: there is no branch {} and provisioning.mode is existing",
                               where, options_.branch),
      "branch-missing");
}

base::Result<> CommitLoop::probe(const base::Context& context) const {
  KL_TRY(transport_.probe(context));
  if (options_.ensure && !proposes()) return {};
  KL_ASSIGN(const auto tip, transport_.tip(context, proposes() ? options_.onto : options_.branch));
  if (!tip) return no_branch();
  return {};
}

base::Result<Oid> CommitLoop::make_commit(const base::Context& context, ObjectStore& store,
                                          PackWriter& pack, const std::optional<Oid>& tip,
                                          const Oid& tree, const CommitContext& texts) const {
  KL_ASSIGN(const auto message, commit_message(options_.commit, texts));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(context.clock().now().time_since_epoch())
          .count();
  const auto who = fmt::format("{} <{}> {} +0000", signature_text(options_.author_name),
                               signature_text(options_.author_email), seconds);
  Pieces content;
  content.add(fmt::format("tree {}\n", tree.hex()));
  if (tip) content.add(fmt::format("parent {}\n", tip->hex()));
  content.add(fmt::format("author {}\ncommitter {}\n\n{}\n", who, who, message));
  const auto commit = hash_object(ObjectType::kCommit, content);
  KL_TRY(pack.add(ObjectType::kCommit, commit, content));
  KL_TRY(pack.finish());
  if (pack.count() > 0) KL_TRY(store.take_pack(pack));
  return commit;
}

void CommitLoop::compact(const base::Context& context, Mirror& mirror, const ObjectStore& store,
                         const Oid& tree, Job& job) {
  if (!mirror.is_crowded()) return;
  job.before_compaction(store, tree);
  // A mirror that stays crowded is thrown away by a later run: the export itself is done.
  (void)mirror.compact(context);
}

}  // namespace kollect::sinks::git
