#include "sinks/sqlite/sqlite_sink.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/sqlite/database.h"
#include "sinks/sqlite/merge.h"
#include "sinks/sqlite/schema.h"

namespace kollect::sinks {

namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Transaction;

constexpr std::uint64_t kPageBytes = 4096;

void add_to_report(ExportReport& report, const Export& exp, const sqlite::MergeCounts& counts,
                   const std::string& table, bool dry_run) {
  report.written += counts.appeared + counts.changed;
  report.unchanged += counts.unchanged;
  report.removed += counts.went;
  report.bytes += counts.bytes;
  if (counts.collapsed > 0) {
    report.warnings.push_back(
        fmt::format("{}/{}: {} rows of targets of one name share an object with another target; "
                    "the last one is kept",
                    exp.inventory.ns, exp.inventory.name, counts.collapsed));
  }
  if (dry_run) {
    using What = ExportReport::Change::What;
    const bool changes = counts.appeared + counts.changed + counts.went > 0;
    const bool creates = counts.unchanged + counts.changed + counts.went == 0;
    report.changes.push_back({!changes  ? What::kUnchanged
                              : creates ? What::kCreate
                                        : What::kUpdate,
                              fmt::format("{} {}/{}", table, exp.inventory.ns, exp.inventory.name),
                              exp.rows->size(), counts.bytes});
  }
}

/// A dry run over a file that is not there yet.
ExportReport all_new(const std::vector<Export>& exports, const std::string& table) {
  ExportReport report;
  for (const Export& exp : exports) {
    sqlite::MergeCounts counts;
    counts.appeared = exp.rows->size();
    add_to_report(report, exp, counts, table, true);
  }
  return report;
}

}  // namespace

struct SqliteSink::Impl {
  fs::path file;
  SqliteOptions options;
  std::optional<Database> database;  // opened by the first export, then kept

  base::Result<> open();
  base::Result<ExportReport> write(const base::Context& context,
                                   const std::vector<Export>& exports);
  base::Result<ExportReport> compare(const base::Context& context,
                                     const std::vector<Export>& exports);
};

base::Result<> SqliteSink::Impl::open() {
  if (database) {
    return {};
  }
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

base::Result<ExportReport> SqliteSink::Impl::write(const base::Context& context,
                                                   const std::vector<Export>& exports) {
  KL_TRY(open());
  database->watch(&context);
  ExportReport report;
  KL_ASSIGN(Transaction transaction, Transaction::begin(*database, Transaction::Mode::kWrite));
  KL_TRY(sqlite::ensure_schema(*database, options.table));
  for (const Export& exp : exports) {
    KL_ASSIGN(const auto counts, sqlite::merge(*database, options.table, context, exp, false));
    add_to_report(report, exp, counts, options.table, false);
  }
  KL_TRY(transaction.commit());
  return report;
}

base::Result<ExportReport> SqliteSink::Impl::compare(const base::Context& context,
                                                     const std::vector<Export>& exports) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    return all_new(exports, options.table);
  }
  KL_ASSIGN(Database reading,
            Database::open(file, Database::Mode::kReadOnly, options.busy_timeout));
  KL_ASSIGN(const bool exists, sqlite::has_table(reading, options.table));
  if (!exists) {
    return all_new(exports, options.table);
  }
  reading.watch(&context);
  ExportReport report;
  KL_ASSIGN(const Transaction transaction, Transaction::begin(reading, Transaction::Mode::kRead));
  for (const Export& exp : exports) {
    KL_ASSIGN(const auto counts, sqlite::merge(reading, options.table, context, exp, true));
    add_to_report(report, exp, counts, options.table, true);
  }
  return report;
}

SqliteSink::SqliteSink(fs::path file, SqliteOptions options)
    : impl_(std::make_unique<Impl>(Impl{std::move(file), std::move(options), std::nullopt})) {}

SqliteSink::~SqliteSink() = default;

base::Result<ExportReport> SqliteSink::export_all(const base::Context& context,
                                                  const std::vector<Export>& exports,
                                                  bool dry_run) {
  KL_TRY(context.check());
  auto report = dry_run ? impl_->compare(context, exports) : impl_->write(context, exports);
  if (impl_->database) {
    impl_->database->watch(nullptr);
  }
  if (!report) {
    // After a failure the next export starts with a fresh handle: the file may have been replaced.
    impl_->database.reset();
    KL_TRY(context.check());
  }
  return report;
}

base::Result<> SqliteSink::probe(const base::Context& context) {
  KL_TRY(context.check());
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
  KL_ASSIGN(const Database reading,
            Database::open(impl_->file, Database::Mode::kReadOnly, impl_->options.busy_timeout));
  return {};
}

std::string sqlite_time(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micro);
}

}  // namespace kollect::sinks
