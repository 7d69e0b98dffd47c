#include "sinks/sqlite/sqlite_sink.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/rows/unit.h"
#include "sinks/sqlite/database.h"
#include "sinks/sqlite/merge.h"
#include "sinks/sqlite/schema.h"

namespace kollect::sinks {

namespace {

namespace fs = std::filesystem;
using rows::Unit;
using sqlite::Database;
using sqlite::Transaction;

constexpr std::uint64_t kPageBytes = 4096;

void add_to_report(ExportReport& report, const Unit& unit, const sqlite::MergeCounts& counts,
                   const std::string& table, bool dry_run) {
  rows::Counts all;
  all.written = counts.appeared + counts.changed;
  all.unchanged = counts.unchanged;
  all.removed = counts.went;
  all.bytes = counts.bytes;
  all.collapsed = counts.collapsed;
  all.held = counts.unchanged + counts.changed + counts.went;
  rows::add_to(report, unit, all, table, dry_run);
}

/// A dry run over a file that is not there yet.
ExportReport all_new(const std::vector<Unit>& units, const std::string& table) {
  ExportReport report;
  for (const Unit& unit : units) {
    sqlite::MergeCounts counts;
    counts.appeared = unit.row_count;
    add_to_report(report, unit, counts, table, true);
  }
  return report;
}

}  // namespace

struct SqliteSink::Impl {
  Impl(fs::path at, SqliteOptions how) : file(std::move(at)), options(std::move(how)) {}

  fs::path file;
  SqliteOptions options;
  std::optional<Database> database;  // opened by the first export, then kept
  rows::Doubled duplicates;          // inventories in whose sets a key stands twice

