// KollectConnectionTest: the table of runtime 7.6 and the end of a test's time.
#include "manager/connection/test_controller.h"

#include <gmock/gmock.h>

#include "manager/connection/connection_fixture.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using base::json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Conditions = std::set<std::string>;

const Conditions kPassed = {"ConnectionVerified=True/ConnectionOK", "Ready=True/ProbeSucceeded"};
constexpr const char* kPath = "kollectconnectiontests/t";
constexpr const char* kDatabase = "'sinkRef':{'databaseSinkRef':'db'}";

Conditions failed(const std::string& reason) {
  return {"ConnectionVerified=False/" + reason, "Ready=False/" + reason};
}

class Tests : public testing::Connections {
 protected:
  void test(const std::string& spec, int generation = 1) {
    apply(feed_, "kollectconnectiontests", "t", "{" + spec + "}", "{}", generation);
  }
  std::optional<base::Duration> look() {
    const auto next = controller_.reconcile(context_, {"shop", "t"});
    EXPECT_TRUE(next.has_value()) << (next ? "" : next.error().message);
    return next ? *next : std::nullopt;
  }
  Conditions after_look() {
    look();
    return conditions(kPath);
  }
  Value here() { return server_.at(std::string(kOurs) + kPath); }
  Value status(const char* field) {
    const Value object = here();
    const Value* found = object.at_path({"status", field});
    return found != nullptr ? *found : Value();
  }
  std::string message() {
    return std::string(status("conditions").as_array().front().text("message"));
  }
  std::string owners() {
    const Value object = here();
    const Value* list = object.at_path({"metadata", "ownerReferences"});
    return list != nullptr ? base::json::canonical(*list) : "";
  }

  ObjectCache<api::ConnectionTest> tests_{"KollectConnectionTest"};
  kube::ObjectReceiver& feed_ = tests_.feed("");
  ConnectionTestController controller_{
      tests_,    {.snapshot = snapshots_, .database = databases_, .event = events_},
      registry_, writer_,
      clock_,    redactor_};
};

TEST_F(Tests, PassedItIsKeptForItsTime) {
  file_sink(true);
  test(kDatabase);
  EXPECT_EQ(look(), base::Duration(300s));
  EXPECT_EQ(conditions(kPath), kPassed);
  EXPECT_EQ(status("completed"), Value(true));
  EXPECT_EQ(status("completedAt"), Value("2026-02-03T04:05:06Z"));
  EXPECT_EQ(status("latencyMs"), Value(0));
  EXPECT_EQ(status("observedGeneration"), Value(1));
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH t", "PATCH status"));
  clock_.advance(299s);
  EXPECT_EQ(look(), base::Duration(1s));
  EXPECT_THAT(server_.take_writes(), IsEmpty());
  clock_.advance(1s);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_TRUE(here().is_null());
}

TEST_F(Tests, WithoutTimeItGoesAtOnce) {
  file_sink(true);
  test(std::string(kDatabase) + ",'ownerSink':false,'ttlSecondsAfterFinished':0");
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status", "DELETE t"));
}

TEST_F(Tests, AFailureIsAnEndAsWell) {
  build_wall();
  file_sink(false);
  test(kDatabase);
  EXPECT_EQ(look(), base::Duration(300s));
  EXPECT_EQ(conditions(kPath), failed("ConnectionTestFailed"));
  EXPECT_EQ(status("completed"), Value(true));
  EXPECT_EQ(status("latencyMs"), Value(0));
  tear_down_wall();
  clock_.advance(100s);
  EXPECT_EQ(after_look(), failed("ConnectionTestFailed")) << "one probe for a generation";
}

TEST_F(Tests, AnotherGenerationIsProbedAndItsTimeBeginsAnew) {
  build_wall();
  file_sink(false);
  test(kDatabase);
  look();
  tear_down_wall();
  clock_.advance(200s);
  test(std::string(kDatabase) + ",'ttlSecondsAfterFinished':150", 2);
  EXPECT_EQ(look(), base::Duration(150s));
  EXPECT_EQ(conditions(kPath), kPassed);
  EXPECT_EQ(status("observedGeneration"), Value(2));
}

