// The contract of row sinks against a real PostgreSQL.
#include <gtest/gtest.h>

#include "sinks/postgres/postgres_sink.h"
#include "sinks/rows/contract.h"
#include "support/postgres_server.h"

namespace kollect::sinks::rows::contract {
namespace {

using kollect::testing::PostgresServer;

class PostgresWorld final : public World {
 public:
  PostgresWorld(bool history, postgres::BatchLimits limits) : history_(history), limits_(limits) {
    static int number = 0;
    database_ = "contract-" + std::to_string(number++);
    dsn_ = server_.make_database(database_);
  }

  std::unique_ptr<Sink> make_sink() override {
    PostgresOptions options;
    options.dsn.dsn = base::Secret(dsn_);
    options.table.table = "inventory";
    options.table.history = history_;
    options.limits = limits_;
    return make_postgres_sink(std::move(options));
  }
  Lines ask(const std::string& sql) override { return server_.ask(database_, sql); }
  void run(const std::string& sql) override { server_.ask(database_, sql); }
  [[nodiscard]] bool history() const override { return history_; }
  [[nodiscard]] std::string attribute(const std::string& name) const override {
    return "payload #>> '{attributes," + name + "}'";
  }
  [[nodiscard]] std::string view_attribute(const std::string& column,
                                           const std::string& name) const override {
    return column + " ->> '" + name + "'";
  }
  [[nodiscard]] std::string seconds(const std::string& column) const override {
    return "extract(epoch FROM " + column + ")::bigint";
  }
  [[nodiscard]] std::string moment(int second) const override {
    return "to_timestamp(" + std::to_string(kStart + second) + ")";
  }

 private:
  PostgresServer& server_ = PostgresServer::shared();
  bool history_;
  postgres::BatchLimits limits_;
  std::string database_;
  std::string dsn_;
};

Backend backend(const std::string& name, bool history, std::size_t batch_rows) {
  return {name, [history, batch_rows] {
            return std::make_unique<PostgresWorld>(
                history, postgres::BatchLimits{batch_rows, std::size_t{32} << 20U});
          }};
}

// Batches of three rows: everything that goes on between two batches is met by small sets.
INSTANTIATE_TEST_SUITE_P(Postgres, RowSinkContract,
                         ::testing::Values(backend("postgres", false, 50'000),
                                           backend("history", true, 50'000),
                                           backend("small_batches", true, 3)),
                         backend_name);

INSTANTIATE_TEST_SUITE_P(Postgres, RowBulkContract,
                         ::testing::Values(backend("postgres", false, 50'000),
                                           backend("history", true, 50'000)),
                         backend_name);

INSTANTIATE_TEST_SUITE_P(Postgres, RowHistoryContract,
                         ::testing::Values(backend("history", true, 50'000),
                                           backend("small_batches", true, 3)),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::rows::contract
