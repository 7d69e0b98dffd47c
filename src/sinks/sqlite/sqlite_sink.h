// Current rows and their history in a SQLite file (spec: sinks 15).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sinks/sink.h"

namespace kollect::sinks {

struct SqliteOptions {
  std::string table = "inventory";
  /// The file is not allowed to grow past this; 0: no limit.
  std::uint64_t max_bytes = 0;
  /// File and tables are made when they are missing; else that is an error (K-13).
  bool ensure = true;
  /// How long to wait for another process that holds the file.
  base::Duration busy_timeout = std::chrono::seconds(10);
};

/// Tables and views, `inventory` standing for the table's name:
///
///   inventory           current rows: the eight columns of spec sinks 11.2, key (cluster,
///   inventory_namespace,
///                       inventory_name, target_name, source_uid), payload JSON text. Unchanged
///                       rows are not rewritten (K-45): exported_at tells when a row last changed.
///   inventory_history   every version of every row: valid_from, valid_to (null: current), began
///   ('appeared',
///                       'changed'), ended ('changed', 'went', null).
///   inventory_exports   per cluster and inventory: generation, checksum, item_count, exported_at.
///   inventory_rows      view: current rows with target_namespace, api_group, version, kind,
///   namespace, name, uid and
///                       attributes as columns of their own.
///   inventory_versions  view: the same of the history.
///   inventory_changes   view: at, change ('appeared', 'changed', 'went'), the row's identity,
///   before, after.
///   rows, history       views: short names of inventory_rows and inventory_changes, for a table of
///   the default name.
///
/// Times are UTC text of fixed width (2024-05-06T07:08:09.000000Z), so that they compare as text.
/// One transaction per export_all in WAL mode: whoever reads sees the old or the new state; a crash
/// or a full disk leaves the old one.
class SqliteSink final : public Sink {
 public:
  explicit SqliteSink(std::filesystem::path file, SqliteOptions options = {});
  ~SqliteSink() override;

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override;
  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override;
  [[nodiscard]] bool takes_changes() const override;
  /// Opens an existing file for reading; a file that is not there yet is fine when its folder is or
  /// can be made.
  base::Result<> probe(const base::Context& context) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Time as it stands in the tables.
std::string sqlite_time(base::WallTime time);

}  // namespace kollect::sinks
