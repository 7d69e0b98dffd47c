// What every sink with one record per row must do, as tests that run against each of them. Included
// once in a test program; files of backends include contract.h and give theirs with
// INSTANTIATE_TEST_SUITE_P.
// Cases: spec sinks 11.2, 11.3 (K-43, K-45), P-9, X-9; field-one-key-twice-in-a-batch,
// field-recreated-under-the-same-name, field-integers-past-2-to-53.
#pragma once

#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "sinks/rows/contract.h"

namespace kollect::sinks::rows::contract {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(RowSinkContract, ColumnsOfARow) {
  const auto set = set_of({{"crane-01", R"({"image":"a"})"}, {"node-01", "{}", ""}});
  EXPECT_EQ(write(set, head(0)).written, 2U);
  EXPECT_EQ(world_->ask("SELECT inventory_namespace, inventory_name, target_name, source_uid, "
                        "cluster, resource_namespace, " +
                        world_->attribute("image") + ", " + world_->seconds("exported_at") +
                        " FROM inventory ORDER BY source_uid"),
            (Lines{"harbor|ledger|cranes|uid-crane-01|pier-7|quay|a|1700000000",
                   // A cluster-scoped object stands under the inventory's namespace.
                   "harbor|ledger|cranes|uid-node-01|pier-7|harbor||1700000000"}));
  if (!world_->notes_exports()) return;
  EXPECT_EQ(world_->ask("SELECT cluster, inventory_namespace, inventory_name, generation, "
                        "item_count, checksum, " +
                        world_->seconds("exported_at") + " FROM inventory_exports"),
            Lines{"pier-7|harbor|ledger|3|2|" + set.checksum() + "|1700000000"});
}

TEST_P(RowSinkContract, UnchangedRowsAreNotRewritten) {  // K-45
  write(set_of({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}, {"c", R"({"n":1})"}}), head(0));
  const auto second = set_of({{"a", R"({"n":1})"}, {"b", R"({"n":2})"}, {"d", R"({"n":1})"}});
  const auto report = write(second, head(10));
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(world_->ask("SELECT source_uid, " + world_->seconds("exported_at") +
                        " FROM inventory ORDER BY 1"),
            (Lines{"uid-a|1700000000", "uid-b|1700000010", "uid-d|1700000010"}));
  const auto third = write(second, head(20));
  EXPECT_EQ(third.written + third.removed + third.bytes, 0U);
  EXPECT_EQ(third.unchanged, 3U);
  if (!world_->notes_exports()) return;
  EXPECT_EQ(world_->ask("SELECT " + world_->seconds("exported_at") + " FROM inventory_exports"),
            Lines{"1700000020"});
}

TEST_P(RowSinkContract, OtherClustersAndInventoriesStay) {  // K-43
  const auto set = set_of({{"a"}});
  auto other = head(0);
  other.inventory.name = "other";
  write(set, head(0, "pier-7"));
  write(set, head(0, "pier-8"));
  write(set, other);
  EXPECT_EQ(write(set_of({}), head(1, "pier-7")).removed, 1U);
  EXPECT_EQ(world_->ask("SELECT cluster, inventory_name FROM inventory ORDER BY 1, 2"),
            (Lines{"pier-7|other", "pier-8|ledger"}));
}

TEST_P(RowSinkContract, SeveralInventoriesOfOneRun) {
  const auto first = set_of({{"a"}});
  const auto second = set_of({{"a"}, {"b"}});
  auto one = head(0);
  auto two = head(0);
  one.rows = &first;
  two.rows = &second;
  two.inventory.name = "other";
  const auto report = must(sink_->export_all(context_, {one, two}, false));
  EXPECT_EQ(report.written, 3U);
  EXPECT_EQ(count("inventory"), "3");
  if (!world_->notes_exports()) return;
  EXPECT_EQ(count("inventory_exports"), "2");
}

