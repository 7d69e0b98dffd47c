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
#include "sinks/rows/fixture.h"
#include "support/postgres_server.h"

namespace kollect::sinks::postgres {

using rows::contract::kStart;
using rows::contract::Lines;
using rows::contract::set_of;
using rows::contract::TestRow;

/// A database of its own for every test.
class PostgresFixture : public rows::contract::RowSinkFixture {
 protected:
  explicit PostgresFixture(
      kollect::testing::PostgresServer& server = kollect::testing::PostgresServer::shared())
      : server_(server) {
    static int number = 0;
    database_ = "sink-" + std::to_string(number++);
    options_.dsn.dsn = base::Secret(server_.make_database(database_));
    options_.table.table = "inventory";
  }

  [[nodiscard]] std::unique_ptr<Sink> new_sink() const override {
    return make_postgres_sink(options_);
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
