// What is sent to BigQuery, and what is made of its errors: against a stand-in that checks tokens
// and fails on demand (the emulator does neither).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>

#include "base/strings.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/rows/contract.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::bigquery {
namespace {

using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using rows::contract::set_of;
using rows::contract::TestRow;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kProject = "/bigquery/v2/projects/pier-project";

class TestCredentials final : public google::Credentials {
 public:
  [[nodiscard]] std::string mask(std::string text) const override {
    return base::replace_all(std::move(text), "writer@pier", "***");
  }

 private:
  base::Result<google::Granted> ask(const base::Context& /*context*/,
                                    const std::string& /*scope*/) override {
    return google::Granted{base::Secret(fmt::format("token-{}", ++given_)), std::chrono::hours(1)};
  }
  int given_ = 0;
};

Reply fault(int status, const std::string& reason, const std::string& message = "no") {
  return Reply::json(fmt::format(R"({{"error":{{"code":{},"message":"{}","errors":)"
                                 R"([{{"reason":"{}","message":"{}"}}]}}}})",
                                 status, message, reason, message),
                     status);
}

/// The service as far as a sink meets it. Jobs are done at once unless told otherwise.
class StandIn {
 public:
  StandIn() : server_([this](const Received& request) { return answer(request); }) {}

  /// What the next requests of a kind ("POST jobs", "GET jobs/", …) are answered instead.
  void script(const std::string& kind, std::deque<std::function<Reply()>> replies) {
    const std::scoped_lock lock(mutex_);
    scripted_[kind] = std::move(replies);
  }
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::vector<Received> of(const std::string& method, const std::string& end) const {
    std::vector<Received> out;
    for (auto& request : server_.received()) {
      if (request.method == method && request.path().ends_with(end)) out.push_back(request);
    }
    return out;
  }
  [[nodiscard]] std::vector<Received> all() const { return server_.received(); }
  /// Jobs whose statement begins so.
  [[nodiscard]] std::vector<base::json::Value> jobs(const std::string& word) const {
    std::vector<base::json::Value> out;
    for (const auto& request : of("POST", "/jobs")) {
      auto job = testing::parse_json(request.body);
      if (job.at_path({"configuration", "query"})->text("query").starts_with(word)) {
        out.push_back(std::move(job));
      }
    }
    return out;
  }
  bool table_there = false;
  std::string token = "token-1";  ///< the one that is taken

 private:
  static std::string kind_of(const Received& request) {
    const std::string path = request.path();
    const auto at = path.find("/projects/pier-project/");
    std::string rest = at == std::string::npos ? path : path.substr(at + 23);
    if (rest.starts_with("jobs/")) rest = rest.ends_with("/cancel") ? "cancel" : "jobs/";
    if (rest.starts_with("queries/")) rest = "queries/";
    return request.method + " " + rest;
  }
  Reply answer(const Received& request) {
    const std::scoped_lock lock(mutex_);
    if (request.header("authorization") != "Bearer " + token) return fault(401, "authError");
    const std::string kind = kind_of(request);
    auto& scripted = scripted_[kind];
    if (!scripted.empty()) {
      const auto next = scripted.front();
      scripted.pop_front();
      return next();
    }
    if (kind == "GET datasets/harbor") return Reply::json(R"({"location":"EU"})");
    if (kind == "GET datasets/harbor/tables/inventory") {
      if (!table_there) return fault(404, "notFound");
      return Reply::json(base::json::compact(
          base::json::Value(base::json::Object{table_resource({}, 0).as_object()})));
    }
    if (kind == "POST datasets/harbor/tables") {
      table_there = true;
      return Reply::json("{}");
    }
    if (kind == "GET queries/") return Reply::json(R"({"jobComplete":true,"totalRows":"0"})");
    if (kind == "POST jobs" || kind == "GET jobs/") return Reply::json(done(request));
    return fault(404, "notFound");
  }
  static std::string done(const Received& request) {
    const auto count = [&](std::string_view word) {
      std::size_t n = 0;
      for (auto at = request.body.find(word); at != std::string::npos;
           at = request.body.find(word, at + 1)) {
        ++n;
      }
      return n;
    };
    return fmt::format(R"({{"jobReference":{{"jobId":"x","location":"EU"}},"status":)"
                       R"({{"state":"DONE"}},"statistics":{{"query":{{"dmlStats":)"
                       R"({{"insertedRowCount":"{}"}}}}}}}})",
                       count("\"structValues\""));
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::deque<std::function<Reply()>>> scripted_;
  HttpServer server_;
};

class BigqueryProtocol : public ::testing::Test {
 protected:
  BigqueryProtocol() {
    options_.api.name = "bigquery";
    options_.api.base_url = service_.url();
    options_.api.credentials = std::make_shared<TestCredentials>();
    options_.api.unknown_is_terminal = false;
    options_.table = {"pier-project", "harbor", "inventory"};
  }
  static Export head() {
    Export out;
    out.inventory = {"harbor-ops", "dock-ledger"};
    out.cluster = "pier-7";
    out.exported_at = base::WallTime(std::chrono::milliseconds(1'700'000'000'250));
    return out;
  }
  Sink& sink() {
    if (!sink_) sink_ = make_bigquery_sink(options_);
    return *sink_;
  }
  base::Result<ExportReport> write(const inventory::RowSet& set) {
    auto exp = head();
    exp.rows = &set;
    return sink().export_all(context_, {exp}, false);
  }
  base::Error must_fail(const inventory::RowSet& set) {
    const auto report = write(set);
    EXPECT_FALSE(report.has_value());
    return report.has_value() ? base::Error{} : report.error();
  }
  static const base::json::Value& parameter(const base::json::Value& job, std::string_view name) {
    for (const auto& found :
         job.at_path({"configuration", "query", "queryParameters"})->as_array()) {
      if (found.text("name") == name) return *found.find("parameterValue");
    }
    ADD_FAILURE() << name;
    static const base::json::Value none;
    return none;
  }