TEST_P(RowSinkContract, WhatCouldNotBeReadStays) {  // P-9, X-9
  write(set_of({{"a"},
                {"b", "{}", "lab"},
                {"c", "{}", ""},
                {"d", "{}", "quay", "", "cold"},
                {"e", "{}", "quay", "", "lost"}}),
        head(0));
  const auto none = set_of({});
  auto exp = head(1);
  exp.keep_namespaces = {"lab", "harbor"};  // the cluster-scoped row is in no namespace
  exp.keep_targets = {"cold", "harbor/lost"};
  const auto report = write(none, exp);
  EXPECT_EQ(report.removed, 2U);
  EXPECT_EQ(report.unchanged, 3U);
  EXPECT_EQ(world_->ask("SELECT source_uid FROM inventory ORDER BY 1"),
            (Lines{"uid-b", "uid-d", "uid-e"}));
}

TEST_P(RowSinkContract, NamespacesThatATargetCannotReadStay) {
  write(set_of({{"a", "{}", "lab", "", "web"},
                {"b", "{}", "quay", "", "web"},
                {"c", "{}", "lab", "", "db"},
                {"d", "{}", "lab", "", "mail"}}),
        head(0));
  auto exp = head(1);
  exp.keep_parts = {{.target = "web", .ns = "lab"}, {.target = "harbor/db", .ns = "lab"}};
  EXPECT_EQ(write(set_of({}), exp).removed, 2U);
  EXPECT_EQ(world_->ask("SELECT source_uid FROM inventory ORDER BY 1"), (Lines{"uid-a", "uid-c"}));
}

TEST_P(RowSinkContract, OneKeyTwiceInASet) {
  const auto set = set_of({{"a", R"({"n":1})", "quay", "u", "t", "ns-1"},
                           {"a", R"({"n":2})", "quay", "u", "t", "ns-2"},
                           {"b", R"({"n":3})", "quay", "v", "t", "ns-1"}});
  const auto report = write(set, head(0));
  EXPECT_EQ(report.written, 2U);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings[0], HasSubstr("harbor/ledger: 1 rows of targets of one name"));
  EXPECT_EQ(write(set, head(1)).written, 0U);
  EXPECT_EQ(uids_and_n(), (Lines{"u|2", "v|3"}));
  if (world_->history()) {
    EXPECT_EQ(count("inventory_history"), "2");
  }
}

TEST_P(RowSinkContract, DryRunWritesNothing) {
  using What = ExportReport::Change::What;
  const auto first = set_of({{"a", R"({"n":1})"}, {"b"}});
  const auto before = write(first, head(0), true);
  ASSERT_EQ(before.changes.size(), 1U);
  EXPECT_EQ(before.changes[0].what, What::kCreate);
  EXPECT_EQ(before.changes[0].rows, 2U);
  write(first, head(0));
  const auto report = write(set_of({{"a", R"({"n":2})"}, {"c"}}), head(1), true);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(report.changes.at(0).what, What::kUpdate);
  EXPECT_EQ(write(first, head(1), true).changes.at(0).what, What::kUnchanged);
  EXPECT_EQ(uids_and_n(), (Lines{"uid-a|1", "uid-b|"}));
}

TEST_P(RowSinkContract, ChangesAloneAreApplied) {
  put({"a", R"({"n":1})"});
  put({"b", R"({"n":1})"});
  put({"c", R"({"n":1})"});
  EXPECT_EQ(reconcile(0).written, 3U);
  EXPECT_TRUE(sink_->takes_changes());
  put({"b", R"({"n":2})"});
  remove({"c"});
  put({"d", R"({"n":4})"});
  const auto report = delta(10);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(uids_and_n(), (Lines{"uid-a|1", "uid-b|2", "uid-d|4"}));
  EXPECT_EQ(world_->ask("SELECT source_uid, " + world_->seconds("exported_at") +
                        " FROM inventory ORDER BY 1"),
            (Lines{"uid-a|1700000000", "uid-b|1700000010", "uid-d|1700000010"}));
  if (world_->notes_exports()) {
    EXPECT_EQ(world_->ask("SELECT item_count, checksum FROM inventory_exports"),
              Lines{"3|set:" + reader_->set_hash()});
  }
  const auto again = reconcile(20);
  EXPECT_EQ(again.written + again.removed, 0U);
  EXPECT_EQ(again.unchanged, 3U);
}

