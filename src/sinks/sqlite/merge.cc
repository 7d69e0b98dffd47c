#include "sinks/sqlite/merge.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json/write.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::sinks::sqlite {

namespace {

using inventory::RowView;

/// Rows between two questions to the context.
constexpr std::size_t kCheckEvery = 256;

class Merge {
 public:
  Merge(Database& database, const std::string& table, const base::Context& context,
        const Export& head, bool dry_run)
      : database_(database), table_(table), context_(context), head_(head), dry_run_(dry_run) {}

  base::Result<MergeCounts> whole(const rows::Source& source, const std::string& checksum,
                                  const std::stop_token& give_way);
  base::Result<MergeCounts> changes(const inventory::ChangeSet& changes, std::size_t row_count,
                                    const std::string& checksum);

 private:
  base::Result<> prepare();
  base::Result<> compare(const rows::Source& source);
  /// There is something to write: from now on the pass does not give way any more.
  void writes();
  base::Result<std::string> moment();
  base::Result<> row(const RowView& row);
  base::Result<> change(const inventory::RowChange& change);
  base::Result<> check_now_and_then();
  base::Result<> refuse_foreign(const RowView& row) const;
  base::Result<> insert(const std::string& uid, std::string_view ns);
  base::Result<> update(std::int64_t id, const std::string& uid, std::string_view ns);
  base::Result<> open_version(const std::string& uid, std::string_view ns, std::string_view began);
  base::Result<> close_version(std::string_view target, std::string_view uid,
                               std::string_view ended);
  base::Result<> close_orphans();
  base::Result<> remove_stale();
  base::Result<> note_export(std::size_t row_count, const std::string& checksum);
  Statement& bind_inventory(Statement& statement) {
    return statement.bind(1, head_.cluster)
        .bind(2, head_.inventory.ns)
        .bind(3, head_.inventory.name);
  }

