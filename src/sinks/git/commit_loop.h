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

/// What one try builds on. Borrowed for the call.
struct Try {
  const base::Context& context;
  const ObjectStore& store;
  std::optional<Oid> tree;  ///< of the branch's tip; none: no branch yet
  /// The remote was asked for the tip in this run. Otherwise it is the last one that the mirror
  /// saw.
  bool asked = false;
  PackWriter& pack;
};

/// What a try came to.
struct Built {
  std::optional<Oid> tree;  ///< none: the tip is as it should be
  CommitContext texts;
  ExportReport report;
  bool ask = false;  ///< no result: ask the remote first, then build again
};

/// The work of one run. build() may be called several times, each time on another tip.
class Job {
 public:
  virtual ~Job() = default;
  /// False: the first try may build on the tip that the mirror remembers, and the push tells
  /// whether it still is the tip.
  [[nodiscard]] virtual bool asks_first() const = 0;
  virtual base::Result<Built> build(const Try& one) = 0;
  /// What the last build() made is on the branch: in the tip with this tree.
  virtual void confirmed(const Oid& tree) = 0;
  /// The mirror is about to drop objects that this tree does not need.
  virtual void before_compaction(const ObjectStore& store, const Oid& tree) = 0;
};

/// Takes the mirror, finds the tip, lets the job build, commits, pushes; anew on the new tip when
/// another writer was faster. Borrows the options. One thread at a time.
class CommitLoop {
 public:
  explicit CommitLoop(const GitSinkOptions& options)
      : options_(options), transport_(options.transport) {}

  /// The job's report. Errors: as of Sink::export_all.
  base::Result<ExportReport> run(const base::Context& context, Job& job);
  /// Lists the heads; where nothing may be made the branch has to be among them.
  base::Result<> probe(const base::Context& context) const;
  [[nodiscard]] const Transport& transport() const { return transport_; }

 private:
  enum class Source { kMirror, kRemote, kFetch };
  struct Losses;
  base::Result<ExportReport> attempt(const base::Context& context, Mirror& mirror, Job& job);
  base::Result<std::optional<Oid>> find_tip(const base::Context& context, const ObjectStore& store,
                                            Source& source) const;
  /// The answer to a branch that is not there.
  [[nodiscard]] base::Result<std::optional<Oid>> no_branch() const;
  void compact(const base::Context& context, Mirror& mirror, const ObjectStore& store,
               const Oid& tip, const Oid& tree, Job& job) const;
  base::Result<Oid> make_commit(const base::Context& context, ObjectStore& store, PackWriter& pack,
                                const std::optional<Oid>& tip, const Oid& tree,
                                const CommitContext& texts) const;

  const GitSinkOptions& options_;
  Transport transport_;
};

}  // namespace kollect::sinks::git