TEST_P(RowSinkContract, ARepeatedDeltaWritesNothing) {
  put({"a", R"({"n":1})"});
  must(try_reconcile(0));
  put({"a", R"({"n":2})"});
  const auto changes = reader_->changes();
  const Pass pass{head(1), nullptr, &changes, 1, "x"};
  EXPECT_EQ(must(sink_->apply(context_, pass)).written, 1U);
  const auto again = must(sink_->apply(context_, pass));
  EXPECT_EQ(again.written, 0U);
  EXPECT_EQ(again.unchanged, 1U);
}

// field-one-key-twice-in-a-batch: rows, one-write, order
TEST_P(RowSinkContract, OneKeyTwiceInABatch) {
  const auto n = [](int value) { return "{\"n\":" + std::to_string(value) + "}"; };
  const auto row = [&](const char* target, const char* uid, int value) {
    return TestRow{uid, n(value), "quay", uid, target};
  };
  must(try_reconcile(0));
  put(row("a", "u1", 1));
  put(row("a", "u1", 2));
  put(row("b", "u1", 9));
  put(row("a", "u2", 1));
  remove(row("a", "u2", 1));
  put(row("a", "u3", 1));
  remove(row("a", "u3", 1));
  put(row("a", "u3", 5));
  EXPECT_EQ(delta(1).written, 3U);
  EXPECT_EQ(world_->ask("SELECT target_name, source_uid, " + world_->attribute("n") +
                        " FROM inventory ORDER BY 1, 2"),
            (Lines{"a|u1|2", "a|u3|5", "b|u1|9"}));
}

// field-recreated-under-the-same-name: one-row
TEST_P(RowSinkContract, RecreatedUnderTheSameName) {
  const TestRow old_row{"job", R"({"n":"old"})", "quay", "u1"};
  const TestRow new_row{"job", R"({"n":"new"})", "quay", "u2"};
  for (const char variant : {'A', 'B', 'C', 'D'}) {
    put(old_row);
    must(try_reconcile(0));
    remove(old_row);
    if (variant == 'D') must(try_delta(1));  // between the two events
    put(new_row);
    must(variant == 'B' ? try_reconcile(2) : try_delta(2));
    EXPECT_EQ(uids_and_n(), Lines{"u2|new"}) << variant;
    remove(new_row);
    must(try_delta(3));
    EXPECT_EQ(count("inventory"), "0");
  }
}

TEST_P(RowSinkContract, TargetsThatShareAnObject) {
  const TestRow first{"a", R"({"n":1})", "quay", "u", "t", "ns-1"};
  const TestRow second{"a", R"({"n":2})", "quay", "u", "t", "ns-2"};
  put(first);
  must(try_reconcile(0));
  put(second);
  // Changes alone do not tell which row counts.
  const auto report = try_delta(1);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "rows-needed");
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable);
  EXPECT_FALSE(sink_->takes_changes());
  EXPECT_EQ(uids_and_n(), Lines{"u|1"});
  must(try_delta(2, true));
  EXPECT_EQ(uids_and_n(), Lines{"u|2"});
  EXPECT_FALSE(sink_->takes_changes());
  // The row that counted goes: the other one is there again.
  remove(second);
  must(try_delta(3, true));
  EXPECT_EQ(uids_and_n(), Lines{"u|1"});
  EXPECT_TRUE(sink_->takes_changes());
  EXPECT_EQ(delta(4).written, 0U);
}

TEST_P(RowSinkContract, SharedObjectMetWithAllRowsAtHand) {
  put({"a", R"({"n":1})", "quay", "u", "t", "ns-1"});
  put({"a", R"({"n":2})", "quay", "u", "t", "ns-2"});
  must(try_reconcile(0));
  EXPECT_EQ(uids_and_n(), Lines{"u|2"});
  remove({"a", R"({"n":1})", "quay", "u", "t", "ns-1"});
  must(try_delta(1, true));
  EXPECT_EQ(uids_and_n(), Lines{"u|2"});
}

TEST_P(RowSinkContract, ATableChangedByOthersIsPutRight) {
  for (const char* name : {"a", "b", "c"}) put({name, R"({"n":1})"});
  must(try_reconcile(0));
  world_->run("DELETE FROM inventory WHERE source_uid = 'uid-a'");
  world_->run(
      "UPDATE inventory SET payload = '{\"namespace\": \"quay\"}' WHERE source_uid = 'uid-b'");
  world_->run(
      "INSERT INTO inventory SELECT inventory_namespace, inventory_name, target_name, 'stray', "
      "cluster, resource_namespace, payload, exported_at FROM inventory WHERE source_uid = "
      "'uid-c'");
  const auto report = reconcile(1);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(uids_and_n(), (Lines{"uid-a|1", "uid-b|1", "uid-c|1"}));
}

