// The cases of store_fixture.h. A program includes this once. Only for *test.cc files.
#pragma once

#include "readstore/store_fixture.h"
#include "readstore/store_page_cases.h"

namespace kollect::readstore::contract {

/// What would be SQL, a pattern or a path if it were not a parameter.
inline std::vector<std::string> injections() {
  return {"' OR '1'='1",
          "'; DROP TABLE inventory; --",
          "\" OR 1=1 --",
          "$1",
          "?1",
          "\\",
          "%",
          "_",
          "$.name",
          "x') UNION SELECT 1,2,3,4,5 --",
          "\"]; DELETE FROM inventory",
          std::string("nul\0byte", 8),
          "\xff\xfe not utf-8",
          "{\"a\":1}",
          "[1",
          "E'\\x41'",
          "pg_sleep(10)",
          "${jndi}",
          "\u202e"};
}

TEST_P(StoreContract, NobodySeesMoreThanHisSight) {
  const auto rows = fleet_rows();
  write(rows, 0);
  const auto source = open();
  using List = std::optional<std::vector<std::string>>;
  const std::vector<List> clusters = {std::nullopt, List{{"eu-1"}}, List{{"nowhere", "us-\"2\""}},
                                      List{std::vector<std::string>{}}};
  const std::vector<List> namespaces = {std::nullopt,   List{{"harbor"}},
                                        List{{"yard"}}, List{{"cluster"}},
                                        List{{"quay"}}, List{std::vector<std::string>{}}};
  const auto all = filters();
  std::size_t turn = 0;
  for (const List& some : clusters) {
    for (const List& ours : namespaces) {
      RowRequest request;
      request.sight = {.clusters = some, .namespaces = ours};
      for (int i = 0; i < 9; ++i, ++turn) {
        request.filter = all[turn % all.size()];
        request.order.by = turn % 2 == 0 ? "" : "name";
        const Page want = expected(rows, request);
        const Page got = read(*source, request);
        ASSERT_EQ(got.lines, want.lines);
        ASSERT_EQ(got.total, want.total);
      }
      const auto groups = source->groups(
          context_, {.sight = request.sight, .by = {"cluster", "kind", "name"}, .limit = 1000});
      ASSERT_TRUE(groups.has_value());
      std::uint64_t grouped = 0;
      for (const auto& group : *groups) grouped += group.rows;
      request.filter = {};
      EXPECT_EQ(grouped, expected(rows, request).total);
      const auto inventories = source->inventories(context_, request.sight);
      ASSERT_TRUE(inventories.has_value());
      for (const auto& inventory : *inventories) {
        if (some) {
          EXPECT_THAT(*some, ::testing::Contains(inventory.cluster));
        }
        if (ours) {
          EXPECT_THAT(*ours, ::testing::Contains(inventory.ns.empty() ? "cluster" : inventory.ns));
        }
      }
      const auto changes = source->changes(
          context_, {.filter = {}, .sight = request.sight, .since = {}, .limit = 5000});
      ASSERT_TRUE(changes.has_value()) << changes.error().message;
      EXPECT_EQ(changes->changes.size(), expected(rows, request).total);
      const auto versions = source->versions(context_, {.name = "plain"}, request.sight);
      ASSERT_TRUE(versions.has_value());
      request.filter = {.name = "plain"};
      EXPECT_EQ(versions->size(), expected(rows, request).total);
      request.filter = {};
      request.at = moment(5);
      EXPECT_EQ(read(*source, request).lines, expected(rows, request).lines);
    }
  }
}

TEST_P(StoreContract, TextsFromOutsideAreNothingButTexts) {
  const auto rows = fleet_rows();
  write(rows, 0);
  const auto source = open();
  for (const std::string& text : injections()) {
    std::vector<RowFilter> list = {{.cluster = text},   {.inventory_namespace = text},
                                   {.inventory = text}, {.ns = text},
                                   {.target = text},    {.group = text},
                                   {.version = text},   {.kind = text},
                                   {.name = text},      {.uid = text},
                                   {.search = text}};
    list.push_back({});
    list.back().attributes = {{text, "x"}};
    list.push_back({});
    list.back().attributes = {{"tier", text}};
    for (const RowFilter& filter : list) {
      RowRequest request;
      request.filter = filter;
      const Page want = expected(rows, request);
      const Page got = read(*source, request);
      ASSERT_EQ(got.lines, want.lines) << text;
      if (&filter - list.data() < 4) continue;
      ASSERT_TRUE(
          source->groups(context_, {.filter = filter, .by = {"name"}, .limit = 10}).has_value())
          << text;
      ASSERT_TRUE(source->versions(context_, filter, {}).has_value()) << text;
      request.at = moment(5);
      ASSERT_EQ(read(*source, request).lines, want.lines) << text;
    }
    RowRequest request;
    request.sight.namespaces = {{text}};
    if (base::is_valid_utf8(text) && text.find('\0') == std::string::npos) {
      EXPECT_EQ(read(*source, request).total, 0U) << text;
    }
    request = {};
    request.order.by = text;
    const auto refused = source->rows(context_, request);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kConfiguration);
    request.order.by = "attributes." + text;
    if (base::is_valid_utf8(text) && text.find('\0') == std::string::npos) {
      EXPECT_EQ(read(*source, request).total, rows.size()) << text;
    }
    const auto cursor = source->changes(
        context_, {.filter = {}, .sight = {}, .since = {}, .after = text, .limit = 10});
    ASSERT_FALSE(cursor.has_value()) << text;
    EXPECT_EQ(cursor.error().reason, "BadCursor");
  }
}

