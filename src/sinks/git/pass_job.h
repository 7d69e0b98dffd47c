// A pass of a running operator as one commit at most (spec: sinks 7.3, runtime 9.3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sinks/git/change_set.h"
#include "sinks/git/commit_loop.h"
#include "sinks/git/delta.h"
#include "sinks/git/ledger.h"

namespace kollect::sinks::git {

using Ledgers = std::map<InventoryId, Ledger>;

/// Chooses the cheapest way that gives the bytes of export_all:
///   - a refresh of rows that the branch is known to hold: only the tip is looked at;
///   - differences on a branch where the inventory's files are as they were left: a DeltaPlan, on
///   the
///     tip that the mirror remembers;
///   - everything else: all rows.
/// Borrows what it is given. Ledgers change by confirmed() only.
class PassJob final : public Job {
 public:
  PassJob(const Pass& pass, const GitSinkOptions& options, Ledgers& ledgers);

  [[nodiscard]] bool asks_first() const override { return way_ != Way::kDelta; }
  base::Result<Built> build(const Try& one) override;
  void confirmed(const ObjectStore& store, const Oid& tree) override;
  void before_compaction(const ObjectStore& store, const Oid& tree) override;

  /// What the last build() was: a look at all rows, or at what changed.
  [[nodiscard]] bool looked_at_all() const { return way_ == Way::kAll; }
  /// Why differences did not do.
  [[nodiscard]] const std::string& why_all() const { return why_all_; }
  /// Nothing can be different from what the branch holds: there is nothing to do.
  [[nodiscard]] static bool is_idle(const Pass& pass, const Ledgers& ledgers);
  static ExportReport unchanged(const Ledger& ledger);

 private:
  enum class Way { kRefresh, kDelta, kAll };
  /// The tree that holds the inventory as the ledger says: the proposal's or the tip's; none: it is
  /// not known any more what the files are.
  [[nodiscard]] std::optional<Oid> known_base(const Try& one) const;
  /// None: the changes alone do not tell.
  base::Result<std::optional<Built>> build_changes(const Try& one, const Oid& base,
                                                   const DeltaPlan& delta);
  /// Why a delta on a proposal is not what all rows would give on the tip; empty: it is.
  [[nodiscard]] base::Result<std::string> doubt(const Try& one, const Oid& base,
                                                const DeltaPlan& delta,
                                                const DeltaOutcome& built) const;
  [[nodiscard]] base::Result<bool> has_more_than_texts(const Try& one, const Oid& base,
                                                       const DeltaPlan& delta,
                                                       const DeltaOutcome& built) const;
  base::Result<Built> build_all(const Try& one);
  base::Result<> keep_rows(const Try& one, const inventory::RowSet& rows);
  [[nodiscard]] CommitContext texts(const std::string& document_path, std::size_t rows,
                                    std::string checksum) const;

  const Pass& pass_;
  const GitSinkOptions& options_;
  Ledgers& ledgers_;
  Ledger* ledger_ = nullptr;  ///< of the pass's inventory, as it was when the pass began
  Way way_ = Way::kAll;
  std::string why_all_;
  std::optional<DeltaPlan> delta_;
  std::optional<inventory::RowSet> rows_;
  std::optional<inventory::RowSet> with_kept_;  ///< and rows of the last document that must stay
  std::vector<Export> exports_;                 ///< the one that `all_` borrows
  std::optional<ChangeSet> all_;
};

}  // namespace kollect::sinks::git