TEST_P(RowSinkContract, AnEmptiedInventoryHasNoRows) {
  for (int i = 0; i < 100; ++i) put({"row-" + std::to_string(i)});
  must(try_reconcile(0));
  store_.drop({inventory::OwnerClass::kTarget, "harbor", "cranes"});
  EXPECT_EQ(delta(1).removed, 100U);
  EXPECT_EQ(count("inventory"), "0");
  put({"a"});
  must(try_reconcile(2));
  EXPECT_EQ(write(set_of({}), head(3)).removed, 1U);
}

TEST_P(RowSinkContract, OddTextsSurvive) {
  const std::string attributes =
      R"({"big":18446744073709551615,"e":1e+21,"f":-0.5,"list":[],"m":{},"s":"\u0001 \" \\ / \u2028 \u003c 😀","t":1e-7})";
  const auto set =
      set_of({{"a", attributes, "quay", "o'b\"rien %s \\ |"}, {"b", "{}", "quay", "b"}});
  EXPECT_EQ(write(set, head(0)).written, 2U);
  EXPECT_EQ(write(set, head(1)).unchanged, 2U);
  EXPECT_EQ(
      world_->ask("SELECT " + world_->attribute("big") + " FROM inventory WHERE source_uid <> 'b'"),
      Lines{"18446744073709551615"});
}

// field-integers-past-2-to-53: postgres, hash
TEST_P(RowSinkContract, IntegersPast2To53) {
  const auto with_odd = [](std::string_view odd) {
    return TestRow{
        "b",
        fmt::format(
            R"({{"big":18446744073709551615,"digits":"00420","hexText":"0x1F","max":9223372036854775807,)"
            R"("million":1000000,"min":-9223372036854775808,"odd":{},"text":"1e3"}})",
            odd)};
  };
  const std::vector<std::string> names = {"digits", "hexText", "max",  "million",
                                          "min",    "odd",     "text", "big"};
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + world_->attribute(name);
  const auto values = [&] { return world_->ask("SELECT " + all + " FROM inventory"); };
  const auto line = [](std::string_view odd) {
    return Lines{
        fmt::format("00420|0x1F|9223372036854775807|1000000|-9223372036854775808|{}|1e3|"
                    "18446744073709551615",
                    odd)};
  };
  put(with_odd("9007199254740993"));
  EXPECT_EQ(reconcile(0).written, 1U);
  EXPECT_EQ(values(), line("9007199254740993"));
  const std::string before = reader_->set_hash();
  // One more or less is another number, in the changes and in a comparison.
  put(with_odd("9007199254740992"));
  EXPECT_NE(reader_->set_hash(), before);
  EXPECT_EQ(delta(1).written, 1U);
  EXPECT_EQ(values(), line("9007199254740992"));
  put(with_odd("9007199254740993"));
  EXPECT_EQ(reader_->set_hash(), before);
  EXPECT_EQ(reconcile(2).written, 1U);
  EXPECT_EQ(values(), line("9007199254740993"));
}

TEST_P(RowSinkContract, RowsWithoutUidHaveAKeyOfTheirOwn) {
  inventory::RowSet set;
  set.add({"harbor", "t", "quay", "a", "apps", "v1", "Deployment", "", "{}"});
  set.add({"harbor", "t", "quay", "b", "", "v1", "Pod", "", "{}"});
  set.seal();
  EXPECT_EQ(write(set, head(0)).written, 2U);
  EXPECT_EQ(write(set, head(1)).unchanged, 2U);
  EXPECT_EQ(world_->ask("SELECT source_uid FROM inventory ORDER BY 1"),
            (Lines{"/Pod/quay/b", "apps/Deployment/quay/a"}));
}

