#include "sinks/sqlite/merge.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::sinks::sqlite {

namespace {

using inventory::RowView;

/// Rows between two questions to the context.
constexpr std::size_t kCheckEvery = 256;

/// The uid, or for rows without one what identifies the object otherwise.
std::string source_uid(const RowView& row) {
  return row.uid.empty() ? fmt::format("{}/{}/{}/{}", row.group, row.kind, row.ns, row.name)
                         : std::string(row.uid);
}

class Merge {
 public:
  Merge(Database& database, const std::string& table, const base::Context& context,
        const Export& exp, bool dry_run)
      : database_(database), table_(table), context_(context), exp_(exp), dry_run_(dry_run) {}

  base::Result<MergeCounts> run();

 private:
  base::Result<> prepare();
  base::Result<std::string> moment();
  base::Result<> find_duplicates();
  base::Result<> row(const RowView& row);
  base::Result<> insert(const std::string& uid, std::string_view ns);
  base::Result<> update(std::int64_t id, const std::string& uid, std::string_view ns);
  base::Result<> open_version(const std::string& uid, std::string_view ns, std::string_view began);
  base::Result<> close_version(std::string_view target, std::string_view uid,
                               std::string_view ended);
  base::Result<> remove_stale();
  base::Result<> note_export();
  Statement& bind_inventory(Statement& statement) {
    return statement.bind(1, exp_.cluster).bind(2, exp_.inventory.ns).bind(3, exp_.inventory.name);
  }
  static std::uint64_t key_of(const RowView& row) {
    return base::xxh64(fmt::format("{}\n{}", row.target_name, source_uid(row)));
  }

  Database& database_;
  const std::string& table_;
  const base::Context& context_;
  const Export& exp_;
  bool dry_run_;
  MergeCounts counts_;
  std::string at_;
  std::string target_;   // of the current row
  std::string payload_;  // of the current row
  std::size_t position_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> last_of_duplicate_;
  std::vector<std::int64_t> kept_;  // row ids that are in the set
  Statement find_;
  Statement insert_;
  Statement update_;
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
  std::string at = sqlite_time(exp_.exported_at);
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

/// Two targets of one name in different namespaces may see one object: the last row of a key wins,
/// and it must be known before the first is written, or every export would write both.
base::Result<> Merge::find_duplicates() {
  std::vector<std::uint64_t> keys;
  keys.reserve(exp_.rows->size());
  KL_TRY(exp_.rows->for_each([&](const RowView& row) -> base::Result<> {
    keys.push_back(key_of(row));
    return {};
  }));
  std::vector<std::uint64_t> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  for (auto at = std::adjacent_find(sorted.begin(), sorted.end()); at != sorted.end();
       at = std::adjacent_find(std::upper_bound(at, sorted.end(), *at), sorted.end())) {
    last_of_duplicate_[*at] = 0;
  }
  if (!last_of_duplicate_.empty()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (const auto found = last_of_duplicate_.find(keys[i]); found != last_of_duplicate_.end()) {
        found->second = i;
      }
    }
  }
  return {};
}

base::Result<> Merge::row(const RowView& row) {
  const std::size_t position = position_++;
  if (position % kCheckEvery == 0) {
    KL_TRY(context_.check());
  }
  if (!last_of_duplicate_.empty()) {
    const auto found = last_of_duplicate_.find(key_of(row));
    if (found != last_of_duplicate_.end() && found->second != position) {
      ++counts_.collapsed;
      return {};
    }
  }
  payload_.clear();
  inventory::append_row_json(payload_, row);
  target_ = row.target_name;
  const std::string uid = source_uid(row);
  const std::string_view ns = row.ns.empty() ? std::string_view(exp_.inventory.ns) : row.ns;
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

base::Result<> Merge::insert(const std::string& uid, std::string_view ns) {
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
                                          "'$.namespace') FROM {} WHERE rowid = ?1",
                                          current)));
  KL_ASSIGN(Statement remove,
            database_.prepare(fmt::format("DELETE FROM {} WHERE rowid = ?1", current)));
  for (const std::int64_t id : stale) {
    KL_ASSIGN(const bool found, look.bind(1, id).step());
    const std::string target(found ? look.text(0) : std::string_view());
    const std::string uid(found ? look.text(1) : std::string_view());
    const std::string ns(found ? look.text(2) : std::string_view());
    look.reset();
    const auto& keep = exp_.keep_namespaces;
    if (!ns.empty() && std::find(keep.begin(), keep.end(), ns) != keep.end()) {
      ++counts_.unchanged;
      continue;
    }
    ++counts_.went;
    if (!dry_run_) {
      KL_TRY(remove.bind(1, id).run());
      KL_TRY(close_version(target, uid, "went"));
    }
  }
  return {};
}

base::Result<> Merge::note_export() {
  KL_ASSIGN(
      Statement note,
      database_.prepare(fmt::format(
          "INSERT INTO {} (cluster, inventory_namespace, inventory_name, generation, checksum, "
          "item_count, exported_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
          "ON CONFLICT (cluster, inventory_namespace, inventory_name) DO UPDATE SET "
          "generation = excluded.generation, checksum = excluded.checksum, "
          "item_count = excluded.item_count, exported_at = excluded.exported_at",
          quote_name(table_ + "_exports"))));
  const std::string checksum = exp_.rows->checksum();
  return bind_inventory(note)
      .bind(4, exp_.generation)
      .bind(5, checksum)
      .bind(6, static_cast<std::int64_t>(exp_.rows->size()))
      .bind(7, at_)
      .run();
}

base::Result<MergeCounts> Merge::run() {
  KL_TRY(prepare());
  KL_ASSIGN(at_, moment());
  KL_TRY(find_duplicates());
  KL_TRY(exp_.rows->for_each([this](const RowView& view) { return row(view); }));
  KL_TRY(remove_stale());
  if (!dry_run_) {
    KL_TRY(note_export());
  }
  return counts_;
}

}  // namespace

base::Result<MergeCounts> merge(Database& database, const std::string& table,
                                const base::Context& context, const Export& exp, bool dry_run) {
  return Merge(database, table, context, exp, dry_run).run();
}

}  // namespace kollect::sinks::sqlite
