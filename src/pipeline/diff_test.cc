#include "pipeline/diff.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/memory_stream.h"
#include "base/yaml/write.h"
#include "inventory/envelope.h"
#include "pipeline/diff/values.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::pipeline {
namespace {

using inventory::RowSet;
using inventory::RowView;

std::string row_json(const std::string& name, const std::string& attributes,
                     const std::string& uid = "u") {
  return R"({"targetNamespace":"harbor","targetName":"cranes","namespace":"quay","name":")" + name +
         R"(","group":"apps","version":"v1","kind":"Deployment","uid":")" + uid + name +
         R"(","attributes":)" + attributes + "}";
}

const std::string kBefore = "[" + row_json("a", R"({"image":"nginx:1.26","n":1})") + "," +
                            row_json("b", "{}") + "," + row_json("c", "{}") + "," +
                            row_json("e", "{}", "old-") + "]";
const std::string kAfter = "[" + row_json("a", R"({"image":"nginx:1.27","m":true,"n":1})") + "," +
                           row_json("b", "{}") + "," + row_json("d", "{}") + "," +
                           row_json("e", "{}", "new-") + "]";

constexpr std::string_view kText =
    "~ Deployment.apps quay/a (harbor/cranes)\n"
    "    image: \"nginx:1.26\" -> \"nginx:1.27\"\n"
    "    m: (absent) -> true\n"
    "- Deployment.apps quay/c (harbor/cranes)\n"
    "+ Deployment.apps quay/d (harbor/cranes)\n"
    "~ Deployment.apps quay/e (harbor/cranes)\n"
    "    uid (recreated): \"old-e\" -> \"new-e\"\n"
    "1 appeared, 2 changed, 1 went, 1 unchanged\n";

class DiffTest : public testing::Test {
 protected:
  DiffTest() : dir_(std::move(*base::TempDir::create())) {}

  std::string put(const std::string& name, const std::string& content) {
    const auto path = dir_.path() / name;
    EXPECT_TRUE(base::write_file_atomic(path, content).has_value());
    return path.string();
  }

  std::string diff(const std::string& before, const std::string& after, bool json = false) {
    const base::MemoryStream stream;
    const base::ManualClock clock(base::WallTime(std::chrono::seconds(1'700'000'100)));
    DiffOptions options;
    options.before = before;
    options.after = after;
    options.json = json;
    summary_ = run_diff(base::Context(clock, {}), options, stream.file());
    return summary_ ? stream.text() : "error: " + summary_.error().message;
  }

  /// Exports rows given as a JSON list.
  void export_rows(const std::string& list, int second) {
    const auto rows = inventory::read_export(list);
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    sinks::Export exp;
    exp.inventory = {"harbor", "ledger"};
    exp.rows = &*rows;
    exp.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + second));
    sinks::SqliteSink sink(dir_.path() / "inventory.db");
    const auto report = sink.export_all(base::Context::background(), {exp}, false);
    ASSERT_TRUE(report.has_value()) << report.error().message;
  }

  base::TempDir dir_;
  base::Result<DiffSummary> summary_;
};

std::string envelope(const std::string& list, const std::string& cluster) {
  return R"({"schemaVersion":"kollect.dev/v1alpha1","checksum":"x","itemCount":4,"exportedAt":"2024-01-01T00:00:00Z",)"
         R"("cluster":")" +
         cluster + R"(","items":)" + list + "}";
}

std::string yaml_of(const std::string& text) {
  const auto document = base::json::Document::parse(text);
  return base::yaml::write(document->root());
}

std::string lines_of(const std::string& list) {
  const auto document = base::json::Document::parse(list);
  std::string out;
  for (const auto row : document->root().items()) {
    out += base::json::compact(row) + "\n";
  }
  return out;
}

TEST_F(DiffTest, AllForms) {
  const std::vector<std::string> before = {put("1.json", kBefore), put("1.yaml", yaml_of(kBefore)),
                                           put("1.ndjson", lines_of(kBefore)),
                                           put("1/inventory/harbor/x.yaml", yaml_of(kBefore))
                                               .substr(0, dir_.path().string().size() + 2)};
  const std::vector<std::string> after = {put("2.json", kAfter), put("2.yaml", yaml_of(kAfter)),
                                          put("2.ndjson", lines_of(kAfter)),
                                          put("2/inventory/harbor/y.ndjson", lines_of(kAfter))
                                              .substr(0, dir_.path().string().size() + 2)};
  for (const std::string& a : before) {
    for (const std::string& b : after) {
      EXPECT_EQ(diff(a, b), kText) << a << " " << b;
    }
  }
  ASSERT_TRUE(summary_.has_value());
  EXPECT_TRUE(summary_->differs());
  EXPECT_EQ(diff(before[0], before[1]), "0 appeared, 0 changed, 0 went, 4 unchanged\n");
}

TEST_F(DiffTest, ClustersAreComparedUnlessThereAreSeveral) {
  const std::string east = put("east.json", envelope(kBefore, "east"));
  const std::string west = put("west.json", envelope(kBefore, "west"));
  EXPECT_EQ(diff(east, west), "0 appeared, 0 changed, 0 went, 4 unchanged\n");
  const std::string both = put("both/east.json", envelope(kBefore, "east"));
  put("both/west.json", envelope(kBefore, "west"));
  diff(east, dir_.path() / "both");
  ASSERT_TRUE(summary_.has_value());
  EXPECT_EQ(summary_->appeared, 4U);
  EXPECT_EQ(summary_->unchanged, 4U);
}

