// One commit on a branch, whoever else writes there (spec: sinks 7.3).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/context.h"
#include "sinks/git/commit_text.h"
#include "sinks/git/git_sink.h"
#include "sinks/git/mirror.h"
#include "sinks/git/object_store.h"
#include "sinks/git/pack_writer.h"
#include "sinks/git/transport.h"

namespace kollect::sinks::git {

/// Name or address without the characters that a commit's header cannot hold.
std::string signature_text(std::string_view text);

/// What stands on a branch that is a proposal for another one.
struct Proposal {
  Oid tree;
  bool on_tip = false;  ///< its only parent is the other branch's present tip
};

/// What one try builds on. Borrowed for the call.
struct Try {
  const base::Context& context;
  const ObjectStore& store;
  std::optional<Oid> tree;  ///< of the branch's tip; none: no branch yet
  /// The remote was asked for the tip in this run. Otherwise it is the last one that the mirror
  /// saw.
  bool asked = false;
  PackWriter& pack;
  std::optional<Proposal> proposal = {};  ///< with GitSinkOptions::onto; none: no branch yet
};

/// What a try came to.
struct Built {
  std::optional<Oid> tree;  ///< none: the tip is as it should be
  CommitContext texts;
  ExportReport report;
  bool ask = false;  ///< no result: ask the remote first, then build again
};

/// How a run ended.
struct Done {
  ExportReport report;
  bool pushed = false;
  /// Proposals only: the commit that stands on the branch, and whether it is what there is to
  /// propose. None: there is no branch.
  std::optional<Oid> head = {};
  bool proposes = false;
};

/// The work of one run. build() may be called several times, each time on another tip.
class Job {
 public:
  virtual ~Job() = default;
  /// False: the first try may build on the tip that the mirror remembers, and the push tells
  /// whether it still is the tip.
  [[nodiscard]] virtual bool asks_first() const = 0;
  virtual base::Result<Built> build(const Try& one) = 0;
  /// What the last build() made is on the branch: in the tip with this tree, which `store` has.
  virtual void confirmed(const ObjectStore& store, const Oid& tree) = 0;
  /// The mirror is about to drop objects that this tree does not need.
  virtual void before_compaction(const ObjectStore& store, const Oid& tree) = 0;
};

/// Takes the mirror, finds the tip, lets the job build, commits, pushes; anew on the new tip when
/// another writer was faster. Borrows the options. One thread at a time.
class CommitLoop {
 public:
  explicit CommitLoop(const GitSinkOptions& options)
      : options_(options), transport_(options.transport) {}

  /// Errors: as of Sink::export_all.
  base::Result<Done> run(const base::Context& context, Job& job);
  /// Lists the heads; where nothing may be made the branch has to be among them.
  base::Result<> probe(const base::Context& context) const;
  [[nodiscard]] const Transport& transport() const { return transport_; }

 private:
  enum class Source { kMirror, kRemote, kFetch };
  struct Losses;
  struct Ends;
  base::Result<Done> attempt(const base::Context& context, Mirror& mirror, Job& job);
  base::Result<Ends> find_ends(const base::Context& context, ObjectStore& store,
                               Source& source) const;
  base::Result<Ends> find_proposal(const base::Context& context, ObjectStore& store) const;
  /// The commit of a branch that the remote has, fetched unless the mirror has it.
  base::Result<std::optional<Oid>> held(const base::Context& context, const ObjectStore& store,
                                        const std::string& branch, const std::string& name,
                                        const std::string& ref) const;
  base::Result<std::optional<Oid>> find_tip(const base::Context& context, const ObjectStore& store,
                                            Source& source) const;
  /// The answer to a branch that is not there: it is made, unless the sink makes none.
  [[nodiscard]] base::Result<std::optional<Oid>> new_branch() const;
  [[nodiscard]] base::Error no_branch() const;
  static void compact(const base::Context& context, Mirror& mirror, const ObjectStore& store,
                      const Oid& tree, Job& job);
  [[nodiscard]] bool proposes() const { return !options_.onto.empty(); }
  /// Where the mirror keeps the commit of the branch that is pushed.
  [[nodiscard]] std::string head_ref() const;
  [[nodiscard]] std::optional<std::string> lease(const Ends& ends) const;
  base::Result<Oid> make_commit(const base::Context& context, ObjectStore& store, PackWriter& pack,
                                const std::optional<Oid>& tip, const Oid& tree,
                                const CommitContext& texts) const;

  const GitSinkOptions& options_;
  Transport transport_;
};

}  // namespace kollect::sinks::git