TEST_P(RowSinkContract, AComparisonGivesWayUnlessItHasSomethingToWrite) {
  for (int i = 0; i < 2000; ++i) put({"row-" + std::to_string(i), R"({"n":1})"});
  std::stop_source asked;
  asked.request_stop();
  EXPECT_EQ(must(try_reconcile(0, asked.get_token())).written, 2000U);
  const auto gave = try_reconcile(1, asked.get_token());
  ASSERT_FALSE(gave.has_value());
  EXPECT_EQ(gave.error().reason, gave_way().reason);
  EXPECT_EQ(gave.error().kind, base::ErrorKind::kCancelled);
  put({"row-7", R"({"n":2})"});
  EXPECT_EQ(delta(2).written, 1U);
  EXPECT_EQ(must(try_reconcile(3, std::stop_source().get_token())).unchanged, 2000U);
  EXPECT_EQ(count("inventory"), "2000");
}

TEST_P(RowSinkContract, ACancelledPassChangesNothing) {
  std::vector<TestRow> list;
  for (int i = 0; i < 600; ++i) list.push_back({"row-" + std::to_string(i), R"({"n":1})"});
  write(set_of(list), head(0));
  for (auto& row : list) row.attributes = R"({"n":2})";
  std::stop_source stop;
  const base::SystemClock clock;
  const base::Context context(clock, stop.get_token());
  const auto set = set_of(list);
  auto exp = head(1);
  exp.rows = &set;
  stop.request_stop();
  const auto report = sink_->export_all(context, {exp}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kCancelled);
  EXPECT_EQ(world_->ask("SELECT count(*), min(" + world_->attribute("n") + "), max(" +
                        world_->attribute("n") + ") FROM inventory"),
            Lines{"600|1|1"});
  EXPECT_EQ(write(set, head(2)).written, 600U);
}