TEST_P(StoreContract, GroupsCountWhatTheFilterLeaves) {
  const auto rows = fleet_rows();
  write(rows, 0);
  const auto source = open();
  const auto groups = [&](const RowFilter& filter, const std::vector<std::string>& by,
                          std::size_t limit) {
    return grouped(*source, {.filter = filter, .by = by, .limit = limit});
  };
  EXPECT_EQ(groups({}, {"kind"}, 10), (Lines{"Deployment=72", "Service=72"}));
  EXPECT_EQ(groups({}, {"cluster", "namespace"}, 3),
            (Lines{"eu-1,=24", "eu-1,dock-b=24", "eu-1,quay=24"}));
  EXPECT_EQ(groups({.ns = "quay"}, {"name"}, 2), (Lines{"UPPER=8", "per%cent=8"}));
  EXPECT_EQ(groups({}, {"attributes.replicas"}, 2), (Lines{"0=29", "1=29"}));
  EXPECT_EQ(groups({.search = "gold"}, {"attributes.tier", "kind"}, 9),
            (Lines{"Gold,Deployment=20", "Gold,Service=16"}));
  EXPECT_EQ(groups({}, {"attributes.flag"}, 9), (Lines{"false=72", "true=72"}));
  EXPECT_EQ(groups({}, {"attributes.none"}, 9), (Lines{"=144"}));
  EXPECT_EQ(groups({.cluster = "nowhere"}, {"kind"}, 9), Lines{});
  const auto refused = source->groups(context_, {.by = {"colour"}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("there is no column colour"));
}

TEST_P(StoreContract, TheStateChangesWithTheRowsAndOnlyThen) {
  auto rows = fleet_rows();
  write(rows, 0);
  const auto source = open();
  const auto first = source->state(context_).value();
  EXPECT_EQ(source->state(context_).value(), first);
  EXPECT_EQ(read(*source, {}).state, first);
  rows.front().row.attributes = R"({"replicas":9})";
  rows.erase(rows.begin() + 1);
  rows.push_back(rows.back());
  rows.back().row.name = "new";
  rows.back().row.ns = "new-ns";
  rows.back().row.uid = "uid-new";
  write(rows, 10);
  const Page after = read(*source, {});
  EXPECT_NE(after.state, first);
  EXPECT_EQ(after.state, source->state(context_).value());
  EXPECT_EQ(after.lines, expected(rows, {}).lines);
  EXPECT_EQ(after.total, rows.size());
  const auto cursor = source->rows(context_, {}).value();
  EXPECT_EQ(cursor->updated_at(), moment(10));
}

TEST_P(StoreContract, RowsCarryTheirWholeContent) {
  StoreRow row;
  row.name = "big";
  row.uid = "uid-big";
  row.attributes =
      R"({"big":9007199254740993,"float":1.5,"html":"\u003cb\u003e","list":[1,"two",null],"nested":{"a":{"b":true}},"nothing":null})";
  write({{"eu-1", "harbor", "ledger", row}}, 0);
  const auto source = open();
  const auto cursor = source->rows(context_, {}).value();
  const auto found = cursor->next().value();
  if (!found) FAIL() << "no row";
  EXPECT_EQ(found->row.attributes, row.attributes);
  EXPECT_EQ(found->row.group, "apps");
  EXPECT_EQ(found->row.version, "v1");
  EXPECT_EQ(found->row.kind, "Deployment");
  EXPECT_EQ(found->exported_at, base::format_rfc3339(moment(0)));
  EXPECT_EQ(cursor->updated_at(), moment(0));
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"big", "9007199254740993"},
                                                        {"float", "1.5"},
                                                        {"html", "<b>"},
                                                        {"list", "[1, \"two\", null]"},
                                                        {"nested", R"({"a":{"b":true}})"},
                                                        {"nothing", "null"}}) {
    RowRequest request;
    request.filter.attributes = {{name, text}};
    EXPECT_EQ(read(*source, request).total, 1U) << name;
  }
  RowRequest request;
  request.filter.attributes = {{"big", "9007199254740992"}};
  EXPECT_EQ(read(*source, request).total, 0U);
}

