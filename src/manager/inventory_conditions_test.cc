// The tables of runtime 7.3, a row a case.
#include "manager/inventory_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/value.h"
#include "base/json/write.h"

namespace kollect::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using base::json::Object;
using base::json::Value;

SinkFact good(std::string name) {
  return {.name = std::move(name), .exported = true};
}
SinkFact failing(std::string name, base::Error error) {
  return {.name = std::move(name), .exported = true, .error = std::move(error)};
}
SinkFact broken(std::string name, base::Error error) {
  return {.name = std::move(name), .unusable = std::move(error)};
}

struct Outcome {
  std::vector<std::string> conditions;  ///< "Ready=True/Exported", sorted by type
  std::vector<std::string> events;      ///< "Warning ExportFailed"
};

Outcome outcome_of(const InventoryFacts& facts, StatusDraft& draft) {
  Outcome outcome;
  for (const Told& told : set_conditions(draft, facts)) {
    if (!told.reason.empty()) {
      outcome.events.push_back((told.warning ? "Warning " : "Normal ") + told.reason);
    }
  }
  if (const Value* list = draft.field("conditions")) {
    for (const Value& one : list->as_array()) {
      outcome.conditions.push_back(std::string(one.text("type")) + "=" +
                                   std::string(one.text("status")) + "/" +
                                   std::string(one.text("reason")));
    }
  }
  return outcome;
}
Outcome outcome_of(const InventoryFacts& facts) {
  StatusDraft draft(Value(Object()), base::WallTime{});
  return outcome_of(facts, draft);
}

TEST(InventoryConditions, EverySinkExported) {
  const auto outcome = outcome_of({.rows = 7, .sinks = {good("database/pg"), good("snapshot/g")}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/Exported", "Synced=True/Exported",
                                   "SinkReachable=True/ExportSucceeded"));
  EXPECT_THAT(outcome.events, ElementsAre("Normal ExportSucceeded"));
}

TEST(InventoryConditions, SomeExportedSomeSkipped) {
  const auto outcome =
      outcome_of({.wrote_partially = true, .sinks = {good("database/pg"), good("snapshot/g")}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/Exported", "Synced=False/PartiallySynced",
                                   "SinkReachable=True/ExportSucceeded"));
}

TEST(InventoryConditions, SomeFailedSomeExported) {
  const auto outcome = outcome_of(
      {.sinks = {good("database/pg"), failing("snapshot/g", base::retryable("no route"))}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/PartiallySynced", "Synced=False/PartiallySynced",
                                   "SinkReachable=False/ExportFailed"));
  EXPECT_THAT(outcome.events, ElementsAre("Warning ExportFailed"));
}

TEST(InventoryConditions, AllFailedOneOfThemTransient) {
  const auto outcome =
      outcome_of({.sinks = {failing("database/pg", base::terminal("no such table")),
                            failing("snapshot/g", base::retryable("no route"))}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Degraded=True/Progressing", "Synced=False/Progressing",
                                   "SinkReachable=False/ExportFailed"));
  EXPECT_THAT(outcome.events, ElementsAre("Warning Progressing"));
}

TEST(InventoryConditions, AllFailedAllTerminal) {
  const auto outcome =
      outcome_of({.sinks = {failing("database/pg", base::terminal("no such table"))}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Degraded=True/ExportTerminal", "Synced=False/ExportTerminal",
                                   "SinkReachable=False/ExportTerminal"));
  EXPECT_THAT(outcome.events, ElementsAre("Warning ExportTerminal"));
}

TEST(InventoryConditions, ARowThatNoDocumentHolds) {
  const auto outcome =
      outcome_of({.sinks = {failing("snapshot/g", base::terminal("row too large", "too-large"))}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Degraded=True/PayloadTooLarge", "Synced=False/PayloadTooLarge",
                                   "SinkReachable=False/ExportTerminal"));
}

TEST(InventoryConditions, WarningsOfSinksAreToldAndEnd) {
  SinkFact sink = good("snapshot/g");
  sink.warnings = {"a and b meet at path p", "c and d meet at path q"};
  const auto outcome = outcome_of({.sinks = {sink}});
  EXPECT_THAT(outcome.conditions, ::testing::Contains("Ready=True/Exported"));
  EXPECT_THAT(outcome.events, ElementsAre("Normal ExportSucceeded", "Warning ExportWarning"));
  exporter::BindingStatus binding;
  binding.last_export = base::WallTime{};
  binding.interval = std::chrono::minutes(5);
  binding.warnings = sink.warnings;
  EXPECT_THAT(sink_condition(nullptr, &binding, true)->message,
              "written; a and b meet at path p and 1 more");
  EXPECT_THAT(sink_condition(nullptr, &binding, false)->message,
              ::testing::EndsWith("5m0s; a and b meet at path p and 1 more"));
}

