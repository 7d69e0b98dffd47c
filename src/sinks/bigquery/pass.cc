#include "sinks/bigquery/pass.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "sinks/bigquery/payload.h"

namespace kollect::sinks::bigquery {

namespace {

using inventory::RowView;

constexpr std::size_t kCheckEvery = 1024;  // rows between two questions to the context

std::string text_of(std::string_view text) {
  return base::sanitize_utf8(text);
}

/// A row's columns but its payload.
Difference columns_of(const RowView& row, const Partition& partition) {
  return {text_of(row.target_name),
          text_of(rows::source_uid(row)),
          text_of(row.target_namespace),
          text_of(row.ns.empty() ? std::string_view(partition.inventory_namespace) : row.ns),
          {}};
}

/// A row of the set, while it is compared.
struct Wanted {
  rows::KeyHash key;
  Digest digest{};
  bool met = false;   ///< the table has the key
  bool same = false;  ///< and the row under it is the same
};

class Reconciliation {
 public:
  Reconciliation(Work& work, const Partition& partition, const Export& head,
                 TargetNamespaces& targets, bool dry_run, std::stop_token give_way)
      : work_(work),
        partition_(partition),
        keep_(head),
        places_(head.keeps()),
        targets_(targets),
        dry_run_(dry_run),
        give_way_(std::move(give_way)) {}

  base::Result<PassCounts> run(const rows::Source& source) {
    if (source.size() == 0 && !places_ && !dry_run_) return empty_partition();
    if (work_.fresh) return fill(source);
    KL_TRY(digest(source));
    KL_TRY(compare());
    if (!differs_ && give_way_.stop_requested() && !wanted_.empty()) return gave_way();
    if (!doubled_.empty() && !dry_run_) {
      KL_TRY(work_.jobs.run(work_.context, delete_keys(partition_, doubled_)));
    }
    Stage stage(work_, partition_);
    KL_TRY(stage_differences(source, stage));
    if (!dry_run_) KL_TRY(stage.finish(counts_));
    return counts_;
  }

 private:
  base::Result<PassCounts> empty_partition() {
    targets_.clear();
    KL_ASSIGN(const Finished done, work_.jobs.run(work_.context, delete_partition(partition_)));
    counts_.removed = done.detailed ? done.deleted : done.affected;
    counts_.held = counts_.removed;
    return counts_;
  }

  /// All rows into a table without any. Should another writer be as quick, the MERGE meets its
  /// rows.
  base::Result<PassCounts> fill(const rows::Source& source) {
    targets_.clear();
    Stage stage(work_, partition_);
    KL_TRY(each_row(source, [&](const RowView& row) -> base::Result<> {
      Difference columns = columns_of(row, partition_);
      note_target(targets_, columns.target_name, columns.target_namespace);
      KL_ASSIGN(columns.payload, payload_.write(row));
      return stage.add(std::move(columns));
    }));
    KL_TRY(stage.finish(counts_));
    return counts_;
  }

  /// Calls `visit` for every row that counts, in an order that is the same each time.
  base::Result<> each_row(const rows::Source& source,
                          const std::function<base::Result<>(const RowView&)>& visit) {
    KL_ASSIGN(auto duplicates, rows::Duplicates::find(source));
    std::size_t position = 0;
    const auto checked = [&](const RowView& row) -> base::Result<> {
      if (++position % kCheckEvery == 0) KL_TRY(work_.context.check());
      return visit(row);
    };
    if (!duplicates.any()) return source.for_each(checked);
    counts_.collapsed = 0;
    return source.for_each_sorted([&](const RowView& row) -> base::Result<> {
      if (duplicates.superseded(rows::key_hash(row.target_name, rows::source_uid(row)))) {
        ++counts_.collapsed;
        return {};
      }
      return checked(row);
    });
  }

  base::Result<> digest(const rows::Source& source) {
    wanted_.reserve(source.size());
    targets_.clear();
    KL_TRY(each_row(source, [this](const RowView& row) -> base::Result<> {
      const Difference columns = columns_of(row, partition_);
      note_target(targets_, columns.target_name, columns.target_namespace);
      KL_ASSIGN(const auto payload, payload_.write(row));
      wanted_.push_back({rows::key_hash(columns.target_name, columns.source_uid),
                         digest_of(columns.resource_namespace, payload)});
      return {};
    }));
    std::sort(wanted_.begin(), wanted_.end(),
              [](const Wanted& a, const Wanted& b) { return a.key < b.key; });
    return {};
  }

  Wanted* find(const rows::KeyHash& key) {
    const auto at =
        std::lower_bound(wanted_.begin(), wanted_.end(), key,
                         [](const Wanted& a, const rows::KeyHash& b) { return a.key < b; });
    return at != wanted_.end() && at->key == key ? &*at : nullptr;
  }