TEST_F(Tests, ExactlyOneSinkMustBeNamed) {
  test("'sinkRef':{}");
  EXPECT_EQ(after_look(), failed("InvalidSinkRef"));
  EXPECT_TRUE(status("latencyMs").is_null()) << "nothing was probed";
  EXPECT_THAT(message(), HasSubstr("no sink"));
  test("'sinkRef':{'databaseSinkRef':'db','eventSinkRef':'e'}", 2);
  EXPECT_EQ(after_look(), failed("InvalidSinkRef"));
  EXPECT_THAT(message(), HasSubstr("several sinks"));
}

TEST_F(Tests, ASinkThatIsAppliedTogetherWithItMayComeAMomentLater) {
  test(kDatabase);
  EXPECT_EQ(look(), base::Duration(2s));
  EXPECT_EQ(conditions(kPath), Conditions());
  clock_.advance(1s);
  file_sink(true);
  EXPECT_EQ(after_look(), kPassed);
}

TEST_F(Tests, ASinkThatDoesNotCome) {
  test(kDatabase);
  look();
  clock_.advance(2s);
  EXPECT_EQ(after_look(), failed("SinkNotFound"));
  EXPECT_EQ(status("completed"), Value(true));
}

TEST_F(Tests, ASecretIsReadAnew) {
  database("{'type':'postgres','postgres':{'databaseRef':{'name':'pg'}}}");
  server_.secret("pg", {{"other", "x"}});
  test(kDatabase);
  EXPECT_EQ(after_look(), failed("SecretResolveFailed"));
  server_.secret("pg", {{"dsn", "postgres://u:hidden-word@127.0.0.1:" +
                                    std::to_string(kollect::testing::dead_port()) + "/d"}});
  test(kDatabase, 2);
  EXPECT_EQ(after_look(), failed("ConnectionTestFailed"));
  EXPECT_THAT(message(), ::testing::Not(HasSubstr("hidden-word")));
}

TEST_F(Tests, AnEventSinkIsTestedToo) {
  apply(event_feed_, "kollecteventsinks", "bus",
        fmt::format("{{'type':'kafka','kafka':{{'brokers':['127.0.0.1:{}'],'topic':'t'}}}}",
                    kollect::testing::dead_port()));
  test("'sinkRef':{'eventSinkRef':'bus'}");
  EXPECT_EQ(after_look(), failed("ConnectionTestFailed"));
  EXPECT_THAT(message(), HasSubstr("no broker can be reached"));
}

TEST_F(Tests, TheSinkOwnsIt) {
  file_sink(true);
  test(kDatabase);
  look();
  EXPECT_EQ(owners(), R"([{"apiVersion":"kollect.dev/v1alpha1","controller":true,)"
                      R"("kind":"KollectDatabaseSink","name":"db","uid":"uid-db"}])");
}

TEST_F(Tests, TheSinkDoesNotOwnItWhenThatIsNotWanted) {
  file_sink(true);
  test(std::string(kDatabase) + ",'ownerSink':false");
  EXPECT_EQ(after_look(), kPassed);
  EXPECT_EQ(owners(), "");
}

TEST_F(Tests, SomebodyElsesTestStaysTheirs) {
  file_sink(true);
  test(kDatabase);
  Value owned = here();
  owned.as_object()["metadata"].as_object().set(
      "ownerReferences", testing::json("[{'kind':'Job','uid':'j','controller':true}]"));
  server_.put(std::string(kOurs) + kPath, owned);
  watch(feed_, "kollectconnectiontests", "t");
  EXPECT_EQ(after_look(), kPassed);
  EXPECT_EQ(owners(), R"([{"controller":true,"kind":"Job","uid":"j"}])");
}

TEST_F(Tests, WhatIsDeletedIsLeftAlone) {
  file_sink(true);
  test(kDatabase);
  Value gone = here();
  gone.as_object()["metadata"].as_object().set("deletionTimestamp", "2026-02-03T04:05:06Z");
  server_.put(std::string(kOurs) + kPath, gone);
  watch(feed_, "kollectconnectiontests", "t");
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_THAT(server_.take_writes(), IsEmpty());
}

}  // namespace
}  // namespace kollect::manager
