#include "pipeline/query.h"

#include <chrono>
#include <utility>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_stream.h"
#include "sinks/sqlite/database.h"

namespace kollect::pipeline {
namespace {

using sinks::sqlite::Database;

class QueryTest : public testing::Test {
 protected:
  QueryTest() : dir_(std::move(*base::TempDir::create())) {
    options_.file = dir_.path() / "a file?.db";
    auto database =
        Database::open(options_.file, Database::Mode::kReadWrite, std::chrono::seconds(1));
    const auto made = database->execute(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (name TEXT, n INTEGER, r REAL, b BLOB);"
        "INSERT INTO t VALUES ('crane', 1, 1.5, x'00ff'), ('größe 🚢', 22, 1e21, NULL),"
        "(NULL, NULL, NULL, NULL), ('a,\"b\"' || char(10) || 'c', -3, 0.1, NULL), ('{\"a\":[1]}', "
        "0, 2.0, NULL)");
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }

  std::string ask(std::string sql, QueryFormat format) {
    options_.sql = std::move(sql);
    options_.format = format;
    base::MemoryStream capture;
    const auto count = run_query(base::Context::background(), options_, capture.file());
    return count ? capture.text() : "error: " + count.error().message;
  }

  base::TempDir dir_;
  QueryOptions options_;
};

TEST_F(QueryTest, Table) {
  options_.max_cell_width = 9;
  EXPECT_EQ(ask("SELECT name, n, r FROM t", QueryFormat::kTable),
            "name        n      r\n"
            "---------  --  -----\n"
            "crane       1    1.5\n"
            "größe 🚢   22  1e+21\n"
            "\n"
            "a,\"b\"\\nc   -3    0.1\n"
            "{\"a\":[1]}   0      2\n"
            "(5 rows)\n");
  EXPECT_EQ(ask("SELECT 'abcdefghijkl' AS x WHERE 1", QueryFormat::kTable),
            "x\n---------\nabcdefgh…\n(1 row)\n");
  EXPECT_EQ(ask("SELECT 1 AS x WHERE 0", QueryFormat::kTable), "x\n-\n(0 rows)\n");
}

TEST_F(QueryTest, Json) {
  EXPECT_EQ(ask("SELECT * FROM t LIMIT 3", QueryFormat::kJson),
            "[\n"
            "{\"name\":\"crane\",\"n\":1,\"r\":1.5,\"b\":\"AP8=\"},\n"
            "{\"name\":\"größe 🚢\",\"n\":22,\"r\":1e+21,\"b\":null},\n"
            "{\"name\":null,\"n\":null,\"r\":null,\"b\":null}\n"
            "]\n");
  EXPECT_EQ(ask("SELECT 1 WHERE 0", QueryFormat::kJson), "[]\n");
  EXPECT_EQ(ask("SELECT name FROM t WHERE n = 0", QueryFormat::kJson),
            "[\n{\"name\":\"{\\\"a\\\":[1]}\"}\n]\n");
  options_.expand_json = true;
  EXPECT_EQ(ask("SELECT name FROM t WHERE n = 0;  ", QueryFormat::kJson),
            "[\n{\"name\":{\"a\":[1]}}\n]\n");
}

TEST_F(QueryTest, Csv) {
  EXPECT_EQ(ask("SELECT name, n AS \"a,b\" FROM t WHERE n <= 1 OR n IS NULL", QueryFormat::kCsv),
            "name,\"a,b\"\ncrane,1\n,\n\"a,\"\"b\"\"\nc\",-3\n\"{\"\"a\"\":[1]}\",0\n");
}

TEST_F(QueryTest, Overview) {
  EXPECT_EQ(ask("", QueryFormat::kCsv), "type,name,columns\ntable,t,\"name, n, r, b\"\n");
}

TEST_F(QueryTest, OnlyReading) {
  EXPECT_EQ(ask("DELETE FROM t", QueryFormat::kCsv),
            "error: the statement does not read: use SELECT");
  EXPECT_EQ(ask("ATTACH 'x.db' AS x", QueryFormat::kCsv),
            "error: the statement does not read: use SELECT");
  EXPECT_EQ(ask("-- nothing", QueryFormat::kCsv), "error: the statement does not read: use SELECT");
  EXPECT_EQ(ask("SELECT 1; SELECT 2", QueryFormat::kCsv),
            "error: one statement at a time; \"SELECT 2\" is too much");
  EXPECT_EQ(ask("SELECT nope FROM t", QueryFormat::kCsv),
            "error: " + options_.file.string() + ": no such column: nope");
  EXPECT_EQ(ask("SELECT count(*) FROM t", QueryFormat::kCsv), "count(*)\n5\n");
}

TEST_F(QueryTest, Files) {
  options_.file = dir_.path() / "none.db";
  EXPECT_EQ(ask("SELECT 1", QueryFormat::kCsv),
            "error: there is no file " + options_.file.string());
  options_.file = dir_.path();
  EXPECT_EQ(ask("SELECT 1", QueryFormat::kCsv),
            "error: " + options_.file.string() + " is a folder, no file");
  options_.file = dir_.path() / "text";
  ASSERT_TRUE(base::write_file_atomic(options_.file, std::string(2000, 'x')).has_value());
  EXPECT_EQ(ask("SELECT 1", QueryFormat::kCsv),
            "error: " + options_.file.string() + " is no SQLite database");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "none.db"));
}

TEST_F(QueryTest, ReadOnlyFileWithoutLog) {
  auto database =
      Database::open(options_.file, Database::Mode::kImmutable, std::chrono::seconds(1));
  ASSERT_TRUE(database.has_value()) << database.error().message;
  EXPECT_TRUE(database->execute("SELECT * FROM t").has_value());
  EXPECT_FALSE(database->execute("DELETE FROM t").has_value());
}

TEST_F(QueryTest, Cancelled) {
  std::stop_source stop;
  stop.request_stop();
  const base::SystemClock clock;
  base::MemoryStream capture;
  options_.sql =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
  const auto count = run_query(base::Context(clock, stop.get_token()), options_, capture.file());
  ASSERT_FALSE(count.has_value());
  EXPECT_EQ(count.error().kind, base::ErrorKind::kCancelled);
}

TEST(QueryFormat, Names) {
  EXPECT_EQ(parse_query_format("csv").value(), QueryFormat::kCsv);
  EXPECT_FALSE(parse_query_format("xml").has_value());
}

}  // namespace
}  // namespace kollect::pipeline
