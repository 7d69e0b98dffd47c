// Tables: which columns, what stands in them, and the text of CSV (spec: sinks 10).
#include <gmock/gmock.h>

#include "inventory/row_set.h"
#include "sinks/columns/csv.h"
#include "sinks/columns/encoders.h"
#include "sinks/testing.h"

namespace kollect::sinks::columns {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> hot_columns(const std::vector<Column>& schema) {
  std::vector<std::string> out;
  for (const auto& column : schema) {
    if (column.source == Source::kAttribute) out.push_back(column.name + "=" + column.attribute);
  }
  return out;
}

Table table(const inventory::RowSet& rows, const std::vector<std::string>& hot,
            const std::map<std::string, std::string>& declared = {}) {
  return {.rows = &rows,
          .first = 0,
          .last = rows.size(),
          .cluster = "pier-7",
          .inventory_namespace = "harbor-ops",
          .inventory_name = "dock-ledger",
          .generation = 5,
          .exported_at = time_of("2026-02-03T04:05:06.789Z"),
          .columns = schema(hot, declared)};
}

std::string csv(const Table& table) {
  std::string out;
  const auto written = write_csv(table, [&out](std::string_view piece) -> base::Result<> {
    out += piece;
    return {};
  });
  EXPECT_TRUE(written.has_value());
  return out;
}

/// One row with these attributes.
inventory::RowSet one(const std::string& attributes) {
  inventory::RowSet rows;
  rows.add({.target_namespace = "t",
            .target_name = "n",
            .ns = "ns",
            .name = "x",
            .group = "apps",
            .version = "v1",
            .kind = "Deployment",
            .uid = "u",
            .attributes = attributes});
  rows.seal();
  return rows;
}

/// The values of the hot attributes of one row; null is "-".
std::vector<std::string> hot_values(const std::string& attributes,
                                    const std::vector<std::string>& hot) {
  const auto rows = one(attributes);
  const auto of = table(rows, hot);
  std::vector<std::string> out;
  CellReader reader(of);
  const auto visited = rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    const auto& cells = reader.fill(row);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (of.columns[i].source != Source::kAttribute) continue;
      out.emplace_back(cells[i].null ? "-" : cells[i].text);
    }
    return {};
  });
  EXPECT_TRUE(visited.has_value());
  return out;
}

TEST(Columns, AreSortedByName) {
  std::vector<std::string> names;
  for (const auto& column : schema(default_hot_attributes())) names.push_back(column.name);
  EXPECT_THAT(names,
              ElementsAre("api_version", "attr_image", "attr_version", "attributes", "cluster",
                          "exported_at", "group", "inventory_name", "inventory_namespace", "kind",
                          "name", "namespace", "target_name", "target_namespace", "uid"));
}

TEST(Columns, HotAttributesAreTrimmedAndTakenOnce) {
  EXPECT_THAT(hot_columns(schema({"replicas", " ready ", "", "  ", "Replicas", "ready"})),
              ElementsAre("attr_ready=ready", "attr_replicas=replicas"));
}

TEST(Columns, NamesOfAttributes) {
  EXPECT_EQ(attribute_column("app.kubernetes.io/name"), "attr_app_kubernetes_ioname");
  EXPECT_EQ(attribute_column("Memory-Limit_x"), "attr_memory_limit_x");
  EXPECT_EQ(attribute_column("größe"), "attr_gre");
  EXPECT_EQ(attribute_column("⚓"), "attr_unknown");
}

TEST(Columns, NamesThatMeetAreNumbered) {
  EXPECT_THAT(hot_columns(schema({"a-b", "a_b", "a.b", "a/b", "⚓", "☃"})),
              ElementsAre("attr_a_b=a-b", "attr_a_b_2=a.b", "attr_a_b_3=a_b", "attr_ab=a/b",
                          "attr_unknown=☃", "attr_unknown_2=⚓"));
  // A number that somebody else's name already has is passed over.
  EXPECT_THAT(hot_columns(schema({"a-b", "a-b-2", "a.b"})),
              ElementsAre("attr_a_b=a-b", "attr_a_b_2=a-b-2", "attr_a_b_3=a.b"));
}