  base::Result<> compare() {
    KL_ASSIGN(const Finished query,
              work_.jobs.run(work_.context, read_partition(partition_, places_)));
    return work_.jobs.read(
        work_.context, query,
        [this](std::uint64_t total) {
          counts_.held = total;
          differs_ = total < wanted_.size();
        },
        [this](const Cells& cells) { return held_row(cells); },
        [this]() -> base::Result<> {
          if (!differs_ && give_way_.stop_requested()) return gave_way();
          return work_.context.check();
        });
  }

  base::Result<> held_row(const Cells& cells) {
    constexpr std::size_t kColumns = 5;
    if (cells.size() != kColumns) {
      return base::terminal("bigquery: a result has other columns than were asked for");
    }
    Difference held{std::string(cells[0]), std::string(cells[1]), std::string(cells[3]), {}, {}};
    Wanted* wanted = find(rows::key_hash(held.target_name, held.source_uid));
    if (wanted == nullptr) {
      if (places_ && keep_.holds(cells[3], cells[0], cells[4])) {
        ++counts_.unchanged;
        return {};
      }
      differs_ = true;
      gone_.push_back(std::move(held));
      return {};
    }
    if (wanted->met) {  // no key of the table is enforced: two writers can both insert
      differs_ = true;
      wanted->same = false;
      doubled_.push_back(std::move(held));
      return {};
    }
    wanted->met = true;
    wanted->same = wanted->digest == read_digest(cells[2]);
    differs_ = differs_ || !wanted->same;
    return {};
  }

  base::Result<> stage_differences(const rows::Source& source, Stage& stage) {
    for (Difference& row : gone_) {
      if (dry_run_) {
        ++counts_.removed;
      } else {
        KL_TRY(stage.add(std::move(row)));
      }
    }
    gone_ = {};
    const auto same = static_cast<std::uint64_t>(
        std::count_if(wanted_.begin(), wanted_.end(), [](const Wanted& row) { return row.same; }));
    counts_.unchanged += same;
    if (same == wanted_.size()) return {};
    return each_row(source, [&](const RowView& row) -> base::Result<> {
      Difference columns = columns_of(row, partition_);
      const Wanted* wanted = find(rows::key_hash(columns.target_name, columns.source_uid));
      if (wanted == nullptr || wanted->same) return {};
      KL_ASSIGN(const auto payload, payload_.write(row));
      if (dry_run_) {
        ++counts_.written;
        counts_.bytes += payload.size();
        return {};
      }
      columns.payload = std::string(payload);
      return stage.add(std::move(columns));
    });
  }

  Work& work_;
  const Partition& partition_;
  rows::Keep keep_;
  bool places_;
  TargetNamespaces& targets_;
  bool dry_run_;
  std::stop_token give_way_;
  Payload payload_;
  PassCounts counts_;
  std::vector<Wanted> wanted_;
  std::vector<Difference> gone_;
  std::vector<Difference> doubled_;
  bool differs_ = false;  ///< there is, or may be, something to write
};

}  // namespace

void note_target(TargetNamespaces& targets, std::string_view name, std::string_view ns) {
  const auto found = targets.find(name);
  if (found == targets.end()) {
    targets.emplace(name, ns);
  } else if (found->second && *found->second != ns) {
    found->second.reset();
  }
}

base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const Export& head,
                                   TargetNamespaces& targets, bool dry_run,
                                   std::stop_token give_way) {
  return Reconciliation(work, partition, head, targets, dry_run, std::move(give_way)).run(source);
}

base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes,
                                       TargetNamespaces* targets) {
  Stage stage(work, partition);
  Payload payload;
  PassCounts counts;
  bool mixed = targets == nullptr;
  std::size_t position = 0;
  KL_TRY(changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
    if (position++ % kCheckEvery == 0) KL_TRY(work.context.check());
    Difference row = columns_of(change.row, partition);
    if (targets != nullptr) {
      note_target(*targets, row.target_name, row.target_namespace);
      mixed = mixed || !targets->find(row.target_name)->second;
    }
    if (!change.removed) {
      KL_ASSIGN(const auto text, payload.write(change.row));
      row.payload = std::string(text);
    }
    return stage.add(std::move(row));
  }));
  if (stage.has_twice()) {
    return base::conflict("bigquery: one key twice in the changes", "duplicate-key");
  }
  if (mixed) {
    // Too much to ask about: the comparison of the whole set costs no more.
    bool foreign = stage.loading();
    if (!foreign) {
      KL_ASSIGN(foreign, stage.meets_foreign());
    }
    if (foreign) {
      return base::conflict("bigquery: targets of one name in several namespaces may share objects",
                            "rows-needed");
    }
  }
  KL_TRY(stage.finish(counts));
  return counts;
}

}  // namespace kollect::sinks::bigquery
