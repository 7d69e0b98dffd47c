// Ground of the tests of one row sink on a real server, beside the contract. Only for *test.cc
// files.
#pragma once

#include <memory>
#include <string>

#include "sinks/rows/contract.h"

namespace kollect::sinks::rows::contract {

/// Writes sets of the inventory harbor/ledger, each with a sink of its own unless one is given.
class RowSinkFixture : public ::testing::Test {
 protected:
  [[nodiscard]] virtual std::unique_ptr<Sink> new_sink() const = 0;

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
    return try_write(*new_sink(), set, second, cluster);
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

  base::Context context_ = base::Context::background();
};

}  // namespace kollect::sinks::rows::contract
