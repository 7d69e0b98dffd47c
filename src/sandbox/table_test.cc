// What `kubectl get` shows: tables, their cells and ages; objects reduced to their metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/table.h"
#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using base::json::Value;
using std::chrono::hours;
using std::chrono::seconds;
using testing::at;
using testing::config_map;
using ::testing::ElementsAre;
using testing::Got;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Server;
using testing::Watching;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const std::string kMetadata =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Names of columns, and the cells of each row.
std::vector<std::string> columns(const Got& got) {
  std::vector<std::string> out;
  const Value table = got.json();
  for (const Value& one : table.find("columnDefinitions")->as_array()) {
    out.emplace_back(one.text("name"));
  }
  return out;
}
std::vector<std::string> rows(const Got& got) {
  std::vector<std::string> out;
  const Value table = got.json();
  for (const Value& one : table.find("rows")->as_array()) {
    out.push_back(base::json::compact(*one.find("cells")));
  }
  return out;
}

class SandboxTable : public ::testing::Test {
 protected:
  Got table(const std::string& target) {
    return server_.call("GET", target, {}, "application/json", kTable);
  }
  Server server_;
};

TEST_F(SandboxTable, ListsShowNamesColumnsAndAges) {
  server_.post(kMaps, config_map("a"));
  server_.clock.advance(hours(3));
  server_.post(kMaps, config_map("b"));
  server_.clock.advance(seconds(90));
  const Got got = table(kMaps);
  EXPECT_EQ(at(got.json(), "kind"), "Table");
  EXPECT_EQ(at(got.json(), "apiVersion"), "meta.k8s.io/v1");
  EXPECT_THAT(columns(got), ElementsAre("Name", "Data", "Age"));
  EXPECT_THAT(rows(got), ElementsAre(R"(["a",1,"3h1m"])", R"(["b",1,"90s"])"));
  EXPECT_THAT(got.text, HasSubstr(R"("object":{"kind":"PartialObjectMetadata")"));
  EXPECT_THAT(got.text, Not(HasSubstr(R"("data")")));
}

TEST_F(SandboxTable, RowsHoldWhatIsAskedFor) {
  server_.post(kMaps, config_map("a"));
  EXPECT_THAT(table(kMaps + "?includeObject=None").text, HasSubstr(R"("object":null)"));
  EXPECT_THAT(table(kMaps + "?includeObject=Object").text, HasSubstr(R"("data":{"k":"v"})"));
}

TEST_F(SandboxTable, OneObjectIsATableOfOneRow) {
  server_.post(kMaps, config_map("a"));
  EXPECT_THAT(rows(table(kMaps + "/a")), ElementsAre(R"(["a",1,"0s"])"));
}

TEST_F(SandboxTable, ColumnsOfDefinitionsTakeTheirTypes) {
  const std::string definition = R"json({
"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.sea.test"},
"spec":{"group":"sea.test","scope":"Cluster","names":{"plural":"boats","kind":"Boat"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
 "x-kubernetes-preserve-unknown-fields":true}},"additionalPrinterColumns":[
 {"name":"Crew","type":"integer","jsonPath":".spec.crew"},
 {"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status","priority":1},
 {"name":"Afloat","type":"boolean","jsonPath":".spec.afloat"},
 {"name":"Built","type":"date","jsonPath":".spec.built"},
 {"name":"Ports","type":"string","jsonPath":".spec.ports"}]}]}})json";
  ASSERT_EQ(
      server_.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).status,
      201);
  const std::string boats = "/apis/sea.test/v1/boats";
  const std::string head = R"({"apiVersion":"sea.test/v1","kind":"Boat","metadata":{"name":)";
  server_.post(boats,
               head + R"("argo"},"spec":{"crew":50,"afloat":true,"built":"2026-02-01T04:05:06Z",)"
                      R"("ports":["a","b"]},"status":{"conditions":[{"type":"Old","status":"x"},)"
                      R"({"type":"Ready","status":"True"}]}})");
  server_.post(boats, head + R"("bare"},"spec":{"crew":"many","built":"long ago"}})");
  const Got got = table(boats);
  EXPECT_THAT(columns(got), ElementsAre("Name", "Crew", "Ready", "Afloat", "Built", "Ports"));
  EXPECT_THAT(rows(got), ElementsAre(R"(["argo",50,"True",true,"2d","[\"a\",\"b\"]"])",
                                     R"(["bare",null,null,null,"\u003cinvalid\u003e",null])"));
  // The definitions themselves tell when they were made.
  EXPECT_THAT(rows(table("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")),
              ElementsAre(R"(["boats.sea.test","Cluster","v1","2026-02-03T04:05:06Z",)"
                          R"("sea.test","Boat","",true])"));
}

TEST_F(SandboxTable, WatchesNameTheColumnsOnce) {
  server_.post(kMaps, config_map("a"));
  server_.post(kMaps, config_map("b"));
  Watching watching(server_.ask("GET", kMaps + "?watch=1", {}, "application/json", kTable));
  const auto lines = watching.lines();
  ASSERT_EQ(lines.size(), 2);
  EXPECT_THAT(lines[0], HasSubstr(R"("columnDefinitions":[{"name":"Name")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("columnDefinitions":null,"rows":[{"cells":["b",1,"0s"])"));
}

TEST_F(SandboxTable, MetadataAloneWhenAskedFor) {
  server_.post(kMaps, config_map("a", R"({"x":"one"})"));
  const Got one = server_.call("GET", kMaps + "/a", {}, "application/json", kMetadata);
  EXPECT_EQ(at(one.json(), "kind"), "PartialObjectMetadata");
  EXPECT_EQ(at(one.json(), "metadata.labels.x"), "one");
  EXPECT_EQ(one.json().find("data"), nullptr);
  const Got list = server_.call("GET", kMaps, {}, "application/json", kMetadata);
  EXPECT_EQ(at(list.json(), "kind"), "PartialObjectMetadataList");
  EXPECT_THAT(testing::names(list), ElementsAre("default/a"));
}

TEST(SandboxAges, AreWrittenAsKubectlWritesThem) {
  const auto age = [](std::int64_t s) { return human_age(seconds(s)); };
  EXPECT_EQ(age(-5), "<invalid>");
  EXPECT_EQ(age(0), "0s");
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(120), "2m");
  EXPECT_EQ(age(200), "3m20s");
  EXPECT_EQ(age(11 * 60 + 5), "11m");
  EXPECT_EQ(age(3 * 3600 + 60), "3h1m");
  EXPECT_EQ(age(47 * 3600), "47h");
  EXPECT_EQ(age(50 * 3600), "2d2h");
  EXPECT_EQ(age(12 * 86400), "12d");
  EXPECT_EQ(age(760 * 86400), "2y30d");
  EXPECT_EQ(age(9LL * 365 * 86400), "9y");
}

}  // namespace
}  // namespace kollect::sandbox