  base::Result<> open();
  /// What must be there when nothing may be made. Error: terminal, naming it.
  [[nodiscard]] base::Result<> require_file() const;
  base::Result<> require_tables(Database& in) const;
  base::Result<ExportReport> run(const base::Context& context, const std::vector<Unit>& units,
                                 bool dry_run);
  base::Result<ExportReport> write(const base::Context& context, const std::vector<Unit>& units);
  base::Result<ExportReport> compare(const base::Context& context, const std::vector<Unit>& units);
  base::Result<sqlite::MergeCounts> merge(const base::Context& context, const Unit& unit);
};

base::Result<> SqliteSink::Impl::open() {
  if (database) {
    return {};
  }
  KL_TRY(require_file());
  KL_ASSIGN(Database opened,
            Database::open(file, Database::Mode::kReadWrite, options.busy_timeout));
  // FULL: a commit that was reported is on the disk.
  KL_TRY(opened.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192"));
  if (options.max_bytes > 0) {
    KL_TRY(opened.execute(fmt::format("PRAGMA max_page_count = {}",
                                      std::max<std::uint64_t>(1, options.max_bytes / kPageBytes))));
  }
  database = std::move(opened);
  return {};
}

base::Result<> SqliteSink::Impl::require_file() const {
  std::error_code error;
  if (options.ensure || fs::exists(file, error)) {
    return {};
  }
  return base::terminal(
      fmt::format("sqlite: file {} does not exist and provisioning.mode is existing",
                  file.string()),
      "file-missing");
}

base::Result<> SqliteSink::Impl::require_tables(Database& in) const {
  if (options.ensure) {
    return {};
  }
  for (const char* suffix : {"", "_history", "_exports"}) {
    const std::string name = options.table + suffix;
    KL_ASSIGN(const bool exists, sqlite::has_table(in, name));
    if (!exists) {
      return base::terminal(
          fmt::format("sqlite: table {} does not exist and provisioning.mode is existing", name),
          "table-missing");
    }
  }
  return {};
}

base::Result<sqlite::MergeCounts> SqliteSink::Impl::merge(const base::Context& context,
                                                          const Unit& unit) {
  const std::string id = rows::id_of(*unit.head);
  if (unit.changes != nullptr && !(duplicates.contains(id) && unit.rows)) {
    return sqlite::merge_changes(*database, options.table, context, *unit.head, *unit.changes,
                                 unit.row_count, unit.checksum);
  }
  auto counts = sqlite::merge(*database, options.table, context, *unit.head, *unit.rows,
                              unit.checksum, false, unit.give_way);
  if (counts && counts->collapsed > 0) {
    duplicates.insert(id);
  } else if (counts) {
    duplicates.erase(id);
  }
  return counts;
}

base::Result<ExportReport> SqliteSink::Impl::write(const base::Context& context,
                                                   const std::vector<Unit>& units) {
  KL_TRY(open());
  database->watch(&context);
  ExportReport report;
  KL_ASSIGN(Transaction transaction, Transaction::begin(*database, Transaction::Mode::kWrite));
  KL_TRY(require_tables(*database));
  if (options.ensure) {
    KL_TRY(sqlite::ensure_schema(*database, options.table));
  }
  for (const Unit& unit : units) {
    KL_ASSIGN(const auto counts, merge(context, unit));
    add_to_report(report, unit, counts, options.table, false);
  }
  KL_TRY(context.check());  // the last moment to give up
  KL_TRY(transaction.commit());
  return report;
}

base::Result<ExportReport> SqliteSink::Impl::compare(const base::Context& context,
                                                     const std::vector<Unit>& units) {
  KL_TRY(require_file());
  std::error_code error;
  if (!fs::exists(file, error)) {
    return all_new(units, options.table);
  }
  KL_ASSIGN(Database reading,
            Database::open(file, Database::Mode::kReadOnly, options.busy_timeout));
  KL_TRY(require_tables(reading));
  KL_ASSIGN(const bool exists, sqlite::has_table(reading, options.table));
  if (!exists) {
    return all_new(units, options.table);
  }
  reading.watch(&context);
  ExportReport report;
  KL_ASSIGN(const Transaction transaction, Transaction::begin(reading, Transaction::Mode::kRead));
  for (const Unit& unit : units) {
    KL_ASSIGN(const auto counts, sqlite::merge(reading, options.table, context, *unit.head,
                                               *unit.rows, unit.checksum, true));
    add_to_report(report, unit, counts, options.table, true);
  }
  return report;
}

SqliteSink::SqliteSink(fs::path file, SqliteOptions options)
    : impl_(std::make_unique<Impl>(std::move(file), std::move(options))) {}

SqliteSink::~SqliteSink() = default;

base::Result<ExportReport> SqliteSink::Impl::run(const base::Context& context,
                                                 const std::vector<Unit>& units, bool dry_run) {
  KL_TRY(context.check());
  auto report = dry_run ? compare(context, units) : write(context, units);
  if (database) {
    database->watch(nullptr);
  }
  if (!report) {
    // After a failure the next export starts with a fresh handle: the file may have been replaced.
    database.reset();
    KL_TRY(context.check());
  }
  return report;
}

base::Result<ExportReport> SqliteSink::export_all(const base::Context& context,
                                                  const std::vector<Export>& exports,
                                                  bool dry_run) {
  return impl_->run(context, rows::units_of(exports, !dry_run), dry_run);
}

base::Result<ExportReport> SqliteSink::apply(const base::Context& context, const Pass& pass) {
  const Unit unit = rows::unit_of(pass);
  auto report = impl_->run(context, {unit}, false);
  if (report || report.error().kind != base::ErrorKind::kConflict) {
    return report;
  }
  // From now on changes alone are not asked for.
  impl_->duplicates.insert(rows::id_of(pass.head));
  if (unit.rows) {
    return impl_->run(context, {unit}, false);
  }
  return base::retryable(report.error().message + "; the next pass compares it",
                         report.error().reason);
}

bool SqliteSink::takes_changes() const {
  return !impl_->duplicates.any();
}

base::Result<> SqliteSink::probe(const base::Context& context) {
  KL_TRY(context.check());
  KL_TRY(impl_->require_file());
  std::error_code error;
  if (!fs::exists(impl_->file, error)) {
    // Nothing is created by a probe: the nearest folder that exists has to be one.
    fs::path folder = fs::absolute(impl_->file, error).parent_path();
    while (!folder.empty() && !fs::exists(folder, error) && folder != folder.root_path()) {
      folder = folder.parent_path();
    }
    if (!fs::is_directory(folder, error)) {
      return base::configuration(fmt::format("{} is no folder", folder.string()));
    }
    return {};
  }
  KL_ASSIGN(Database reading,
            Database::open(impl_->file, Database::Mode::kReadOnly, impl_->options.busy_timeout));
  return impl_->require_tables(reading);
}

std::string sqlite_time(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micro);
}

}  // namespace kollect::sinks
