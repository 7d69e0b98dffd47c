#include "sinks/postgres/postgres_sink.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/postgres/pass.h"
#include "sinks/postgres/payload.h"

namespace kollect::sinks {

namespace {

using postgres::Answer;
using postgres::Connection;
using postgres::Partition;
using postgres::PassCounts;
using postgres::Reading;
using postgres::Table;
using postgres::Work;
using rows::Unit;

constexpr int kTries = 3;  ///< of a transaction that lost against another writer
constexpr std::chrono::seconds kProbeDeadline{15};

std::string time_text(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micro);
}

std::string milliseconds(base::Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

class PostgresSink final : public Sink {
 public:
  explicit PostgresSink(PostgresOptions options) : options_(std::move(options)) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    return with_retries(context, rows::units_of(exports, !dry_run), dry_run);
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    return with_retries(context, {rows::unit_of(pass)}, false);
  }

  [[nodiscard]] bool takes_changes() const override { return !duplicates_.any(); }

  base::Result<> probe(const base::Context& context) override {
    const base::Context limited = context.with_timeout(kProbeDeadline);
    KL_ASSIGN(Connection connection, pgsql::connect(limited, options_.dsn));
    KL_TRY(connection.run(limited, "asking", "SELECT 1"));
    if (options_.table.ensure || !options_.naming_template.empty()) return {};
    connection.set_where(title_of(options_.table.table));
    KL_TRY(postgres::prepare_table(limited, connection, options_.table));
    return {};
  }

 private:
  base::Result<ExportReport> with_retries(const base::Context& context,
                                          const std::vector<Unit>& units, bool dry_run);
  base::Result<ExportReport> transaction(const base::Context& context,
                                         const std::vector<Unit>& units, bool dry_run);
  base::Result<> begin(const base::Context& context, const std::vector<Unit>& units, bool dry_run);
  base::Result<> connect(const base::Context& context);
  base::Result<const Table*> table_for(const base::Context& context, const Export& head,
                                       bool dry_run);
  base::Result<> write_unit(Work& work, const Unit& unit, bool dry_run, ExportReport& report);
  base::Result<PassCounts> pass_over(Work& work, const Partition& partition, const Unit& unit,
                                     bool dry_run);
  base::Result<Partition> partition_of(Work& work, const Unit& unit, const Table& table,
                                       bool dry_run);
  base::Result<> note_export(Work& work, const Partition& partition, const Unit& unit) const;
  [[nodiscard]] std::string table_name(const Export& head) const;
  [[nodiscard]] std::string title_of(std::string_view table) const {
    return fmt::format("{}.{}", options_.table.schema, table);
  }

  PostgresOptions options_;
  std::optional<Connection> connection_;
  /// By dry run and name; looked at once per sink.
  std::map<std::pair<bool, std::string>, Table> tables_;
  rows::Doubled duplicates_;        ///< inventories in whose sets a key stands twice
  std::set<std::string> repaired_;  ///< inventories whose history agrees with the table
};

std::string PostgresSink::table_name(const Export& head) const {
  if (options_.naming_template.empty()) return options_.table.table;
  return postgres::named_table(options_.naming_template, head.cluster, head.inventory.ns,
                               head.inventory.name);
}

base::Result<> PostgresSink::connect(const base::Context& context) {
  if (connection_ && connection_->alive()) return {};
  connection_.reset();
  KL_ASSIGN(connection_, pgsql::connect(context, options_.dsn));
  return {};
}

base::Result<const Table*> PostgresSink::table_for(const base::Context& context, const Export& head,
                                                   bool dry_run) {
  const std::string name = table_name(head);
  connection_->set_where(title_of(name));
  const std::pair key(dry_run, name);
  if (const auto found = tables_.find(key); found != tables_.end()) return &found->second;
  postgres::TableOptions wanted = options_.table;
  wanted.table = name;
  Table table;
  if (dry_run) {
    bool missing = false;
    wanted.history = false;  // is not compared
    KL_ASSIGN(table, postgres::look_at_table(context, *connection_, wanted, missing));
    if (missing && wanted.ensure) return base::Result<const Table*>(nullptr);
    if (missing) {
      return base::terminal(fmt::format("postgres: table {} does not exist", title_of(name)),
                            "table-missing");
    }
  } else {
    KL_ASSIGN(table, postgres::prepare_table(context, *connection_, wanted));
  }
  return &tables_.emplace(key, std::move(table)).first->second;
}

/// Locks of all inventories of the transaction in one order, so that two processes never wait for
/// each other in a circle. Without the cluster in the key, clusters share rows and so the lock.
base::Result<> PostgresSink::begin(const base::Context& context, const std::vector<Unit>& units,
                                   bool dry_run) {
  std::string sql =
      fmt::format("BEGIN{}; SET LOCAL statement_timeout = {}", dry_run ? " READ ONLY" : "",
                  milliseconds(options_.statement_timeout));
  if (options_.lock_timeout) {
    sql += fmt::format("; SET LOCAL lock_timeout = {}", milliseconds(*options_.lock_timeout));
  }
  if (!dry_run) {
    std::vector<std::string> locks;
    for (const Unit& unit : units) {
      KL_ASSIGN(const Table* table, table_for(context, *unit.head, false));
      locks.push_back(postgres::lock_number(fmt::format(
          "{}\n{}\n{}\n{}", table->name, unit.head->inventory.ns, unit.head->inventory.name,
          table->cluster_in_key ? unit.head->cluster : std::string("*"))));
    }
    std::sort(locks.begin(), locks.end());
    locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
    for (const std::string& lock : locks) {
      sql += fmt::format("; SELECT pg_catalog.pg_advisory_xact_lock({})", lock);
    }
    sql += "; " + postgres::create_stage_sql();
  }
  KL_TRY(connection_->run(context, "preparing to write", sql));
  return {};
}

base::Result<ExportReport> PostgresSink::with_retries(const base::Context& context,
                                                      const std::vector<Unit>& units,
                                                      bool dry_run) {
  if (units.empty()) return ExportReport{};
  for (int attempt = 1;; ++attempt) {
    KL_TRY(context.check());
    // A session that was open before may have died in the meantime: that is no failure yet.
    const bool was_open = connection_ && connection_->alive();
    auto report = transaction(context, units, dry_run);
    if (report.has_value()) return report;
    if (connection_) connection_->roll_back(context);
    // A session that is given up must go at once: it holds its locks until then.
    if (connection_ && !connection_->alive()) connection_.reset();
    const base::Error& error = report.error();
    const bool whole_set_known =
        std::all_of(units.begin(), units.end(), [](const Unit& unit) { return unit.rows; });
    if (error.kind == base::ErrorKind::kConflict) {
      // From now on these sets are read twice and changes alone are not asked for.
      for (const Unit& unit : units) duplicates_.insert(rows::id_of(*unit.head));
      if (!whole_set_known) {
        return base::retryable(error.message + "; the next pass compares it", error.reason);
      }
    }
    if (error.reason == "table-missing" || error.reason == "table-shape") tables_.clear();
    const bool again = error.kind == base::ErrorKind::kConflict ||
                       error.reason == "lock-conflict" ||
                       (was_open && error.reason == "unreachable");
    if (!again || attempt == kTries) {
      KL_TRY(context.check());
      return report;
    }
    if (error.reason == "lock-conflict" &&
        !context.sleep(std::chrono::milliseconds(50) * attempt)) {
      KL_TRY(context.check());
    }
  }
}

base::Result<ExportReport> PostgresSink::transaction(const base::Context& context,
                                                     const std::vector<Unit>& units, bool dry_run) {
  KL_TRY(connect(context));
  ExportReport report;
  Work work{context, *connection_, options_.limits};
  KL_TRY(begin(context, units, dry_run));
  for (const Unit& unit : units) KL_TRY(write_unit(work, unit, dry_run, report));
  KL_TRY(context.check());  // the last moment to give up
  KL_TRY(connection_->run(context, "committing to", dry_run ? "ROLLBACK" : "COMMIT"));
  for (const Unit& unit : units) {
    const bool whole = unit.rows && unit.changes == nullptr;
    if (!dry_run && whole) repaired_.insert(rows::id_of(*unit.head));
  }
  return report;
}

/// The pass's time; with a history it is moved behind the last one of this inventory, because a
/// clock that was set back must not give versions that end before they begin.
base::Result<Partition> PostgresSink::partition_of(Work& work, const Unit& unit, const Table& table,
                                                   bool dry_run) {
  Partition out;
  out.table = &table;
  out.cluster = postgres::column_text(unit.head->cluster);
  out.inventory_namespace = postgres::column_text(unit.head->inventory.ns);
  out.inventory_name = postgres::column_text(unit.head->inventory.name);
  out.at = time_text(unit.head->exported_at);
  if (table.history.empty() || dry_run) return out;
  const auto later = [&]() -> base::Result<> {
    KL_ASSIGN(const Answer answer,
              work.connection.query(
                  work.context, "looking at",
                  fmt::format("SELECT pg_catalog.to_char(greatest($4::timestamptz, "
                              "max(e.exported_at) + interval '1 microsecond') AT TIME ZONE 'UTC', "
                              "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM {} e WHERE e.cluster = $1 "
                              "AND e.inventory_namespace = $2 AND e.inventory_name = $3",
                              table.exports),
                  out.key_and_time()));
    out.at = std::string(answer.field(0, 0));
    return {};
  };
  KL_TRY(later());
  const bool whole = unit.rows && unit.changes == nullptr;
  if (whole && !repaired_.contains(rows::id_of(*unit.head))) {
    KL_ASSIGN(const bool amiss, postgres::repair_history(work, out));
    if (amiss) {  // what is written now comes after what was repaired
      KL_ASSIGN(const base::WallTime at, base::parse_rfc3339(out.at));
      out.at = time_text(at + std::chrono::microseconds(1));
    }
  }
  return out;
}

base::Result<PassCounts> PostgresSink::pass_over(Work& work, const Partition& partition,
                                                 const Unit& unit, bool dry_run) {
  const std::string id = rows::id_of(*unit.head);
  const bool twice = duplicates_.contains(id);
  if (unit.changes != nullptr && !(twice && unit.rows)) {
    return postgres::apply_changes(work, partition, *unit.changes);
  }
  const rows::Keep keep(*unit.head);
  auto counts =
      postgres::reconcile(work, partition, *unit.rows, keep,
                          twice ? Reading::kTwice : Reading::kOnce, dry_run, unit.give_way);
  if (twice && counts.has_value() && counts->collapsed == 0) duplicates_.erase(id);
  return counts;
}

base::Result<> PostgresSink::note_export(Work& work, const Partition& partition,
                                         const Unit& unit) const {
  if (partition.table->exports.empty()) return {};
  std::vector<std::string> parameters = partition.key_and_time();
  parameters.push_back(std::to_string(unit.head->generation));
  parameters.push_back(unit.checksum);
  parameters.push_back(std::to_string(unit.row_count));
  KL_TRY(work.connection.query(
      work.context, "noting the export in",
      fmt::format("INSERT INTO {} AS e (cluster, inventory_namespace, inventory_name, exported_at, "
                  "generation, checksum, item_count) VALUES ($1, $2, $3, $4::timestamptz, "
                  "$5::bigint, $6, $7::bigint) ON CONFLICT (cluster, inventory_namespace, "
                  "inventory_name) DO UPDATE SET generation = excluded.generation, "
                  "checksum = excluded.checksum, item_count = excluded.item_count, "
                  "exported_at = excluded.exported_at",
                  partition.table->exports),
      parameters));
  return {};
}

base::Result<> PostgresSink::write_unit(Work& work, const Unit& unit, bool dry_run,
                                        ExportReport& report) {
  KL_ASSIGN(const Table* table, table_for(work.context, *unit.head, dry_run));
  PassCounts counts;
  if (table == nullptr) {  // a dry run before the table is there
    counts.written = unit.row_count;
  } else {
    KL_ASSIGN(const Partition partition, partition_of(work, unit, *table, dry_run));
    KL_ASSIGN(counts, pass_over(work, partition, unit, dry_run));
    if (!dry_run) KL_TRY(note_export(work, partition, unit));
  }
  rows::add_to(report, unit, counts, title_of(table_name(*unit.head)), dry_run);
  report.replaced += counts.replaced;
  if (counts.replaced > 0) {
    report.warnings.push_back(fmt::format(
        "{}/{}: {} rows hold U+0000, which the database cannot; U+FFFD stands in its place (first: "
        "{})",
        unit.head->inventory.ns, unit.head->inventory.name, counts.replaced,
        counts.replaced_first));
  }
  return {};
}

}  // namespace

std::unique_ptr<Sink> make_postgres_sink(PostgresOptions options) {
  return std::make_unique<PostgresSink>(std::move(options));
}

}  // namespace kollect::sinks