TEST(Columns, ValuesOfHotAttributes) {
  const std::vector<std::string> hot = {"v"};
  EXPECT_THAT(hot_values(R"({"v":"text"})", hot), ElementsAre("text"));
  EXPECT_THAT(hot_values(R"({"v":""})", hot), ElementsAre("-"));
  EXPECT_THAT(hot_values(R"({"v":null})", hot), ElementsAre("-"));
  EXPECT_THAT(hot_values(R"({"w":{"v":"inner"}})", hot), ElementsAre("-"));
  EXPECT_THAT(hot_values(R"({"V":"other case"})", hot), ElementsAre("-"));
  EXPECT_THAT(hot_values(R"({"v":true})", hot), ElementsAre("true"));
  EXPECT_THAT(hot_values(R"({"v":false})", hot), ElementsAre("false"));
  EXPECT_THAT(hot_values(R"({"v":67385540608})", hot), ElementsAre("67385540608"));
  EXPECT_THAT(hot_values(R"({"v":9007199254740993})", hot), ElementsAre("9007199254740993"));
  EXPECT_THAT(hot_values(R"({"v":1000000})", hot), ElementsAre("1000000"));
  EXPECT_THAT(hot_values(R"({"v":0.25})", hot), ElementsAre("0.25"));
  EXPECT_THAT(hot_values(R"({"v":1e+21})", hot), ElementsAre("1e+21"));
  EXPECT_THAT(hot_values(R"({"a":"\"v\":1","v":{"a":[{}],"b":"\u003c}"},"w":2})", hot),
              ElementsAre(R"({"a":[{}],"b":"\u003c}"})"));
  EXPECT_THAT(hot_values(R"({"v":"\u0026 \"quoted\"\n\u0000"})", hot),
              ElementsAre(std::string("& \"quoted\"\n\0", 12)));
  EXPECT_THAT(hot_values(R"({"a\u0026b\"c":"odd"})", {"a&b\"c"}), ElementsAre("odd"));
  EXPECT_THAT(hot_values("", hot), ElementsAre("-"));
}