TEST_P(StoreContract, HistoryTellsWhatWasAndWhatChanged) {
  std::vector<Placed> rows = {{"eu-1", "harbor", "ledger", {.name = "a", .uid = "u-a"}},
                              {"eu-1", "harbor", "ledger", {.name = "b", .uid = "u-b"}}};
  rows[0].row.attributes = R"({"n":1})";
  write(rows, 0);
  rows[0].row.attributes = R"({"n":2})";
  write(rows, 10);
  const auto two = rows;
  rows.erase(rows.begin());
  write(rows, 20);
  const auto source = open();
  ASSERT_TRUE(source->abilities().history);
  const auto at = [&](int second) {
    RowRequest request;
    request.at = moment(second);
    return read(*source, request);
  };
  EXPECT_EQ(at(-1).lines, Lines{});
  EXPECT_EQ(at(5).lines, expected(two, {}).lines);
  EXPECT_EQ(at(10).total, 2U);
  EXPECT_EQ(at(25).lines, expected(rows, {}).lines);
  EXPECT_NE(at(5).state, at(25).state);
  const auto groups = [&](int second, const RowFilter& filter) {
    return grouped(*source,
                   {.filter = filter, .by = {"attributes.n", "name"}, .at = moment(second)});
  };
  EXPECT_EQ(groups(-1, {}), Lines{});
  EXPECT_EQ(groups(5, {}), (Lines{",b=1", "1,a=1"}));
  EXPECT_EQ(groups(15, {}), (Lines{",b=1", "2,a=1"}));
  EXPECT_EQ(groups(15, {.name = "a"}), (Lines{"2,a=1"}));
  EXPECT_EQ(groups(25, {}), (Lines{",b=1"}));

  Lines told;
  std::string after;
  int pages = 0;
  do {
    const auto page = source->changes(
        context_, {.filter = {}, .sight = {}, .since = moment(-1), .after = after, .limit = 1});
    ASSERT_TRUE(page.has_value()) << page.error().message;
    for (const auto& one : page->changes) {
      const auto row = base::json::Document::parse(one.row).value();
      told.push_back(
          fmt::format("{} {} {} {}", one.at, one.change, row.root().text("name"), one.before));
    }
    after = page->next;
    ASSERT_LT(++pages, 10);
  } while (!after.empty());
  EXPECT_EQ(told, (Lines{"2023-11-14T22:13:20Z appeared a ", "2023-11-14T22:13:20Z appeared b ",
                         R"(2023-11-14T22:13:30Z changed a {"n":1})",
                         R"(2023-11-14T22:13:40Z went a {"n":2})"}));
  const auto some = source->changes(context_, {.filter = {.name = "a"},
                                               .sight = {},
                                               .since = moment(0),
                                               .until = moment(10),
                                               .after = {},
                                               .limit = 10});
  ASSERT_EQ(some->changes.size(), 1U);
  EXPECT_EQ(some->changes[0].change, "changed");
  EXPECT_EQ(some->next, "");

  const auto versions = source->versions(context_, {.uid = "u-a"}, {}).value();
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].began + versions[0].ended, "appearedchanged");
  EXPECT_EQ(versions[1].began + versions[1].ended, "changedwent");
  EXPECT_EQ(versions[1].valid_to, "2023-11-14T22:13:40Z");
  EXPECT_THAT(versions[1].row, ::testing::HasSubstr(R"("attributes":{"n":2})"));
  const auto standing = source->versions(context_, {.uid = "u-b"}, {}).value();
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_EQ(standing[0].valid_to, "");
}