TEST_P(RowBulkContract, FiftyThousandRows) {
  for (int i = 0; i < 50'000; ++i) put({fmt::format("row-{:05}", i), R"({"n":"1"})"});
  EXPECT_EQ(reconcile(0).written, 50'000U);
  EXPECT_EQ(count("inventory"), "50000");
  put({"row-00077", R"({"n":"2"})"});
  remove({"row-00078"});
  const auto report = delta(1);
  EXPECT_EQ(report.written, 1U);
  EXPECT_EQ(report.removed, 1U);
  // Another process finds nothing to do.
  sink_ = world_->make_sink();
  const auto again = reconcile(2);
  EXPECT_EQ(again.unchanged, 49'999U);
  EXPECT_EQ(again.written + again.removed + again.bytes, 0U);
  const auto n = world_->attribute("n");
  EXPECT_EQ(world_->ask("SELECT count(*), count(DISTINCT source_uid), min(" + n + "), max(" + n +
                        ") FROM inventory"),
            Lines{"49999|49999|1|2"});
}

TEST_P(RowSinkContract, ALargeRowIsWrittenWholeOrNamed) {
  put({"a", R"({"n":"1"})"});
  must(try_reconcile(0));
  const std::string text(std::size_t{17} << 20U, 'x');
  const TestRow large{"large", fmt::format(R"({{"text":"{}"}})", text)};
  put(large);
  put({"b", R"({"n":"1"})"});
  const auto report = try_delta(1);
  if (world_->row_limit() > 0) {
    ASSERT_LT(world_->row_limit(), text.size());
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
    EXPECT_EQ(report.error().reason, "row-too-large");
    EXPECT_THAT(report.error().message, HasSubstr("quay/large"));
    EXPECT_LT(report.error().message.size(), 1000U);
    EXPECT_FALSE(try_reconcile(2).has_value());
  } else {
    EXPECT_EQ(must(report).written, 2U);
    EXPECT_EQ(world_->ask("SELECT length(" + world_->attribute("text") +
                          ") FROM inventory WHERE source_uid = 'uid-large'"),
              Lines{std::to_string(text.size())});
    EXPECT_EQ(reconcile(2).unchanged, 3U);
  }
  remove(large);
  must(try_reconcile(3));
  EXPECT_EQ(uids_and_n(), (Lines{"uid-a|1", "uid-b|1"}));
}

TEST_P(RowHistoryContract, HistoryOfRows) {
  write(set_of({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}, {"c", R"({"n":1})"}}), head(0));
  write(set_of({{"a", R"({"n":1})"}, {"b", R"({"n":2})"}, {"d", R"({"n":1})"}}), head(10));
  write(set_of({{"a", R"({"n":1})"}, {"b", R"({"n":2})"}, {"c", R"({"n":3})"}}), head(20));
  EXPECT_EQ(
      world_->ask("SELECT source_uid, began, coalesce(ended, '-'), " +
                  world_->seconds("valid_from") + " - 1700000000, coalesce(" +
                  world_->seconds("valid_to") +
                  " - 1700000000, -1) FROM inventory_history "
                  "ORDER BY source_uid, valid_from"),
      (Lines{"uid-a|appeared|-|0|-1", "uid-b|appeared|changed|0|10", "uid-b|changed|-|10|-1",
             "uid-c|appeared|went|0|10", "uid-c|appeared|-|20|-1", "uid-d|appeared|went|10|20"}));
  const auto n = [&](const std::string& column) {
    return "coalesce(" + world_->view_attribute(column, "n") + ", '-')";
  };
  EXPECT_EQ(world_->ask("SELECT change, name, " + n("before") + ", " + n("after") +
                        " FROM inventory_changes WHERE at > " + world_->moment(5) +
                        " AND at <= " + world_->moment(15) + " ORDER BY name"),
            (Lines{"changed|b|1|2", "went|c|1|-", "appeared|d|-|1"}));
  EXPECT_EQ(
      world_->ask("SELECT name, " + world_->view_attribute("attributes", "n") +
                  " FROM inventory_versions WHERE valid_from <= " + world_->moment(12) +
                  " AND (valid_to IS NULL OR valid_to > " + world_->moment(12) + ") ORDER BY name"),
      (Lines{"a|1", "b|2", "d|1"}));
  EXPECT_EQ(world_->ask("SELECT kind, api_group, version, namespace, name FROM inventory_rows "
                        "ORDER BY name"),
            (Lines{"Deployment|apps|v1|quay|a", "Deployment|apps|v1|quay|b",
                   "Deployment|apps|v1|quay|c"}));
}

TEST_P(RowHistoryContract, AClockSetBackGivesNoBackwardVersions) {
  write(set_of({{"a", R"({"n":1})"}}), head(100));
  write(set_of({{"a", R"({"n":2})"}}), head(0));
  EXPECT_EQ(world_->ask("SELECT count(*) FROM inventory_history WHERE valid_to > valid_from"),
            Lines{"1"});
}

/// Random changes, random kinds of passes, restarts: the table always ends as the store is, and the
/// history knows every state in between.
TEST_P(RowSinkContract, RandomPassesConverge) {
  std::mt19937 random(20'240'607);
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  std::map<std::string, int> truth;
  std::map<int, std::map<std::string, int>> states;
  must(try_reconcile(0));
  for (int second = 1; second <= 40; ++second) {
    for (int i = pick(30); i > 0; --i) {
      const std::string name = "row-" + std::to_string(pick(60));
      if (pick(3) == 0) {
        if (truth.erase(name) > 0) remove({name});
      } else {
        truth[name] = pick(4);
        put({name, "{\"n\":" + std::to_string(truth[name]) + "}"});
      }
    }
    if (pick(6) == 0) {
      sink_ = world_->make_sink();
      must(try_reconcile(second));
    } else {
      must(pick(4) == 0 ? try_reconcile(second) : try_delta(second));
    }
    states[second] = truth;
    Lines expected;
    for (const auto& [name, n] : truth) expected.push_back(name + "|" + std::to_string(n));
    const std::string query =
        "SELECT substr(source_uid, 5), " + world_->attribute("n") + " FROM inventory";
    ASSERT_THAT(world_->ask(query), testing::UnorderedElementsAreArray(expected)) << second;
  }
  if (!world_->history()) return;
  for (const int second : {3, 11, 25, 39}) {
    Lines expected;
    for (const auto& [name, n] : states[second]) expected.push_back(name + "|" + std::to_string(n));
    EXPECT_THAT(
        world_->ask("SELECT name, " + world_->view_attribute("attributes", "n") +
                    " FROM inventory_versions WHERE valid_from <= " + world_->moment(second) +
                    " AND (valid_to IS NULL OR valid_to > " + world_->moment(second) + ")"),
        testing::UnorderedElementsAreArray(expected))
        << second;
  }
}

}  // namespace kollect::sinks::rows::contract