TEST(Columns, DeclaredTypes) {
  const std::map<std::string, std::string> declared = {{"i", "int"},  {"d", "number"},
                                                       {"b", "Bool"}, {"t", "timestamp"},
                                                       {"l", "list"}, {"s", "string"}};
  const std::vector<std::string> hot = {"i", "d", "b", "t", "l", "s"};
  const auto header = std::string("api_version,attr_b,attr_d,attr_i,attr_l,attr_s,attr_t,");
  const auto line_of = [&](const std::string& attributes) {
    const auto rows = one(attributes);
    const auto text = csv(table(rows, hot, declared));
    EXPECT_THAT(text, ::testing::StartsWith(header));
    const auto begin = text.find('\n') + 1;
    return text.substr(begin, text.find(attributes.size() > 2 ? ",\"{" : ",{", begin) - begin);
  };
  EXPECT_EQ(line_of(R"({"b":true,"d":1,"i":7,"l":"x","s":"5","t":"2026-01-02T03:04:05+01:00"})"),
            R"(v1,true,1,7,"""x""",5,2026-01-02T02:04:05.000000Z)");
  // What does not fit is null; the attributes still have it.
  EXPECT_EQ(line_of(R"({"b":"true","d":"1","i":1.5,"l":[1],"s":5,"t":"soon"})"), "v1,,,,[1],5,");
  EXPECT_EQ(line_of(R"({"d":1e400,"i":18446744073709551615})"), "v1,,,,,,");
  EXPECT_EQ(line_of(R"({"d":9007199254740993,"i":-9223372036854775808})"),
            "v1,,9007199254740992,-9223372036854775808,,,");
  EXPECT_EQ(line_of("{}"), "v1,,,,,,");
}

TEST(Columns, TypesAreThoseThatProfilesAgreeOn) {
  const auto attribute = [](const std::string& name, const std::string& type) {
    api::Attribute out;
    out.name = name;
    out.type = type;
    return out;
  };
  const std::vector one = {attribute("replicas", "int"), attribute("ready", "bool")};
  const std::vector other = {attribute("replicas", "string"), attribute("cpu", "number")};
  Export exp;
  declare_types(one, exp.attribute_types);
  declare_types(other, exp.attribute_types);
  declare_types(other, exp.attribute_types);
  objects::EncoderSettings settings;
  settings.hot_attributes = {"replicas", "ready", "cpu", "image"};
  objects::Document document;
  document.exp = &exp;
  const auto types = [&] {
    std::map<std::string, Type> out;
    for (const auto& column : table_of(document, settings).columns) {
      if (column.source == Source::kAttribute) out[column.attribute] = column.type;
    }
    return out;
  };
  for (const auto& [name, type] : types()) EXPECT_EQ(type, Type::kText) << name;
  settings.typed = true;
  EXPECT_EQ(types(), (std::map<std::string, Type>{{"cpu", Type::kDouble},
                                                  {"image", Type::kText},
                                                  {"ready", Type::kBoolean},
                                                  {"replicas", Type::kText}}));
}

TEST(Csv, WhatParquetHas) {
  const auto rows = one(R"({"image":"a,b","version":"say \"hi\"\nand go"})");
  EXPECT_EQ(csv(table(rows, default_hot_attributes())),
            "api_version,attr_image,attr_version,attributes,cluster,exported_at,group,"
            "inventory_name,inventory_namespace,kind,name,namespace,target_name,target_namespace,"
            "uid\n"
            "v1,\"a,b\",\"say \"\"hi\"\"\nand go\",\"{\"\"image\"\":\"\"a,b\"\",\"\"version\"\":"
            "\"\"say \\\"\"hi\\\"\"\\nand go\"\"}\",pier-7,2026-02-03T04:05:06.789000Z,apps,"
            "dock-ledger,harbor-ops,Deployment,x,ns,n,t,u\n");
}

TEST(Csv, NullIsNothingAndEmptyIsTwoQuotes) {
  inventory::RowSet rows;
  rows.add({"t", "n", "", " node ", "", "v1", "Node", "u", "{}"});
  rows.seal();
  auto of = table(rows, {});
  of.cluster.clear();
  const auto text = csv(of);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "v1,{},default,2026-02-03T04:05:06.789000Z,,dock-ledger,harbor-ops,Node,\" node \","
            "\"\",n,t,u\n");
}

TEST(Csv, OfNoRowsIsItsHeader) {
  inventory::RowSet rows;
  rows.seal();
  EXPECT_EQ(csv(table(rows, {})),
            "api_version,attributes,cluster,exported_at,group,inventory_name,inventory_namespace,"
            "kind,name,namespace,target_name,target_namespace,uid\n");
}

TEST(Csv, RowsComeBack) {
  for (const auto* name : {"rows", "tricky", "empty", "manifests"}) {
    const auto rows = named_rows(name);
    inventory::RowSet back;
    const auto read = read_csv(csv(table(rows, default_hot_attributes())), back);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    back.seal();
    EXPECT_EQ(back.size(), rows.size());
    EXPECT_EQ(back.checksum(), rows.checksum()) << name;
  }
}

TEST(Csv, OtherTextsAreRefused) {
  for (const std::string text :
       {"", "{\"items\":[]}", "a,b\n1,2\n", "\"api_version\"x,uid\n", "\"api_version\n"}) {
    inventory::RowSet rows;
    const auto read = read_csv(text, rows);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_THAT(read.error().message, HasSubstr("no CSV of an inventory"));
  }
  inventory::RowSet rows;
  inventory::RowSet none;
  none.seal();
  EXPECT_FALSE(read_csv(csv(table(none, {})) + "v1,{}\n", rows).has_value());
}

TEST(Csv, OfManyRowsComesInPieces) {
  inventory::RowSet rows;
  for (int i = 0; i < 2000; ++i) {
    const auto name = fmt::format("row-{:04}", i);
    rows.add({"t", "n", "ns", name, "", "v1", "Pod", name, R"({"image":"a"})"});
  }
  rows.seal();
  std::size_t pieces = 0;
  std::size_t largest = 0;
  std::string all;
  ASSERT_TRUE(write_csv(table(rows, default_hot_attributes()),
                        [&](std::string_view piece) -> base::Result<> {
                          ++pieces;
                          largest = std::max(largest, piece.size());
                          all += piece;
                          return {};
                        })
                  .has_value());
  EXPECT_GT(pieces, 2U);
  EXPECT_LT(largest, 100000U);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2001);
  const auto stopped = write_csv(table(rows, {}), [](std::string_view) -> base::Result<> {
    return base::retryable("no room");
  });
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().message, "no room");
}

TEST(Encoders, OfTables) {
  const auto made = objects::make_encoder(" CSV ", {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->extension(), ".csv");
  EXPECT_EQ((*made)->content_type(), "text/csv; charset=utf-8");
  const auto parquet = objects::make_encoder("parquet", {});
  ASSERT_TRUE(parquet.has_value());
  EXPECT_EQ((*parquet)->extension(), ".parquet");
  EXPECT_EQ((*parquet)->content_type(), "application/vnd.apache.parquet");
  EXPECT_TRUE((*parquet)->compresses());
  EXPECT_EQ((*parquet)->default_template(),
            "inventory/cluster={cluster}/ns={namespace}/name={name}/generation={generation}"
            ".parquet");
  objects::EncoderSettings settings;
  settings.compression = "lz4";
  const auto odd = objects::make_encoder("parquet", settings);
  ASSERT_FALSE(odd.has_value());
  EXPECT_THAT(odd.error().message, HasSubstr("\"lz4\" is none of none, gzip, snappy, zstd"));
}

}  // namespace
}  // namespace kollect::sinks::columns
