// The table of runtime 7.1, a row a case.
#include "manager/target_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/value.h"

namespace kollect::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using base::json::Object;
using base::json::Value;

struct Outcome {
  std::vector<std::string> conditions;
  std::vector<std::string> events;
};

class TargetConditions : public ::testing::Test {
 protected:
  Outcome outcome_of(const TargetFacts& facts) {
    Outcome outcome;
    for (const Told& told : set_target_conditions(draft_, facts)) {
      if (!told.reason.empty()) {
        outcome.events.push_back((told.warning ? "Warning " : "Normal ") + told.reason);
      }
    }
    if (const Value* list = draft_.field("conditions")) {
      for (const Value& one : list->as_array()) {
        outcome.conditions.push_back(std::string(one.text("type")) + "=" +
                                     std::string(one.text("status")) + "/" +
                                     std::string(one.text("reason")));
      }
    }
    return outcome;
  }
  StatusDraft draft_{Value(Object()), base::WallTime{}};
};

TEST_F(TargetConditions, Collecting) {
  const auto outcome = outcome_of({.profile = "images", .complete = true, .rows = 3, .sinks = 2});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/Collecting", "Synced=True/Collecting",
                                   "SinkReachable=True/SinksReachable"));
  EXPECT_THAT(outcome.events, ElementsAre("Normal SinksReachable"));
}

TEST_F(TargetConditions, WithoutSinks) {
  const auto outcome = outcome_of({.complete = true});
  EXPECT_THAT(outcome.conditions, ::testing::Contains("SinkReachable=True/NoSinksInNamespace"));
  EXPECT_THAT(outcome.events, ElementsAre("Normal NoSinksInNamespace"));
}

TEST_F(TargetConditions, DeniedInSomeNamespaces) {
  const auto outcome =
      outcome_of({.complete = true, .forbidden_namespaces = {"corvus"}, .sinks = 1});
  EXPECT_THAT(outcome.conditions,
              UnorderedElementsAre("Ready=True/Collecting", "Synced=True/ScopeForbidden",
                                   "SinkReachable=True/SinksReachable"));
  EXPECT_THAT(outcome.events, ::testing::Contains("Warning ScopeForbidden"));
}

TEST_F(TargetConditions, EveryReasonThatBlocks) {
  for (const char* reason : {"Suspended", "MissingProfileRef", "ProfileNotFound", "ScopeGVKDenied",
                             "ScopeNamespaceDenied", "InformerRegistrationFailed"}) {
    const auto outcome = outcome_of({.blocked = base::configuration("why", reason)});
    EXPECT_THAT(outcome.conditions, UnorderedElementsAre("Degraded=True/" + std::string(reason)));
  }
  EXPECT_THAT(outcome_of({.blocked = base::configuration("w", "ScopeGVKDenied")}).events,
              ElementsAre("Warning ScopeGVKDenied"));
  EXPECT_THAT(outcome_of({.blocked = base::configuration("w", "Suspended")}).events, IsEmpty());
}

TEST_F(TargetConditions, TheFirstStepThatFailsIsNamed) {
  TargetFacts facts{.complete = true,
                    .access_check_error = "timeout",
                    .extraction_failures = 2,
                    .last_extraction_error = "n/a: path",
                    .sink_problem = base::not_found("none", "SinkNotFound"),
                    .sinks = 1};
  EXPECT_THAT(
      outcome_of(facts).conditions,
      UnorderedElementsAre("Degraded=True/AccessCheckFailed", "SinkReachable=False/SinkNotFound"));
  facts.access_check_error.reset();
  EXPECT_THAT(outcome_of(facts).conditions, ::testing::Contains("Degraded=True/ExtractionFailed"));
  facts.extraction_failures = 0;
  const auto outcome = outcome_of(facts);
  EXPECT_THAT(outcome.conditions, UnorderedElementsAre("Degraded=True/SinkNotFound",
                                                       "SinkReachable=False/SinkNotFound"));
  EXPECT_THAT(outcome.events, ElementsAre("Warning SinkNotFound"));
}

TEST_F(TargetConditions, SinkReachableOnlyTellsOfSinks) {
  EXPECT_THAT(
      outcome_of({.complete = true, .extraction_failures = 1, .sinks = 1}).conditions,
      UnorderedElementsAre("Degraded=True/ExtractionFailed", "SinkReachable=True/SinksReachable"));
}

TEST_F(TargetConditions, RecoveryRemovesDegraded) {
  outcome_of({.blocked = base::not_found("none", "ProfileNotFound")});
  EXPECT_THAT(
      outcome_of({.complete = false}).conditions,
      UnorderedElementsAre("Ready=Unknown/Collecting", "SinkReachable=True/NoSinksInNamespace"));
  EXPECT_THAT(outcome_of({.complete = true}).conditions,
              UnorderedElementsAre("Ready=True/Collecting", "Synced=True/Collecting",
                                   "SinkReachable=True/NoSinksInNamespace"));
}

}  // namespace
}  // namespace kollect::manager