// field-missing-kind-does-not-stop-others: what is exported names what it lacks.
TEST(InventoryConditions, TargetsThatCannotBeReadAreNamed) {
  StatusDraft draft(base::json::Value(base::json::Object{}), base::WallTime{});
  set_conditions(draft, {.unreadable = {"policies", "typo"}, .sinks = {good("database/pg")}});
  EXPECT_THAT(base::json::compact(draft.patch().value()),
              ::testing::HasSubstr("without the targets policies, typo"));
}

TEST(InventoryConditions, NoSinks) {
  const auto outcome = outcome_of({});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/NoExport", "Synced=True/NoExport",
                                   "SinkReachable=True/NoSinksConfigured"));
  EXPECT_THAT(outcome.events, IsEmpty());
}

TEST(InventoryConditions, SuspendedDeniedAndUnusableDegrade) {
  EXPECT_THAT(outcome_of({.suspended = true, .sinks = {good("database/pg")}}).conditions,
              UnorderedElementsAre("Degraded=True/Suspended", "Synced=False/Suspended"));
  EXPECT_THAT(
      outcome_of(
          {.denied = base::configuration("no", "ScopeSinkDenied"), .sinks = {good("database/pg")}})
          .conditions,
      UnorderedElementsAre("Degraded=True/ScopeSinkDenied", "Synced=False/ScopeSinkDenied"));
  const auto none = outcome_of(
      {.sinks = {broken("database/pg", base::not_found("there is none", "SinkNotFound"))}});
  EXPECT_THAT(none.conditions,
              UnorderedElementsAre("Degraded=True/SinkNotFound", "Synced=False/SinkNotFound",
                                   "SinkReachable=False/SinkNotFound"));
  EXPECT_THAT(none.events, ElementsAre("Warning SinkNotFound"));
}

TEST(InventoryConditions, OneBrokenSinkDoesNotStopTheOthers) {
  const auto outcome =
      outcome_of({.sinks = {good("database/pg"),
                            broken("snapshot/g", base::not_found("none", "SinkNotFound"))}});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/PartiallySynced", "Synced=False/PartiallySynced",
                                   "SinkReachable=False/SinkNotFound"));
}

TEST(InventoryConditions, ReadyIsUnknownUntilTheFirstListsAreIn) {
  const auto outcome = outcome_of(
      {.complete = false, .waiting = {"pods"}, .sinks = {SinkFact{.name = "database/pg"}}});
  EXPECT_THAT(outcome.conditions, UnorderedElementsAre("Ready=Unknown/Collecting",
                                                       "SinkReachable=True/SinksReachable"));
}

TEST(InventoryConditions, ReadyAndDegradedNeverStandTogether) {
  StatusDraft draft(Value(Object()), base::WallTime{});
  const InventoryFacts bad = {.sinks = {failing("database/pg", base::terminal("no"))}};
  const InventoryFacts fine = {.sinks = {good("database/pg")}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(outcome_of(fine, draft).conditions,
                UnorderedElementsAre("Ready=True/Exported", "Synced=True/Exported",
                                     "SinkReachable=True/ExportSucceeded"));
    EXPECT_THAT(outcome_of(bad, draft).conditions,
                UnorderedElementsAre("Degraded=True/ExportTerminal", "Synced=False/ExportTerminal",
                                     "SinkReachable=False/ExportTerminal"));
  }
}

TEST(InventoryConditions, ManyRowsWarn) {
  StatusDraft draft(Value(Object()), base::WallTime{});
  EXPECT_THAT(outcome_of({.rows = 1799, .sinks = {good("d/p")}}, draft).events,
              ElementsAre("Normal ExportSucceeded"));
  const auto many = outcome_of({.rows = 1800, .sinks = {good("d/p")}}, draft);
  EXPECT_THAT(many.conditions, ::testing::Contains("ExportShardWarning=True/ApproachingExportCap"));
  EXPECT_THAT(many.events, ::testing::Contains("Warning ApproachingExportCap"));
  EXPECT_THAT(outcome_of({.rows = 10, .sinks = {good("d/p")}}, draft).conditions,
              ::testing::Not(::testing::Contains("ExportShardWarning=True/ApproachingExportCap")));
}

