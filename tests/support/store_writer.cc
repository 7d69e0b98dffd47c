#include "support/store_writer.h"

#include <gtest/gtest.h>

#include "inventory/row_set.h"
#include "sinks/postgres/postgres_sink.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::testing {

namespace {

constexpr std::int64_t kStart = 1'700'000'000;

class SinkWriter final : public StoreWriter {
 public:
  explicit SinkWriter(std::unique_ptr<sinks::Sink> sink) : sink_(std::move(sink)) {}
  void write(const std::string& cluster, const std::string& inventory_namespace,
             const std::string& inventory, int second, const std::vector<StoreRow>& rows) override {
    inventory::RowSet set;
    for (const StoreRow& row : rows) set.add(row.view());
    set.seal();
    sinks::Export exp;
    exp.inventory = {inventory_namespace, inventory};
    exp.generation = 3;
    exp.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
    exp.cluster = cluster;
    exp.rows = &set;
    const auto report = sink_->export_all(base::Context::background(), {exp}, false);
    EXPECT_TRUE(report.has_value()) << report.error().message;
  }

 private:
  std::unique_ptr<sinks::Sink> sink_;
};

}  // namespace

std::unique_ptr<StoreWriter> StoreWriter::sqlite(const std::filesystem::path& file) {
  return std::make_unique<SinkWriter>(std::make_unique<sinks::SqliteSink>(file));
}

std::unique_ptr<StoreWriter> StoreWriter::postgres(const std::string& url, bool history,
                                                   const std::string& schema,
                                                   const std::string& table) {
  sinks::PostgresOptions options;
  options.dsn.dsn = base::Secret(url);
  options.table.schema = schema;
  options.table.table = table;
  options.table.create_schema = true;
  options.table.history = history;
  return std::make_unique<SinkWriter>(sinks::make_postgres_sink(std::move(options)));
}

}  // namespace kollect::testing
