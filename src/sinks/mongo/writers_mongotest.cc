// Several writers, many rows, rows of other programs, cancellation, and a server that dies (spec:
// sinks 12; field-backend-crash-between-two-steps).
#include <thread>

#include "sinks/mongo/mongo_fixture.h"

namespace kollect::sinks::mongo {
namespace {

using kollect::testing::MongoServer;
using ::testing::HasSubstr;

inventory::RowSet many(int generation, int count) {
  std::vector<TestRow> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({fmt::format("row-{:06}", i), fmt::format(R"({{"n":{}}})", generation)});
  }
  return set_of(list);
}

class MongoWriters : public MongoFixture {
 protected:
  using MongoFixture::MongoFixture;
  /// True when every one of `count` rows has attribute n `generation`.
  [[nodiscard]] bool all_are(int generation, std::size_t count) const {
    const std::string wanted = fmt::format(R"("n" : {} }})", generation);
    const Lines documents = stranger().documents();
    return documents.size() == count && std::ranges::all_of(documents, [&](const auto& text) {
             return text.find(wanted) != std::string::npos;
           });
  }
};

TEST_F(MongoWriters, TwoClustersAndTwoWritersEach) {
  options_.limits.operations = 7;
  std::vector<std::string> problems(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto sink = make_mongo_sink(options_);
        for (int round = 1; round <= 4; ++round) {
          const auto report =
              try_write(*sink, many(round, 30), round, "cluster-" + std::to_string(i % 2));
          if (!report.has_value()) problems[i] = report.error().message;
        }
      });
    }
  }
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
  EXPECT_TRUE(all_are(4, 60));
}

TEST_F(MongoWriters, FiftyThousandRows) {
  const auto sink = make_mongo_sink(options_);
  auto report = try_write(*sink, many(1, 50'000));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, 50'000U);
  report = try_write(*sink, many(1, 49'999), 1);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->unchanged, 49'999U);
  EXPECT_EQ(report->written, 0U);
  EXPECT_EQ(report->removed, 1U);
}

TEST_F(MongoWriters, RowsOfOtherProgramsAreNotRewritten) {
  stranger().insert(
      "inventory",
      R"({"inventory_namespace":"harbor","inventory_name":"ledger","target_name":"cranes",)"
      R"("source_uid":"uid-a","cluster":"pier-7","resource_namespace":"quay","payload":{)"
      R"("attributes":{"n":{"$numberDouble":"3.0"}},"group":"apps","kind":"Deployment",)"
      R"("name":"a","namespace":"quay","targetName":"cranes","targetNamespace":"harbor",)"
      R"("uid":"uid-a","version":"v1"},"exported_at":{"$date":"2020-01-01T00:00:00Z"}})");
  const auto report = write(set_of({{"a", R"({"n":3})"}}));
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.written, 0U);
  EXPECT_THAT(stranger().documents().at(0), HasSubstr("2020-01-01"));
}

TEST_F(MongoWriters, OddKeysAndTextsComeBack) {
  const std::string attributes =
      R"({"":1,"$ref":{"a.b":null,"$date":"x"},"nul\u0000key":"nul\u0000text","😀":"größe"})";
  const auto report = write(set_of({{"a", attributes}}));
  EXPECT_EQ(report.written, 1U);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings[0], HasSubstr("1 rows have a key with U+0000"));
  EXPECT_THAT(report.warnings[0], HasSubstr("first: quay/a"));
  EXPECT_EQ(write(set_of({{"a", attributes}})).unchanged, 1U);
}

TEST_F(MongoWriters, ARowAboveTheLimitIsNamed) {
  const auto error =
      must_fail(set_of({{"large", fmt::format(R"({{"t":"{}"}})", std::string(16U << 20U, 'x'))}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("quay/large"));
}

TEST_F(MongoWriters, CollectionsThatRefuseDocuments) {
  stranger().run(R"({"create":"inventory","validator":{"$jsonSchema":{"required":["owner"]}}})");
  const auto error = must_fail(set_of({{"a"}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(error.reason, "rejected");
}

TEST_F(MongoWriters, DeletedWhileNobodyLooked) {
  write(many(1, 20));
  // Another process, that knows nothing of the first one.
  const auto report = write(many(1, 12), 1);
  EXPECT_EQ(report.removed, 8U);
  EXPECT_EQ(report.written, 0U);
  EXPECT_TRUE(all_are(1, 12));
}

class MongoCrash : public MongoWriters {
 protected:
  MongoCrash() : MongoWriters(own()) {}
  static MongoServer& own() {
    static MongoServer server("crash");
    return server;
  }
};

TEST_F(MongoCrash, KilledWhileRowsAreWritten) {
  options_.limits.operations = 50;
  const auto sink = make_mongo_sink(options_);
  base::Result<ExportReport> report = base::terminal("not run");
  {
    std::jthread thread([&] { report = try_write(*sink, many(1, 20'000)); });
    const auto limit = context_.with_timeout(std::chrono::seconds(60));
    while (count() == 0) ASSERT_TRUE(limit.check().has_value());
    server_.kill();
  }
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
  EXPECT_EQ(report.error().reason, "unreachable");
  report = try_write(*sink, many(2, 100));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "unreachable");
  server_.restart();
  // What the broken pass left is put right.
  report = try_write(*sink, many(2, 100));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(all_are(2, 100));
  // A connection that died between two passes is no failure.
  server_.kill();
  server_.restart();
  report = try_write(*sink, many(3, 100));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(all_are(3, 100));
}

TEST_F(MongoCrash, CancellingEndsAPassThatWrites) {
  std::stop_source stop;
  const base::SystemClock clock;
  const auto set = many(1, 20'000);
  auto exp = head(1);
  exp.rows = &set;
  base::Result<ExportReport> report = base::terminal("not run");
  const auto sink = make_mongo_sink(options_);
  {
    std::jthread thread(
        [&] { report = sink->export_all(base::Context(clock, stop.get_token()), {exp}, false); });
    const auto limit = context_.with_timeout(std::chrono::seconds(60));
    while (count() == 0) ASSERT_TRUE(limit.check().has_value());
    stop.request_stop();
  }
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kCancelled);
  EXPECT_LT(count(), 20'000U);
  // The server may still be at work on the batch that nobody waits for: passes end in the right
  // state all the same.
  const auto limit = context_.with_timeout(std::chrono::seconds(60));
  do {
    ASSERT_TRUE(limit.check().has_value());
    ASSERT_TRUE(try_write(*sink, many(1, 5)).has_value());
  } while (!all_are(1, 5));
}

}  // namespace
}  // namespace kollect::sinks::mongo