TEST(SinkCondition, Words) {
  exporter::BindingStatus binding;
  EXPECT_FALSE(sink_condition(nullptr, nullptr, false));
  EXPECT_FALSE(sink_condition(nullptr, &binding, false)) << "nothing known yet";
  const auto gone = base::not_found("none", "SinkNotFound");
  EXPECT_EQ(sink_condition(&gone, nullptr, false)->reason, "ExportFailed");
  binding.last_export = base::WallTime{};
  binding.interval = std::chrono::seconds(30);
  EXPECT_EQ(sink_condition(nullptr, &binding, true)->reason, "Exported");
  const auto skipped = sink_condition(nullptr, &binding, false);
  EXPECT_EQ(skipped->status + skipped->reason, "FalseDebounced");
  EXPECT_NE(skipped->message.find("30s"), std::string::npos);
  binding.running = true;
  EXPECT_FALSE(sink_condition(nullptr, &binding, false)) << "what stands there stays";
  binding.running = false;
  binding.interval = {};
  EXPECT_EQ(sink_condition(nullptr, &binding, false)->reason, "Exported");
  binding.error = base::retryable("down");
  EXPECT_EQ(sink_condition(nullptr, &binding, false)->message, "down");
}

// Of cluster inventories (runtime 7.4).
TEST(RollupConditions, ExportSucceededStandsBesideReady) {
  StatusDraft draft(Value(Object()), base::WallTime{});
  auto outcome = outcome_of({.rows = 2000, .sinks = {good("database/pg")}, .rollup = true}, draft);
  EXPECT_THAT(
      outcome.conditions,
      UnorderedElementsAre("Ready=True/Exported", "Synced=True/Exported",
                           "ExportSucceeded=True/Exported", "SinkReachable=True/ExportSucceeded"));
  outcome = outcome_of(
      {.sinks = {good("database/pg"), failing("snapshot/g", base::retryable("no route"))},
       .rollup = true},
      draft);
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/PartiallySynced", "Synced=False/PartiallySynced",
                                   "ExportSucceeded=True/PartiallySynced",
                                   "SinkReachable=False/ExportFailed"));
  outcome = outcome_of(
      {.sinks = {failing("database/pg", base::retryable("no route"))}, .rollup = true}, draft);
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Degraded=True/Progressing", "Synced=False/Progressing",
                                   "SinkReachable=False/ExportFailed"));
}

TEST(RollupConditions, SizesHaveReasonsOfTheirOwn) {
  for (const auto& [error, reason] :
       {std::pair("too-large", "PayloadTooLarge"), std::pair("spill_required", "SpillRequired")}) {
    const auto outcome = outcome_of(
        {.sinks = {failing("snapshot/g", base::terminal("too large", error))}, .rollup = true});
    EXPECT_THAT(outcome.conditions, UnorderedElementsAre(std::string("Degraded=True/") + reason,
                                                         std::string("Synced=False/") + reason,
                                                         "SinkReachable=False/ExportTerminal"));
  }
}

TEST(RollupConditions, WithoutSinksItIsRolledUpWhenItIsComplete) {
  StatusDraft draft(Value(Object()), base::WallTime{});
  auto outcome =
      outcome_of({.complete = false, .waiting = {"images"}, .sinks = {}, .rollup = true}, draft);
  EXPECT_THAT(outcome.conditions, UnorderedElementsAre("Ready=Unknown/Collecting",
                                                       "SinkReachable=True/NoSinksConfigured"));
  outcome = outcome_of({.sinks = {}, .rollup = true}, draft);
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/RolledUp", "Synced=True/RolledUp",
                                   "SinkReachable=True/NoSinksConfigured"));
}

TEST(RollupConditions, TargetsThatAreNotThereAreNamed) {
  const auto outcome =
      outcome_of({.sinks = {good("database/pg")}, .rollup = true, .missing = {"ghost"}});
  EXPECT_THAT(outcome.events, ElementsAre("Warning TargetNotFound", "Normal ExportSucceeded"));
}

TEST(RollupConditions, WhatStopsItHasAnEvent) {
  for (const char* reason : {"NoTargets", "TargetDegraded", "SinkNamespaceDenied",
                             "ScopeSinkDenied", "ScopeLookupFailed", "ExportUnavailable"}) {
    const auto outcome = outcome_of({.denied = base::configuration("no", reason),
                                     .sinks = {good("database/pg")},
                                     .rollup = true});
    EXPECT_THAT(outcome.conditions, UnorderedElementsAre(std::string("Degraded=True/") + reason,
                                                         std::string("Synced=False/") + reason));
    EXPECT_THAT(outcome.events, ElementsAre(std::string("Warning ") + reason));
  }
}

}  // namespace
}  // namespace kollect::manager