  StandIn service_;
  BigqueryOptions options_;
  std::unique_ptr<Sink> sink_;
  base::ManualClock clock_;
  std::stop_source stop_;
  base::Context context_{clock_, stop_.get_token()};
  const inventory::RowSet rows_ = set_of({{"a"}, {"b"}});
};

TEST_F(BigqueryProtocol, TheExample) {
  const auto wanted = testing::read_case("database/bigquery.json");
  const auto set = testing::named_rows("rows");
  const auto report = write(set);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, set.size());
  const auto created = service_.of("POST", "/tables");
  ASSERT_THAT(created, SizeIs(1));
  const auto table = testing::parse_json(created[0].body);
  EXPECT_EQ(*table.at_path({"schema", "fields"}), *wanted.find("columns"));
  EXPECT_EQ(*table.at_path({"clustering", "fields"}), *wanted.find("clustering"));
  EXPECT_EQ(*table.find("timePartitioning"), *wanted.find("timePartitioning"));
  const auto merges = service_.jobs("MERGE ");
  ASSERT_THAT(merges, SizeIs(1));
  EXPECT_EQ(parameter(merges[0], "exported_at").text("value"), "2023-11-14T22:13:20.250000Z");
  std::map<std::string, base::json::Value> sent;
  for (const auto& row : parameter(merges[0], "rows").find("arrayValues")->as_array()) {
    const auto* cells = row.find("structValues");
    sent[std::string(cells->find("target_name")->text("value")) + "/" +
         std::string(cells->find("source_uid")->text("value"))] = *cells;
  }
  for (const auto& row : wanted.find("rows")->as_array()) {
    const auto& cells =
        sent[std::string(row.text("target_name")) + "/" + std::string(row.text("source_uid"))];
    ASSERT_TRUE(cells.is_object()) << row.text("source_uid");
    EXPECT_EQ(cells.find("resource_namespace")->text("value"), row.text("resource_namespace"));
    EXPECT_EQ(testing::parse_json(std::string(cells.find("payload")->text("value"))),
              testing::parse_json(std::string(row.text("payload_json"))));
    for (const char* name : {"cluster", "inventory_namespace", "inventory_name"}) {
      EXPECT_EQ(parameter(merges[0], name).text("value"), row.text(name));
    }
  }
}

TEST_F(BigqueryProtocol, JobsAreWhatTheReferenceWants) {
  options_.jobs.maximum_bytes_billed = 1'000'000;
  ASSERT_TRUE(write(set_of({{"a", "{}", "quay", "o'b\"rien \\ `"}})).has_value());
  for (const auto& request : service_.all()) {
    EXPECT_EQ(request.header("authorization"), "Bearer token-1");
    EXPECT_THAT(request.path(), Not(HasSubstr("insertAll")));
  }
  const auto merges = service_.jobs("MERGE `pier-project.harbor.inventory`");
  ASSERT_THAT(merges, SizeIs(1));
  const auto& job = merges[0];
  EXPECT_EQ(job.find("jobReference")->text("projectId"), "pier-project");
  EXPECT_EQ(job.find("jobReference")->text("location"), "EU");  // the dataset's
  EXPECT_FALSE(job.find("jobReference")->text("jobId").empty());
  const auto* query = job.at_path({"configuration", "query"});
  EXPECT_FALSE(query->find("useLegacySql")->as_bool());
  EXPECT_EQ(query->text("parameterMode"), "NAMED");
  EXPECT_EQ(query->text("maximumBytesBilled"), "1000000");
  EXPECT_THAT(std::string(query->text("query")), Not(HasSubstr("rien")));  // K-47
}

// field-rows-in-the-streaming-buffer: quota
TEST_F(BigqueryProtocol, TheNumberOfJobsDoesNotDependOnTheNumberOfRows) {
  service_.table_there = true;
  ASSERT_TRUE(write(rows_).has_value());
  const auto few = service_.of("POST", "/jobs").size();
  std::vector<TestRow> list;
  for (int i = 0; i < 3000; ++i) list.push_back({fmt::format("row-{}", i)});
  ASSERT_TRUE(write(set_of(list)).has_value());
  EXPECT_EQ(service_.of("POST", "/jobs").size(), 2 * few);
}

TEST_F(BigqueryProtocol, ATableThatWasJustMadeIsNotRead) {
  ASSERT_TRUE(write(rows_).has_value());
  EXPECT_THAT(service_.jobs("SELECT "), SizeIs(0));
  EXPECT_THAT(service_.jobs("MERGE "), SizeIs(1));
  ASSERT_TRUE(write(rows_).has_value());
  EXPECT_THAT(service_.jobs("SELECT "), SizeIs(1));
}

TEST_F(BigqueryProtocol, ATableThatSomebodyElseMadeIsRead) {
  service_.script("POST datasets/harbor/tables", {[] { return fault(409, "duplicate"); }});
  ASSERT_TRUE(write(rows_).has_value());
  EXPECT_THAT(service_.jobs("SELECT "), SizeIs(1));
}

TEST_F(BigqueryProtocol, AnEmptySetIsOneDelete) {
  ASSERT_TRUE(write(set_of({})).has_value());
  EXPECT_THAT(service_.of("POST", "/jobs"), SizeIs(1));
  EXPECT_THAT(service_.jobs("DELETE FROM `pier-project.harbor.inventory`"), SizeIs(1));
}

TEST_F(BigqueryProtocol, QuotaErrorsPassAlsoAs403) {  // K-48
  for (const char* reason : {"rateLimitExceeded", "quotaExceeded"}) {
    const auto limited = [reason] { return fault(403, reason); };
    service_.script("POST jobs", {limited, limited});
    EXPECT_TRUE(write(rows_).has_value()) << reason;
    service_.script("POST jobs", {limited, limited, limited});
    const auto error = must_fail(rows_);
    EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
    EXPECT_EQ(error.reason, "rate-limit");
  }
}

TEST_F(BigqueryProtocol, ErrorsAreSortedByStatusAndReason) {
  struct Case {
    int status;
    const char* reason;
    base::ErrorKind kind;
  };
  const Case cases[] = {{400, "invalid", base::ErrorKind::kTerminal},
                        {400, "invalidQuery", base::ErrorKind::kTerminal},
                        {403, "accessDenied", base::ErrorKind::kDenied},
                        {429, "whatever", base::ErrorKind::kRetryable},
                        {500, "internalError", base::ErrorKind::kRetryable},
                        {503, "backendError", base::ErrorKind::kRetryable},
                        {412, "unheardOf", base::ErrorKind::kRetryable}};
  for (const auto& [status, reason, kind] : cases) {
    const auto failing = [status = status, reason = reason] {
      return fault(status, reason, "writer@pier lacks bigquery.jobs.create");
    };
    sink_.reset();
    service_.script("GET datasets/harbor/tables/inventory", {failing, failing, failing});
    service_.table_there = true;
    const auto error = must_fail(rows_);
    EXPECT_EQ(error.kind, kind) << reason << ": " << error.message;
    EXPECT_THAT(error.message, Not(HasSubstr("writer@pier")));
  }
}

TEST_F(BigqueryProtocol, ALostAnswerRunsNothingTwice) {
  service_.table_there = true;
  ASSERT_TRUE(write(rows_).has_value());
  const auto lost = [] {
    Reply reply;
    reply.close_early = true;
    reply.body = "{";
    return reply;
  };
  service_.script("POST jobs", {lost, [] { return fault(409, "duplicate", "Already Exists"); }});
  const auto before = service_.of("POST", "/jobs").size();
  ASSERT_TRUE(write(rows_).has_value());
  const auto sent = service_.of("POST", "/jobs");
  const auto id = [&](std::size_t i) {
    return std::string(testing::parse_json(sent[i].body).find("jobReference")->text("jobId"));
  };
  EXPECT_EQ(id(before), id(before + 1));
  EXPECT_NE(id(before), id(before + 2));  // the next statement
  EXPECT_THAT(service_.jobs("MERGE "), SizeIs(2));
}

TEST_F(BigqueryProtocol, AJobThatFailedInPassingIsRunAnewWithAnotherNumber) {
  service_.table_there = true;
  ASSERT_TRUE(write(rows_).has_value());
  const auto broken = [] {
    return Reply::json(R"({"jobReference":{"jobId":"x"},"status":{"state":"DONE","errorResult":)"
                       R"({"reason":"backendError","message":"try again"}}})");
  };
  service_.script("POST jobs", {broken});
  EXPECT_TRUE(write(rows_).has_value());
  const auto reads = service_.jobs("SELECT T.target_name");
  ASSERT_THAT(reads, SizeIs(3));
  EXPECT_NE(reads[1].find("jobReference")->text("jobId"),
            reads[2].find("jobReference")->text("jobId"));
}

TEST_F(BigqueryProtocol, AStoppedPassCancelsItsJobAndTheNextOneWaitsForIt) {
  ASSERT_TRUE(write(rows_).has_value());
  const auto running = [] {
    return Reply::json(R"({"jobReference":{"jobId":"x"},"status":{"state":"RUNNING"}})");
  };
  service_.script("POST jobs", {running});
  service_.script("GET jobs/", {[&] {
                    stop_.request_stop();
                    return running();
                  }});
  EXPECT_EQ(must_fail(rows_).kind, base::ErrorKind::kCancelled);
  ASSERT_THAT(service_.of("POST", "/cancel"), SizeIs(1));
  const auto begun = service_.all().size();
  service_.script("GET jobs/", {running});
  context_ = base::Context(clock_, {});
  ASSERT_TRUE(write(rows_).has_value());
  const auto all = service_.all();
  EXPECT_EQ(all.at(begun).method + " " + all.at(begun + 1).method + " " + all.at(begun + 2).method,
            "GET GET POST");  // running, done, the next job
}

TEST_F(BigqueryProtocol, AJobThatNeverEndsIsCancelled) {
  ASSERT_TRUE(write(rows_).has_value());
  const auto running = [] {
    return Reply::json(R"({"jobReference":{"jobId":"x"},"status":{"state":"RUNNING"}})");
  };
  service_.script("POST jobs", {running});
  service_.script("GET jobs/", std::deque<std::function<Reply()>>(1000, running));
  const auto error = must_fail(rows_);
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "timeout");
  EXPECT_THAT(service_.of("POST", "/cancel"), SizeIs(1));
}

