#include "sinks/git/pass_job.h"

#include <algorithm>
#include <set>

#include "sinks/git/tree_diff.h"
#include "sinks/git/tree_editor.h"
#include "sinks/layout/kept_rows.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::git {

PassJob::PassJob(const Pass& pass, const GitSinkOptions& options, Ledgers& ledgers)
    : pass_(pass), options_(options), ledgers_(ledgers) {
  const auto found = ledgers.find(pass.head.inventory);
  if (found == ledgers.end()) return;
  ledger_ = &found->second;
  if (pass.changes != nullptr) {
    auto delta = DeltaPlan::of(ledger_->set, pass, options.layout);
    if (!delta.has_value()) {
      why_all_ = delta.error().message;
      return;
    }
    delta_ = std::move(*delta);
    way_ = Way::kDelta;
  } else if (ledger_->set.same_head(pass.head) && ledger_->set.set_hash == pass.set_hash) {
    way_ = Way::kRefresh;
  }
}

bool PassJob::is_idle(const Pass& pass, const Ledgers& ledgers) {
  const auto found = ledgers.find(pass.head.inventory);
  return pass.changes != nullptr && found != ledgers.end() &&
         found->second.set.same_head(pass.head) &&
         found->second.set.set_hash == pass.changes->set_hash();
}

ExportReport PassJob::unchanged(const Ledger& ledger) {
  ExportReport report;
  report.unchanged = ledger.set.files();
  return report;
}

std::optional<Oid> PassJob::known_base(const Try& one) const {
  const auto& proposal = one.proposal;
  if (proposal && proposal->on_tip && proposal->tree == ledger_->tree) return ledger_->tree;
  if (!ledger_->touched_in(one.store, one.tree)) return one.tree;
  return {};
}

base::Result<Built> PassJob::build(const Try& one) {
  std::optional<Oid> base;
  if (way_ != Way::kAll) {
    base = known_base(one);
    if (!base) {
      // Somebody wrote below our paths: what the files are is not known any more.
      way_ = Way::kAll;
      why_all_ = "somebody else wrote to the inventory's files";
    }
  }
  if (way_ == Way::kRefresh) {
    Built out;
    out.report = unchanged(*ledger_);
    if (base != one.tree) {
      out.tree = base;
      out.texts = texts(ledger_->set.layout.document_path, pass_.row_count, pass_.set_hash);
    }
    return out;
  }
  if (way_ == Way::kDelta && delta_ && base) {
    KL_ASSIGN(auto built, build_changes(one, *base, *delta_));
    if (built) return std::move(*built);
    way_ = Way::kAll;
  }
  if (one.asked) return build_all(one);
  Built out;
  out.ask = true;
  return out;
}

base::Result<std::optional<Built>> PassJob::build_changes(const Try& one, const Oid& base,
                                                          const DeltaPlan& delta) {
  auto built = build_delta(one.context, one.store, base, delta, pass_, options_.layout, one.pack,
                           base == one.tree ? std::nullopt : one.tree);
  if (!built.has_value()) {
    if (built.error().kind != base::ErrorKind::kTerminal) return built.error();
    why_all_ = built.error().message;
    return std::optional<Built>();
  }
  Built out;
  out.tree = built->tree;
  if (base != one.tree) {
    out.tree = built->tree.value_or(base);
    KL_ASSIGN(why_all_, doubt(one, base, delta, *built));
    if (!why_all_.empty()) return std::optional<Built>();
  }
  const auto& next = delta.next;
  out.report = std::move(built->report);
  out.texts = texts(next.layout.document_path, pass_.changes->row_count(), next.set_hash);
  return std::optional(std::move(out));
}

base::Result<std::string> PassJob::doubt(const Try& one, const Oid& base, const DeltaPlan& delta,
                                         const DeltaOutcome& built) const {
  TreeEditor tip(one.store, one.tree);
  std::vector<std::string> gone;
  for (const auto& path : delta.removed) {
    KL_ASSIGN(const auto there, tip.file(path));
    if (there) gone.push_back(path);
  }
  if (!gone.empty()) {
    // Only what the tip's own manifest lists is this inventory's there (K-32).
    KL_ASSIGN(const auto oid, tip.file(delta.next.layout.manifest_path));
    std::optional<std::vector<std::string>> listed;
    if (oid) {
      KL_ASSIGN(const auto text, one.store.blob(*oid));
      listed = read_manifest(text, pass_.head);
    }
    const std::set<std::string> owned =
        listed ? std::set<std::string>(listed->begin(), listed->end()) : std::set<std::string>();
    for (const auto& path : gone) {
      if (!owned.contains(path)) return std::string("a file on the tip may be somebody else's");
    }
  }
  // Where only manifest and index differ it may be their time alone, which is no proposal.
  KL_ASSIGN(const bool more, has_more_than_texts(one, base, delta, built));
  return std::string(more ? "" : "there may be nothing to propose any more");
}

