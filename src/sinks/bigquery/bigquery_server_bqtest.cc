// What the contract does not show: many rows at once, a service that dies, tables of others.
#include <gmock/gmock.h>

#include <thread>

#include "sinks/bigquery/bq_fixture.h"

namespace kollect::sinks::bigquery {
namespace {

using rows::contract::kStart;
using rows::contract::Lines;
using rows::contract::set_of;
using rows::contract::TestRow;
using ::testing::HasSubstr;

inventory::RowSet many(int generation, int count) {
  std::vector<TestRow> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({fmt::format("row-{:06}", i),
                    fmt::format(R"({{"n":{},"text":"{}"}})", generation, std::string(100, 'x'))});
  }
  return set_of(list);
}

base::Result<ExportReport> try_write(Sink& sink, const inventory::RowSet& set, int second) {
  Export exp;
  exp.inventory = {"harbor", "ledger"};
  exp.cluster = "pier-7";
  exp.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
  exp.rows = &set;
  // Pauses between attempts do not take time.
  const base::ManualClock clock;
  return sink.export_all(base::Context(clock, {}), {exp}, false);
}

ExportReport write(Sink& sink, const inventory::RowSet& set, int second) {
  auto report = try_write(sink, set, second);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report.value_or(ExportReport{});
}

TEST(BigqueryServerTest, FiftyThousandRowsGoByALoad) {
  auto& server = BigqueryServer::shared();
  const auto dataset = server.make_dataset();
  auto options = server.options(dataset);
  options.jobs.upload_chunk = std::size_t{4} << 20U;  // several chunks
  const auto sink = make_bigquery_sink(options);
  const auto set = many(1, 50'000);
  EXPECT_EQ(write(*sink, set, 0).written, 50'000U);
  EXPECT_EQ(server.ask(dataset, "SELECT COUNT(*), COUNT(DISTINCT source_uid) FROM inventory"),
            Lines{"50000|50000"});
  // Nothing is sent again, and nothing but the table is left.
  const auto again = write(*make_bigquery_sink(options), set, 1);
  EXPECT_EQ(again.unchanged, 50'000U);
  EXPECT_EQ(again.written + again.removed + again.bytes, 0U);
  EXPECT_EQ(server.tables(dataset), Lines{"inventory"});
  EXPECT_EQ(write(*sink, set_of({}), 2).removed, 50'000U);
}

// field-rows-in-the-streaming-buffer: state, idempotent
TEST(BigqueryServerTest, ExportsFollowEachOtherAtOnce) {
  auto& server = BigqueryServer::shared();
  const auto dataset = server.make_dataset();
  const auto sink = make_bigquery_sink(server.options(dataset));
  write(*sink, set_of({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}, {"c", R"({"n":1})"}}), 0);
  const auto second = set_of({{"a", R"({"n":2})"}, {"b", R"({"n":1})"}, {"d", R"({"n":1})"}});
  write(*sink, second, 1);
  const Lines wanted{"uid-a|2", "uid-b|1", "uid-d|1"};
  const char* sql =
      "SELECT source_uid, JSON_VALUE(payload, '$.attributes.n') FROM inventory ORDER BY 1";
  EXPECT_EQ(server.ask(dataset, sql), wanted);
  const auto repeated = write(*make_bigquery_sink(server.options(dataset)), second, 2);
  EXPECT_EQ(repeated.written + repeated.removed, 0U);
  EXPECT_EQ(server.ask(dataset, sql), wanted);
}

TEST(BigqueryServerTest, AKeyThatStandsTwiceIsPutRight) {  // the table enforces none
  auto& server = BigqueryServer::shared();
  const auto dataset = server.make_dataset();
  const auto sink = make_bigquery_sink(server.options(dataset));
  const auto set = set_of({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}});
  write(*sink, set, 0);
  server.ask(dataset, "INSERT INTO inventory SELECT * FROM inventory WHERE source_uid = 'uid-a'");
  EXPECT_EQ(write(*sink, set, 1).written, 1U);
  EXPECT_EQ(server.ask(dataset, "SELECT source_uid FROM inventory ORDER BY 1"),
            (Lines{"uid-a", "uid-b"}));
}

TEST(BigqueryServerTest, ATableOfAnotherShapeIsRefused) {
  auto& server = BigqueryServer::shared();
  const auto dataset = server.make_dataset();
  server.ask(dataset, "CREATE TABLE `test." + dataset + ".inventory` (cluster STRING)");
  const auto sink = make_bigquery_sink(server.options(dataset));
  const auto report = try_write(*sink, set_of({{"a"}}), 0);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "table-shape");
  EXPECT_THAT(report.error().message, HasSubstr("payload JSON"));
}

TEST(BigqueryServerTest, ATableThatWentIsMadeAnew) {
  auto& server = BigqueryServer::shared();
  const auto dataset = server.make_dataset();
  const auto sink = make_bigquery_sink(server.options(dataset));
  write(*sink, set_of({{"a"}}), 0);
  server.ask(dataset, "DROP TABLE `test." + dataset + ".inventory`");
  EXPECT_EQ(write(*sink, set_of({{"a"}, {"b"}}), 1).written, 2U);
  EXPECT_EQ(server.ask(dataset, "SELECT COUNT(*) FROM inventory"), Lines{"2"});
}

TEST(BigqueryServerTest, AnotherDatasetIsMissing) {
  auto& server = BigqueryServer::shared();
  const auto sink = make_bigquery_sink(server.options("nowhere"));
  const auto report = try_write(*sink, set_of({{"a"}}), 0);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "dataset-missing");
  EXPECT_EQ(sink->probe(base::Context::background()).error().reason, "dataset-missing");
}

// field-backend-crash-between-two-steps: repairs, no-human
TEST(BigqueryServerTest, AServiceThatIsKilledHoldsTheRightRowsAfterwards) {
  BigqueryServer server("killed");
  const auto dataset = server.make_dataset();
  auto options = server.options(dataset);
  options.parameter_bytes = 100'000;  // by way of a loaded table
  const auto sink = make_bigquery_sink(options);
  write(*sink, many(1, 2000), 0);
  const auto first = many(1, 2000);
  const auto changed = many(2, 2000);
  auto report = base::Result<ExportReport>(ExportReport{});
  std::thread writer([&] {
    for (int second = 1; report.has_value() && second < 1000; ++second) {
      report = try_write(*sink, second % 2 == 1 ? changed : first, second);
    }
  });
  server.kill();
  writer.join();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
  server.restart();
  write(*sink, changed, 2000);
  EXPECT_EQ(server.ask(dataset,
                       "SELECT COUNT(*), COUNT(DISTINCT source_uid), "
                       "MIN(JSON_VALUE(payload, '$.attributes.n')) FROM inventory"),
            Lines{"2000|2000|2"});
}

}  // namespace
}  // namespace kollect::sinks::bigquery