TEST_F(DiffTest, RecordsOfStandardOutput) {
  const std::string record =
      R"({"context":"kind","targetNamespace":"harbor","targetName":"cranes","path":"p","envelope":)" +
      envelope(kBefore, "c") + "}";
  const std::string records = put("records.ndjson", record + "\n");
  const std::string list = put("records.json", "[" + record + "]");
  EXPECT_EQ(diff(records, list), "0 appeared, 0 changed, 0 went, 4 unchanged\n");
}

TEST_F(DiffTest, TreesOfFiles) {
  const std::string manifest =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"quay"},)";
  put("1/c/quay/deployment/a.yaml",
      yaml_of(manifest + R"("spec":{"containers":[{"name":"x","image":"1"},{"name":"y"}]}})"));
  put("1/c/attributes.json", R"({"n":1})");
  put("1/.git/x.json", "broken");
  put("1/inventory/harbor/x.json",
      R"({"schemaVersion":"kollect.dev/v1alpha1","itemCount":1,"paths":["a"]})");
  put("2/c/quay/deployment/a.yaml",
      yaml_of(manifest + R"("spec":{"containers":[{"name":"y"},{"name":"x","image":"2"}]}})"));
  put("2/c/attributes.json", R"({"n":2})");
  EXPECT_EQ(diff(dir_.path() / "1", dir_.path() / "2"),
            "~ c/attributes.json\n"
            "    n: 1 -> 2\n"
            "~ Deployment.apps quay/a\n"
            "    spec.containers[name=x].image: \"1\" -> \"2\"\n"
            "0 appeared, 2 changed, 0 went, 0 unchanged\n");
}

TEST_F(DiffTest, SqliteAndItsHistory) {
  export_rows(kBefore, 0);
  export_rows(kAfter, 60);
  const std::string file = dir_.path() / "inventory.db";
  // Rows are keyed by uid there, so the recreated one is matched by name again.
  EXPECT_EQ(diff(file + "@2023-11-14T22:13:30Z", file), kText);
  EXPECT_EQ(diff(file + "@90s", file + "@0s"), kText);
  EXPECT_EQ(diff(file, put("after.json", kAfter)), "0 appeared, 0 changed, 0 went, 4 unchanged\n");
  EXPECT_EQ(diff(file + "@2023-11-14", file),
            "error: " + file + "@2023-11-14: the history begins at 2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(diff(file + "@soon", file),
            "error: \"soon\" is no moment; write a time (2024-05-06T07:08:09Z), a date or how long "
            "ago (24h)");
}

TEST_F(DiffTest, Json) {
  const std::string before = put("1.json", "[" + row_json("a", R"({"x":{"y":[1,2]}})") + "]");
  const std::string after =
      put("2.json", "[" + row_json("a", R"({"x":{"y":[1]}})") + "," + row_json("b", "{}") + "]");
  const std::string identity =
      R"("targetNamespace":"harbor","targetName":"cranes","namespace":"quay","name":)";
  EXPECT_EQ(
      diff(before, after, true),
      R"({"schema":"kollect.dev/diff/v1","before":")" + before + R"(","after":")" + after +
          R"(","summary":{"appeared":1,"changed":1,"went":0,"unchanged":0},"appeared":[{)" +
          identity +
          R"("b","group":"apps","version":"v1","kind":"Deployment","uid":"ub","attributes":{}}],)" +
          R"("changed":[{"row":{)" + identity +
          R"("a","group":"apps","version":"v1","kind":"Deployment","uid":"ua"},)" +
          R"("changes":[{"path":"attributes.x.y[1]","before":2}]}],"went":[]})"
          "\n");
}

TEST_F(DiffTest, Errors) {
  const std::string good = put("1.json", "[]");
  EXPECT_EQ(diff("/nowhere", good), "error: there is no file or folder /nowhere");
  const std::string broken = put("2.yaml", "- a: [\n");
  EXPECT_TRUE(
      diff(good, broken).starts_with("error: " + broken + ": document 1, line 2, column 1: "));
  const std::string other = put("3.json", R"({"a":1})");
  EXPECT_EQ(diff(good, other), "error: " + other + ": neither rows nor an export envelope");
  EXPECT_EQ(diff(good, put("4.json", "[1]")), "error: " + (dir_.path() / "4.json").string() +
                                                  ": an element of the list is no inventory row");
  EXPECT_EQ(diff(good + "@1h", good), "error: " + good + ": only SQLite files have a history");
}

TEST(DiffValues, Paths) {
  const auto parse = [](std::string_view text) {
    return base::json::to_value(base::json::Document::parse(text)->root());
  };
  std::vector<ValueChange> changes;
  diff_values(
      "",
      parse(
          R"({"a":{"b.c/d":1,"e":[1,{"f":2}]},"g":[{"key":"k","v":1}],"h":[{"name":"x"},{"name":"y"}]})"),
      parse(
          R"({"a":{"b.c/d":2,"e":[1,{"f":3},4]},"g":[{"key":"k","v":2},{"key":"l"}],"h":[{"name":"y"},{"name":"x"}]})"),
      changes);
  std::vector<std::string> paths;
  for (const ValueChange& change : changes) {
    paths.push_back(change.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"a[\"b.c/d\"]", "a.e[1].f", "a.e[2]", "g[key=k].v",
                                             "g[key=l]", "h"}));
}

}  // namespace
}  // namespace kollect::pipeline
