// Ground of the tests against a real PostgreSQL. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sinks/postgres/postgres_sink.h"
#include "sinks/rows/contract.h"
#include "support/postgres_server.h"

namespace kollect::sinks::postgres {

using rows::contract::kStart;
using rows::contract::Lines;
using rows::contract::set_of;
using rows::contract::TestRow;

/// A database of its own for every test.
class PostgresFixture : public ::testing::Test {
 protected:
  explicit PostgresFixture(
      kollect::testing::PostgresServer& server = kollect::testing::PostgresServer::shared())
      : server_(server) {
    static int number = 0;
    database_ = "sink-" + std::to_string(number++);
    options_.dsn.dsn = base::Secret(server_.make_database(database_));
    options_.table.table = "inventory";
  }

  static Export head(int second, const std::string& cluster = "pier-7") {
    Export out;
    out.inventory = {"harbor", "ledger"};
    out.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
    out.cluster = cluster;
    return out;
  }
  base::Result<ExportReport> try_write(Sink& sink, const inventory::RowSet& set, int second = 0,
                                       const std::string& cluster = "pier-7") const {
    auto exp = head(second, cluster);
    exp.rows = &set;
    return sink.export_all(context_, {exp}, false);
  }
  base::Result<ExportReport> try_write(const inventory::RowSet& set, int second = 0,
                                       const std::string& cluster = "pier-7") const {
    return try_write(*make_postgres_sink(options_), set, second, cluster);
  }
  ExportReport write(const inventory::RowSet& set, int second = 0,
                     const std::string& cluster = "pier-7") const {
    auto report = try_write(set, second, cluster);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }
  base::Error must_fail(const inventory::RowSet& set) const {
    const auto report = try_write(set);
    EXPECT_FALSE(report.has_value());
    return report.has_value() ? base::Error{} : report.error();
  }
  Lines ask(const std::string& sql) const { return server_.ask(database_, sql); }
  /// Asks until the answer is `wanted`.
  void wait_for(const std::string& sql, const std::string& wanted) const {
    const auto limit = context_.with_timeout(std::chrono::seconds(30));
    while (ask(sql) != Lines{wanted}) ASSERT_TRUE(limit.check().has_value()) << sql;
  }

  kollect::testing::PostgresServer& server_;
  std::string database_;
  PostgresOptions options_;
  base::Context context_ = base::Context::background();
};

inline inventory::RowSet many(int generation, int count) {
  std::vector<TestRow> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({fmt::format("row-{:06}", i),
                    fmt::format(R"({{"n":{},"text":"{}"}})", generation, std::string(100, 'x'))});
  }
  return set_of(list);
}

}  // namespace kollect::sinks::postgres