  Database& database_;
  const std::string& table_;
  const base::Context& context_;
  const Export& head_;
  bool dry_run_;
  std::optional<base::Context> giving_way_;  ///< of a comparison that may; until writes()
  MergeCounts counts_;
  std::string at_;
  std::string target_;   // of the current row
  std::string payload_;  // of the current row
  std::size_t position_ = 0;
  rows::Duplicates duplicates_;
  std::vector<std::int64_t> kept_;  // row ids that are in the set
  Statement find_;
  Statement insert_;
  Statement update_;
  Statement remove_;
  Statement open_;
  Statement close_;
};

base::Result<> Merge::prepare() {
  const std::string current = quote_name(table_);
  const std::string history = quote_name(table_ + "_history");
  constexpr std::string_view kKey =
      "cluster = ?1 AND inventory_namespace = ?2 AND inventory_name = ?3 AND target_name = ?4 AND "
      "source_uid = ?5";
  KL_ASSIGN(find_, database_.prepare(
                       fmt::format("SELECT rowid, payload FROM {} WHERE {}", current, kKey)));
  KL_ASSIGN(remove_, database_.prepare(fmt::format("DELETE FROM {} WHERE rowid = ?1", current)));
  KL_ASSIGN(
      insert_,
      database_.prepare(fmt::format(
          "INSERT INTO {} (cluster, inventory_namespace, inventory_name, target_name, source_uid, "
          "resource_namespace, payload, exported_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
          "RETURNING rowid",
          current)));
  KL_ASSIGN(
      update_,
      database_.prepare(fmt::format(
          "UPDATE {} SET payload = ?2, resource_namespace = ?3, exported_at = ?4 WHERE rowid = ?1",
          current)));
  if (dry_run_) {
    return {};
  }
  KL_ASSIGN(
      open_,
      database_.prepare(fmt::format(
          "INSERT INTO {} (cluster, inventory_namespace, inventory_name, target_name, source_uid, "
          "resource_namespace, payload, valid_from, began) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
          "?9)",
          history)));
  KL_ASSIGN(close_, database_.prepare(fmt::format(
                        "UPDATE {} SET valid_to = ?6, ended = ?7 WHERE {} AND valid_to IS NULL",
                        history, kKey)));
  return {};
}

/// The export's time, moved behind the last one of this inventory: a clock that was set back must
/// not give versions that end before they begin.
base::Result<std::string> Merge::moment() {
  std::string at = sqlite_time(head_.exported_at);
  if (dry_run_) {
    return at;
  }
  KL_ASSIGN(Statement last,
            database_.prepare(fmt::format("SELECT exported_at FROM {} WHERE cluster = ?1 AND "
                                          "inventory_namespace = ?2 AND inventory_name = ?3",
                                          quote_name(table_ + "_exports"))));
  KL_ASSIGN(const bool found, bind_inventory(last).step());
  if (found && last.text(0) >= at) {
    if (const auto previous = base::parse_rfc3339(last.text(0))) {
      at = sqlite_time(*previous + std::chrono::microseconds(1));
    }
  }
  return at;
}

base::Result<> Merge::check_now_and_then() {
  if (++position_ % kCheckEvery != 0) {
    return {};
  }
  return giving_way_ ? giving_way_->check() : context_.check();
}

void Merge::writes() {
  if (giving_way_) {
    database_.watch(&context_);
    giving_way_.reset();
  }
}

base::Result<> Merge::row(const RowView& row) {
  KL_TRY(check_now_and_then());
  const std::string uid = rows::source_uid(row);
  if (duplicates_.any() && duplicates_.superseded(rows::key_hash(row.target_name, uid))) {
    ++counts_.collapsed;
    return {};
  }
  payload_.clear();
  inventory::append_row_json(payload_, row);
  target_ = row.target_name;
  const std::string_view ns = row.ns.empty() ? std::string_view(head_.inventory.ns) : row.ns;
  KL_ASSIGN(const bool exists, bind_inventory(find_).bind(4, target_).bind(5, uid).step());
  if (!exists) {
    return insert(uid, ns);
  }
  const std::int64_t id = find_.integer(0);
  const bool same = find_.text(1) == payload_;
  find_.reset();
  kept_.push_back(id);
  if (same) {
    ++counts_.unchanged;
    return {};
  }
  return update(id, uid, ns);
}

/// The found row must be of the same target as the change.
base::Result<> Merge::refuse_foreign(const RowView& row) const {
  std::string own = "{\"targetNamespace\":";
  base::json::append_string(own, row.target_namespace);
  if (find_.text(1).starts_with(own + ",")) {
    return {};
  }
  return base::conflict(
      fmt::format("table {}: targets of one name share an object; the whole set decides which row "
                  "counts",
                  table_),
      "rows-needed");
}

base::Result<> Merge::change(const inventory::RowChange& change) {
  const std::string uid = rows::source_uid(change.row);
  target_ = change.row.target_name;
  KL_ASSIGN(const bool exists, bind_inventory(find_).bind(4, target_).bind(5, uid).step());
  if (exists) {
    const auto refused = refuse_foreign(change.row);
    const std::int64_t id = find_.integer(0);
    find_.reset();
    KL_TRY(refused);
    if (change.removed) {
      KL_TRY(check_now_and_then());
      ++counts_.went;
      KL_TRY(remove_.bind(1, id).run());
      return close_version(target_, uid, "went");
    }
  }
  if (change.removed) {
    return {};
  }
  if (!exists) {
    KL_TRY(close_version(target_, uid, "went"));  // unless somebody else deleted the row: nothing
  }
  return row(change.row);
}

base::Result<> Merge::insert(const std::string& uid, std::string_view ns) {
  writes();
  ++counts_.appeared;
  counts_.bytes += payload_.size();
  if (dry_run_) {
    return {};
  }
  bind_inventory(insert_).bind(4, target_).bind(5, uid).bind(6, ns).bind(7, payload_).bind(8, at_);
  KL_ASSIGN(const bool inserted, insert_.step());
  if (inserted) {
    kept_.push_back(insert_.integer(0));
  }
  KL_TRY(insert_.run());
  return open_version(uid, ns, "appeared");
}

base::Result<> Merge::update(std::int64_t id, const std::string& uid, std::string_view ns) {
  writes();
  ++counts_.changed;
  counts_.bytes += payload_.size();
  if (dry_run_) {
    return {};
  }
  KL_TRY(update_.bind(1, id).bind(2, payload_).bind(3, ns).bind(4, at_).run());
  KL_TRY(close_version(target_, uid, "changed"));
  return open_version(uid, ns, "changed");
}

base::Result<> Merge::open_version(const std::string& uid, std::string_view ns,
                                   std::string_view began) {
  return bind_inventory(open_)
      .bind(4, target_)
      .bind(5, uid)
      .bind(6, ns)
      .bind(7, payload_)
      .bind(8, at_)
      .bind(9, began)
      .run();
}

base::Result<> Merge::close_version(std::string_view target, std::string_view uid,
                                    std::string_view ended) {
  return bind_inventory(close_).bind(4, target).bind(5, uid).bind(6, at_).bind(7, ended).run();
}

/// Versions of rows that somebody else deleted from the table: the next insert would open a second
/// one.
base::Result<> Merge::close_orphans() {
  if (dry_run_) {
    return {};
  }
  KL_ASSIGN(Statement close,
            database_.prepare(fmt::format(
                "UPDATE {} AS h SET valid_to = ?4, ended = 'went' WHERE cluster = ?1 AND "
                "inventory_namespace = ?2 AND inventory_name = ?3 AND valid_to IS NULL AND NOT "
                "EXISTS (SELECT 1 FROM {} t WHERE t.cluster = h.cluster AND t.inventory_namespace "
                "= h.inventory_namespace AND t.inventory_name = h.inventory_name AND "
                "t.target_name = h.target_name AND t.source_uid = h.source_uid)",
                quote_name(table_ + "_history"), quote_name(table_))));
  return bind_inventory(close).bind(4, at_).run();
}

/// Rows of this inventory and cluster that the set does not hold, but for those of namespaces that
/// could not be read.
base::Result<> Merge::remove_stale() {
  std::sort(kept_.begin(), kept_.end());
  const std::string current = quote_name(table_);
  KL_ASSIGN(Statement all,
            database_.prepare(fmt::format("SELECT rowid FROM {} WHERE cluster = ?1 AND "
                                          "inventory_namespace = ?2 AND inventory_name = ?3",
                                          current)));
  bind_inventory(all);
  std::vector<std::int64_t> stale;
  while (true) {
    KL_ASSIGN(const bool more, all.step());
    if (!more) {
      break;
    }
    if (!std::binary_search(kept_.begin(), kept_.end(), all.integer(0))) {
      stale.push_back(all.integer(0));
    }
  }
  if (stale.empty()) {
    return {};
  }
  KL_ASSIGN(Statement look,
            database_.prepare(fmt::format("SELECT target_name, source_uid, json_extract(payload, "
                                          "'$.namespace'), json_extract(payload, "
                                          "'$.targetNamespace') FROM {} WHERE rowid = ?1",
                                          current)));
  const rows::Keep keep(head_);
  for (const std::int64_t id : stale) {
    KL_ASSIGN(const bool found, look.bind(1, id).step());
    const std::string target(found ? look.text(0) : std::string_view());
    const std::string uid(found ? look.text(1) : std::string_view());
    const bool stays = found && keep.holds(look.text(3), target, look.text(2));
    look.reset();
    if (stays) {
      ++counts_.unchanged;
      continue;
    }
    writes();
    ++counts_.went;
    if (!dry_run_) {
      KL_TRY(remove_.bind(1, id).run());
      KL_TRY(close_version(target, uid, "went"));
    }
  }
  return {};
}

base::Result<> Merge::note_export(std::size_t row_count, const std::string& checksum) {
  KL_ASSIGN(
      Statement note,
      database_.prepare(fmt::format(
          "INSERT INTO {} (cluster, inventory_namespace, inventory_name, generation, checksum, "
          "item_count, exported_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
          "ON CONFLICT (cluster, inventory_namespace, inventory_name) DO UPDATE SET "
          "generation = excluded.generation, checksum = excluded.checksum, "
          "item_count = excluded.item_count, exported_at = excluded.exported_at",
          quote_name(table_ + "_exports"))));
  return bind_inventory(note)
      .bind(4, head_.generation)
      .bind(5, checksum)
      .bind(6, static_cast<std::int64_t>(row_count))
      .bind(7, at_)
      .run();
}

base::Result<> Merge::compare(const rows::Source& source) {
  KL_TRY(close_orphans());
  // Which row of a key counts must be known before the first is written, or every export would
  // write both.
  KL_ASSIGN(duplicates_, rows::Duplicates::find(source));
  const auto visit = [this](const RowView& view) { return row(view); };
  KL_TRY(duplicates_.any() ? source.for_each_sorted(visit) : source.for_each(visit));
  return remove_stale();
}

base::Result<MergeCounts> Merge::whole(const rows::Source& source, const std::string& checksum,
                                       const std::stop_token& give_way) {
  KL_TRY(prepare());
  KL_ASSIGN(at_, moment());
  if (give_way.stop_possible()) {
    giving_way_.emplace(context_.with_stop(give_way));
    database_.watch(&*giving_way_);
  }
  auto compared = compare(source);
  const bool gave = !compared && giving_way_ && give_way.stop_requested();
  writes();
  if (gave) {
    return gave_way();
  }
  KL_TRY(std::move(compared));
  if (!dry_run_) {
    KL_TRY(note_export(source.size(), checksum));
  }
  return counts_;
}

base::Result<MergeCounts> Merge::changes(const inventory::ChangeSet& changes, std::size_t row_count,
                                         const std::string& checksum) {
  KL_TRY(prepare());
  KL_ASSIGN(at_, moment());
  KL_TRY(changes.for_each([this](const inventory::RowChange& one) { return change(one); }));
  KL_TRY(note_export(row_count, checksum));
  return counts_;
}

}  // namespace

base::Result<MergeCounts> merge(Database& database, const std::string& table,
                                const base::Context& context, const Export& head,
                                const rows::Source& source, const std::string& checksum,
                                bool dry_run, const std::stop_token& give_way) {
  return Merge(database, table, context, head, dry_run).whole(source, checksum, give_way);
}

base::Result<MergeCounts> merge_changes(Database& database, const std::string& table,
                                        const base::Context& context, const Export& head,
                                        const inventory::ChangeSet& changes, std::size_t row_count,
                                        const std::string& checksum) {
  return Merge(database, table, context, head, false).changes(changes, row_count, checksum);
}

}  // namespace kollect::sinks::sqlite