base::Result<bool> PassJob::has_more_than_texts(const Try& one, const Oid& base,
                                                const DeltaPlan& delta,
                                                const DeltaOutcome& built) const {
  const auto& fixed = delta.next.fixed;
  const auto is_text = [&](const std::string& path) {
    return std::ranges::find(fixed, path_hash(path)) != fixed.end();
  };
  TreeEditor tip(one.store, one.tree);
  for (const auto& [path, oid] : built.touched) {
    if (is_text(path)) continue;
    KL_ASSIGN(const auto there, tip.file(path));
    if (there != oid) return true;
  }
  // What else the proposal has; the new tree itself cannot be read yet.
  bool more = false;
  const auto compared =
      for_each_difference(one.store, one.tree, base, [&](std::string&& path) -> base::Result<> {
        more = !is_text(path) && !built.touched.contains(path);
        if (more) return base::cancelled("seen enough");
        return {};
      });
  if (!more && !compared.has_value()) return compared.error();
  return more;
}

base::Result<Built> PassJob::build_all(const Try& one) {
  if (pass_.rows == nullptr) {
    return base::retryable("the changes alone do not do", std::string(kNeedsAllRows));
  }
  if (!rows_) {
    rows_ = pass_.rows->to_row_set();
    exports_ = {pass_.head};
  }
  KL_TRY(keep_rows(one, *rows_));
  std::optional<Oid> proposed;
  if (one.proposal) proposed = one.proposal->tree;
  KL_ASSIGN(all_, build_change_set(one.context, one.store, one.tree, exports_, options_.layout,
                                   one.pack, false, proposed));
  Built out;
  out.tree = all_->tree;
  out.report = all_->report;
  if (!out.tree) return out;
  const auto& layout = all_->layout.exports().front();
  // A tree has no document with a checksum over all rows; computing one for the commit's text would
  // make every commit as dear as the whole set.
  out.texts =
      texts(layout.document_path, rows_->size(),
            layout.mode == LayoutMode::kDocument ? rows_->checksum() : pass_.rows->set_hash());
  return out;
}

base::Result<> PassJob::keep_rows(const Try& one, const inventory::RowSet& rows) {
  auto& exp = exports_.front();
  exp.rows = &rows;
  // Files of trees stay as they are; of documents the rows have to be written again.
  const auto& spec = options_.layout;
  if (spec.mode.value_or(LayoutMode::kDocument) != LayoutMode::kDocument || !one.tree) return {};
  if (!exp.keeps()) return {};
  const PartSiblings siblings(exp, spec);
  TreeEditor tree(one.store, one.tree);
  std::vector<std::string> paths;
  KL_TRY(tree.for_files_below(
      siblings.folder(), [&](std::string_view below) { return siblings.may_be_below(below); },
      [&](std::string_view path) -> base::Result<> {
        if (siblings.matches(path)) paths.emplace_back(path);
        return {};
      }));
  std::vector<std::string> documents;
  for (const auto& path : paths) {
    KL_ASSIGN(const auto oid, tree.file(path));
    if (!oid) continue;
    KL_ASSIGN(documents.emplace_back(), one.store.blob(*oid));
  }
  KL_ASSIGN(with_kept_, with_kept_rows(exp, spec.format, documents));
  if (with_kept_) exp.rows = &*with_kept_;
  return {};
}

CommitContext PassJob::texts(const std::string& document_path, std::size_t rows,
                             std::string checksum) const {
  const auto& head = pass_.head;
  CommitContext out;
  out.cluster = cluster_word(head);
  out.ns = head.inventory.ns;
  out.name = head.inventory.name;
  out.generation = head.generation;
  out.item_count = rows;
  out.checksum = std::move(checksum);
  out.exported_at = head.exported_at;
  out.sink = options_.sink_name;
  out.path = document_path;
  return out;
}

void PassJob::confirmed(const ObjectStore& store, const Oid& tree) {
  switch (way_) {
    case Way::kRefresh:
      ledger_->tree = tree;
      return;
    case Way::kDelta:
      if (delta_) ledger_->set = std::move(delta_->next);
      ledger_->tree = tree;
      return;
    case Way::kAll:
      break;
  }
  ledgers_.erase(pass_.head.inventory);
  ledger_ = nullptr;
  if (!all_) return;
  // Most inventories without rows are on their way out.
  const auto size = exports_.front().rows->size();
  if (size == 0) return;
  // Changes do not tell which of two owners' rows the set has, and nothing of rows that were kept.
  if (size != pass_.rows->size()) return;
  auto set = SetLedger::of(exports_.front(), pass_.rows->set_hash(), options_.layout,
                           all_->layout.exports().front(), all_->kept.front(),
                           store.path() / "kollect-ledger");
  if (set.has_value()) ledgers_.emplace(pass_.head.inventory, Ledger{std::move(*set), tree});
}

void PassJob::before_compaction(const ObjectStore& store, const Oid& tree) {
  for (auto& [inventory, ledger] : ledgers_) {
    if (!ledger.touched_in(store, tree)) ledger.tree = tree;
  }
}

}  // namespace kollect::sinks::git
