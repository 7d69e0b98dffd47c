// The ground for contract_cases.h: one fixture over the sinks that hold one record per row. Only
// for *test.cc files.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "inventory/row_set.h"
#include "inventory/row_store.h"
#include "sinks/sink.h"

namespace kollect::sinks::rows::contract {

using Lines = std::vector<std::string>;

/// A place with a table "inventory", empty at first, and the ways to look into it.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<Sink> make_sink() = 0;
  /// Rows of a query, columns joined by "|"; nulls are empty.
  virtual Lines ask(const std::string& sql) = 0;
  /// Runs a statement of somebody else.
  virtual void run(const std::string& sql) = 0;
  [[nodiscard]] virtual bool history() const = 0;
  /// Whether each export is noted in a table inventory_exports.
  [[nodiscard]] virtual bool notes_exports() const { return true; }
  /// The most bytes that a row may have, 0: none that a test could reach.
  [[nodiscard]] virtual std::size_t row_limit() const { return 0; }
  /// SQL for the attribute `name` of the column payload, as text.
  [[nodiscard]] virtual std::string attribute(const std::string& name) const = 0;
  /// The same for the column `attributes` of the views.
  [[nodiscard]] virtual std::string view_attribute(const std::string& column,
                                                   const std::string& name) const = 0;
  /// SQL for a time column as whole seconds.
  [[nodiscard]] virtual std::string seconds(const std::string& column) const = 0;
  /// A moment as SQL literal, `second` after the tests' start.
  [[nodiscard]] virtual std::string moment(int second) const = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

struct TestRow {
  std::string name;
  std::string attributes = "{}";
  std::string ns = "quay";
  std::string uid = {};  ///< empty: "uid-" and the name
  std::string target = "cranes";
  std::string target_namespace = "harbor";
};

inline inventory::RowView view_of(const TestRow& row, std::string& uid) {
  uid = row.uid.empty() ? "uid-" + row.name : row.uid;
  return {row.target_namespace, row.target, row.ns,        row.name, "apps", "v1",
          "Deployment",         uid,        row.attributes};
}

inline inventory::RowSet set_of(const std::vector<TestRow>& list) {
  inventory::RowSet set;
  for (const TestRow& row : list) {
    std::string uid;
    set.add(view_of(row, uid));
  }
  set.seal();
  return set;
}

constexpr std::int64_t kStart = 1'700'000'000;  ///< second 0 of the tests

class RowSinkContract : public testing::TestWithParam<Backend> {
 protected:
  RowSinkContract()
      : world_(GetParam().make()),
        sink_(world_->make_sink()),
        reader_(store_.subscribe([](const inventory::Owner&) { return true; })) {}

  static Export head(int second, const std::string& cluster = "pier-7") {
    Export out;
    out.inventory = {"harbor", "ledger"};
    out.generation = 3;
    out.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
    out.cluster = cluster;
    return out;
  }

  base::Result<ExportReport> try_write(const inventory::RowSet& set, Export exp,
                                       bool dry_run = false) {
    exp.rows = &set;
    return sink_->export_all(context_, {exp}, dry_run);
  }
  ExportReport write(const inventory::RowSet& set, Export exp, bool dry_run = false) {
    auto report = try_write(set, std::move(exp), dry_run);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }

  static inventory::Owner owner(const TestRow& row) {
    return {inventory::OwnerClass::kTarget, row.target_namespace, row.target};
  }
  void put(const TestRow& row) {
    std::string uid;
    store_.upsert(owner(row), 1, view_of(row, uid));
  }
  void remove(const TestRow& row) {
    std::string uid;
    EXPECT_TRUE(store_.remove(owner(row), view_of(row, uid).uid));
  }

  /// A pass over the store's rows that compares everything.
  base::Result<ExportReport> try_reconcile(int second, std::stop_token give_way = {}) {
    const auto snapshot = reader_->snapshot();
    Pass pass{head(second),    &snapshot,           nullptr,
              snapshot.size(), snapshot.set_hash(), std::move(give_way)};
    auto report = sink_->apply(context_, pass);
    if (report.has_value()) reader_->passed(snapshot.version());
    return report;
  }
  /// A pass with the changes since the last one, and with all rows if wanted.
  base::Result<ExportReport> try_delta(int second, bool with_rows = false) {
    const auto changes = reader_->changes();
    const auto snapshot = reader_->snapshot();
    Pass pass{head(second), with_rows ? &snapshot : nullptr, &changes, reader_->row_count(),
              reader_->set_hash()};
    auto report = sink_->apply(context_, pass);
    if (report.has_value()) reader_->passed(changes.to());
    return report;
  }
  ExportReport must(base::Result<ExportReport> report) {
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }
  ExportReport reconcile(int second) { return must(try_reconcile(second)); }
  ExportReport delta(int second) { return must(try_delta(second)); }

  /// source_uid and attribute n of all rows.
  Lines uids_and_n() {
    return world_->ask("SELECT source_uid, " + world_->attribute("n") +
                       " FROM inventory ORDER BY target_name, source_uid");
  }
  std::string count(const std::string& table) {
    return world_->ask("SELECT count(*) FROM " + table).at(0);
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<Sink> sink_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
  base::Context context_ = base::Context::background();
};

/// Full batches: for backends as they are set up without tests in mind.
class RowBulkContract : public RowSinkContract {};

/// For backends that keep a history.
class RowHistoryContract : public RowSinkContract {};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

}  // namespace kollect::sinks::rows::contract