TEST_F(BigqueryProtocol, ATokenThatWasTakenBackIsReplacedOnce) {
  service_.token = "token-2";
  EXPECT_TRUE(write(rows_).has_value());
  sink_.reset();
  service_.token = "another";
  const auto error = must_fail(rows_);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "auth");
  EXPECT_THAT(error.message, Not(HasSubstr("token-")));
}

TEST_F(BigqueryProtocol, AMissingDatasetIsNeverCreated) {
  service_.script("GET datasets/harbor", {[] { return fault(404, "notFound"); }});
  const auto error = must_fail(rows_);
  EXPECT_EQ(error.reason, "dataset-missing");
  EXPECT_THAT(service_.of("POST", "/datasets"), SizeIs(0));
}

TEST_F(BigqueryProtocol, TablesAreCreatedInEnsureModeAlone) {  // K-13
  options_.ensure = false;
  EXPECT_EQ(must_fail(rows_).reason, "table-missing");
  EXPECT_EQ(sink().probe(context_).error().reason, "table-missing");
  EXPECT_THAT(service_.of("POST", "/tables"), SizeIs(0));
  options_.ensure = true;
  sink_.reset();
  // Another process is quicker.
  service_.script("POST datasets/harbor/tables",
                  {[] { return fault(409, "duplicate", "Already Exists"); }});
  EXPECT_TRUE(write(rows_).has_value());
}

TEST_F(BigqueryProtocol, ATableOfALoadIsDroppedUnderItsWholeName) {
  options_.table.table = "dock ledger";
  options_.parameter_bytes = 1;
  // There is no load here, so the pass ends with an error and the table goes.
  EXPECT_EQ(must_fail(rows_).reason, "refused");
  std::vector<std::string> dropped;
  for (const auto& request : service_.all()) {
    if (request.method == "DELETE") dropped.push_back(request.path());
  }
  EXPECT_THAT(dropped, ElementsAre(StartsWith("/bigquery/v2/projects/pier-project/datasets/harbor/"
                                              "tables/dock%20ledger_kollect_")));
}

TEST_F(BigqueryProtocol, AProbeRunsNothing) {
  ASSERT_TRUE(sink().probe(context_).has_value());
  const auto jobs = service_.of("POST", "/jobs");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_TRUE(testing::parse_json(jobs[0].body).at_path({"configuration", "dryRun"})->as_bool());
  EXPECT_THAT(service_.of("POST", "/tables"), SizeIs(0));
}

}  // namespace
}  // namespace kollect::sinks::bigquery