TEST_P(StoreContract, WithoutHistoryItSaysSo) {
  write(fleet_rows(), 0);
  const auto source = open();
  for (const char* view : {"inventory_changes", "inventory_versions"}) {
    world_->run(
        fmt::format("DROP VIEW IF EXISTS {}{}", view, world_->postgres() ? " CASCADE" : ""));
  }
  world_->run("DROP TABLE inventory_history");
  RowRequest request;
  request.at = moment(5);
  const auto rows = source->rows(context_, request);
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().reason, "NoHistory");
  EXPECT_EQ(source->changes(context_, {}).error().reason, "NoHistory");
  EXPECT_EQ(source->versions(context_, {}, {}).error().reason, "NoHistory");
  EXPECT_EQ(read(*source, {}).total, 144U);
  EXPECT_FALSE(source->abilities().history);
}

TEST_P(StoreContract, RowsWithoutATableOfExportsAreReadAllTheSame) {
  const auto rows = fleet_rows();
  write(rows, 0);
  world_->run("DROP TABLE inventory_exports");
  const auto source = open();
  const Page got = read(*source, {});
  EXPECT_EQ(got.lines, expected(rows, {}).lines);
  EXPECT_EQ(source->inventories(context_, {}).value().size(), 4U);
  world_->run("DELETE FROM inventory WHERE cluster = 'eu-1'");
  const Page after = read(*source, {});
  EXPECT_EQ(after.total, 72U);
  EXPECT_NE(after.state, got.state);
}

TEST_P(StoreContract, RowsOfAnInventoryThatNoExportTellsOfAreThere) {
  const auto rows = fleet_rows();
  write(rows, 0);
  world_->run("DELETE FROM inventory_exports WHERE cluster = 'eu-1'");
  const auto source = open();
  EXPECT_EQ(read(*source, {}).lines, expected(rows, {}).lines);
}

TEST_P(StoreContract, InventoriesAreAsTheirLastExportLeftThem) {
  write(fleet_rows(), 0);
  const auto source = open();
  Lines lines;
  const auto inventories = source->inventories(context_, {}).value();
  for (const auto& one : inventories) {
    lines.push_back(fmt::format("{}|{}|{}|{}|{}|{}", one.cluster, one.ns, one.name, one.rows,
                                one.exported_at, one.generation));
    EXPECT_FALSE(one.checksum.empty());
  }
  EXPECT_EQ(lines, (Lines{"eu-1||all|36|2023-11-14T22:13:20Z|3",
                          "eu-1|harbor|ledger|36|2023-11-14T22:13:20Z|3",
                          "us-\"2\"||all|36|2023-11-14T22:13:20Z|3",
                          "us-\"2\"|harbor|ledger|36|2023-11-14T22:13:20Z|3"}));
}

TEST_P(StoreContract, ATableThatIsNotThereIsNamed) {
  write(fleet_rows(), 0);
  const auto source = open();
  if (world_->postgres()) world_->run("DROP TABLE inventory CASCADE");
  if (!world_->postgres()) world_->run("ALTER TABLE inventory RENAME TO gone");
  const auto missing = source->rows(context_, {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("no table inventory"));
}

TEST_P(StoreContract, ACancelledRequestEnds) {
  write(fleet_rows(), 0);
  const auto source = open();
  std::stop_source stop;
  const auto context = context_.with_stop(stop.get_token());
  auto cursor = source->rows(context, {.limit = 0});
  ASSERT_TRUE(cursor.has_value());
  ASSERT_TRUE((*cursor)->next().value().has_value());
  cursor->reset();  // half read: the session is given back all the same
  stop.request_stop();
  const auto refused = source->rows(context, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kCancelled);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(*source, {}).total, 144U);
}

}  // namespace kollect::readstore::contract
