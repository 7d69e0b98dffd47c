// Ground of the tests against an emulator of BigQuery. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/bigquery/jobs.h"
#include "sinks/rows/contract.h"
#include "support/server_script.h"

namespace kollect::sinks::bigquery {

/// The emulator, asked as somebody else would.
class BigqueryServer {
 public:
  static BigqueryServer& shared() {
    static BigqueryServer server("shared");
    return server;
  }
  explicit BigqueryServer(const std::string& name) : script_("bigquery.sh", name) {}

  [[nodiscard]] std::string url() const { return script_.value("BIGQUERY_EMULATOR_HOST"); }
  void kill() const { script_.run("kill"); }
  void restart() const { script_.run("start"); }

  /// A dataset of its own for every call; its name.
  std::string make_dataset() {
    std::string name = fmt::format("set_{}", ++datasets_);
    post("/bigquery/v2/projects/test/datasets",
         fmt::format(
             R"({{"datasetReference":{{"projectId":"test","datasetId":"{}"}},"location":"EU"}})",
             name));
    return name;
  }
  /// Rows of a query over the table "inventory", columns joined by "|".
  rows::contract::Lines ask(const std::string& dataset, const std::string& sql) {
    std::string named = sql;
    for (const char* word : {"FROM ", "INTO ", "UPDATE "}) {
      named = base::replace_all(named, fmt::format("{}inventory", word),
                                fmt::format("{}`test.{}.inventory`", word, dataset));
    }
    std::string text;
    base::json::append_string(text, named);
    const std::string answer =
        post("/bigquery/v2/projects/test/queries",
             fmt::format(R"({{"query":{},"useLegacySql":false,"maxResults":100000}})", text));
    const auto document = base::json::Document::parse(answer);
    EXPECT_TRUE(document.has_value());
    rows::contract::Lines lines;
    const auto found = document->root().find("rows");
    EXPECT_FALSE(document->root().find("errors")) << answer;
    if (!found) return lines;
    for (const auto row : found->items()) {
      std::string line;
      bool first = true;
      for (const auto cell : row.find("f")->items()) {
        if (!std::exchange(first, false)) line += '|';
        line += cell.text("v");
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  /// Names of the dataset's tables.
  rows::contract::Lines tables(const std::string& dataset) {
    http::Request request;
    request.url = fmt::format("{}/bigquery/v2/projects/test/datasets/{}/tables", url(), dataset);
    const auto answer = client_.fetch(base::Context::background(), request);
    EXPECT_TRUE(answer.has_value());
    rows::contract::Lines out;
    if (!answer.has_value()) return out;
    const auto document = base::json::Document::parse(answer->body);
    if (const auto found = document->root().find("tables")) {
      for (const auto table : found->items()) {
        out.emplace_back(table.find("tableReference")->text("tableId"));
      }
    }
    return out;
  }

  [[nodiscard]] BigqueryOptions options(const std::string& dataset) const {
    BigqueryOptions out;
    out.api.name = "bigquery";
    out.api.base_url = url();
    out.api.unknown_is_terminal = false;
    out.table = {"test", dataset, "inventory"};
    return out;
  }

 private:
  std::string post(const std::string& path, const std::string& body) {
    http::Request request;
    request.method = "POST";
    request.url = url() + path;
    request.body = body;
    request.headers.emplace_back("Content-Type", "application/json");
    const auto answer = client_.fetch(base::Context::background(), request);
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    if (!answer.has_value()) return "{}";
    EXPECT_EQ(answer->status, 200) << answer->body << "\n" << body;
    return answer->body;
  }

  kollect::testing::ServerScript script_;
  http::Client client_;
  int datasets_ = 0;
};

}  // namespace kollect::sinks::bigquery
