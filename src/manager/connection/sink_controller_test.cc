// Sinks and their probes: the tables of runtime 7.5, the times of X-22, the rules of X-23.
#include "manager/connection/sink_controller.h"

#include <gmock/gmock.h>

#include "manager/connection/connection_fixture.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Conditions = std::set<std::string>;

constexpr const char* kPath = "kollectdatabasesinks/db";
const Conditions kGood = {"ConnectionVerified=True/ConnectionOK"};
const Conditions kBad = {"ConnectionVerified=False/ConnectionTestFailed",
                         "Degraded=True/ConnectionTestFailed"};
const Conditions kNoSecret = {"ConnectionVerified=False/SecretResolveFailed",
                              "Degraded=True/SecretResolveFailed"};
constexpr const char* kAsked = "{'kollect.dev/test-connection':'TRUE'}";
constexpr const char* kOff = ",'connectionTest':false";

class Sinks : public testing::Connections {
 protected:
  /// One pass; until the next look.
  std::optional<base::Duration> look() {
    const auto next = controller_.reconcile(context_, {"shop", "db"});
    EXPECT_TRUE(next.has_value()) << (next ? "" : next.error().message);
    return next ? *next : std::nullopt;
  }
  Conditions after_look() {
    look();
    return conditions(kPath);
  }
  std::string message() {
    const base::json::Value sink = server_.at(std::string(kOurs) + kPath);
    return std::string(sink.at_path({"status", "conditions"})->as_array().front().text("message"));
  }
  SinkController<api::DatabaseSink> controller_{
      "KollectDatabaseSink", "database", databases_, registry_, writer_, clock_, redactor_};
};

TEST_F(Sinks, APassedProbeIsToldOnceAndMadeAgainAfterTenMinutes) {
  file_sink(true);
  EXPECT_EQ(look(), base::Duration(10min));
  EXPECT_EQ(conditions(kPath), kGood);
  EXPECT_EQ(message(), "sqlite answered");
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.db")) << "a probe makes nothing";
  clock_.advance(4min);
  EXPECT_EQ(look(), base::Duration(6min));
  EXPECT_THAT(server_.take_writes(), IsEmpty()) << "nothing is new";
}

TEST_F(Sinks, AFailureIsTriedAgainAfterGrowingWaits) {
  build_wall();
  file_sink(false);
  EXPECT_EQ(look(), base::Duration(30s));
  EXPECT_EQ(conditions(kPath), kBad);
  EXPECT_THAT(server_.take_writes(),
              ElementsAre("event Warning ConnectionTestFailed", "PATCH status"));
  clock_.advance(30s);
  EXPECT_EQ(after_look(), kBad);
  tear_down_wall();
  clock_.advance(30s);
  EXPECT_EQ(after_look(), kBad) << "the third probe is a minute after the second";
  clock_.advance(30s);
  EXPECT_EQ(after_look(), kGood);
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status")) << "the event was told once";
}

TEST_F(Sinks, WaitsEndAtTenMinutes) {
  build_wall();
  file_sink(false);
  look();
  base::Duration waited{};
  for (const base::Duration wait : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
    clock_.advance(wait);
    look();  // this probe failed again
    waited += wait;
  }
  tear_down_wall();
  clock_.advance(599s);
  EXPECT_EQ(after_look(), kBad) << base::format_duration(waited);
  clock_.advance(1s);
  EXPECT_EQ(after_look(), kGood);
}

TEST_F(Sinks, ASecretThatComesIsProbedWithAtOnce) {
  const std::string spec = "{'type':'postgres','postgres':{'databaseRef':{'name':'pg'}}}";
  database(spec);
  EXPECT_EQ(after_look(), kNoSecret);
  EXPECT_EQ(message(), "there is no Secret shop/pg");
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status")) << "no event for a Secret";
  server_.secret("pg", {{"host", "db"}});
  EXPECT_EQ(after_look(), kNoSecret);
  EXPECT_THAT(message(), HasSubstr("none of the keys dsn"));
  server_.secret("pg", {{"dsn", "postgres://u:hidden-word@127.0.0.1:" +
                                    std::to_string(kollect::testing::dead_port()) + "/d"}});
  EXPECT_EQ(after_look(), kBad);
  EXPECT_THAT(message(), ::testing::Not(HasSubstr("hidden-word")));
}

TEST_F(Sinks, ASecretOfAnotherNamespaceMustAllowIt) {
  database("{'type':'postgres','postgres':{'databaseRef':{'name':'pg','namespace':'ops'}}}");
  const std::map<std::string, std::string> data = {
      {"dsn", "postgres://u:p@127.0.0.1:" + std::to_string(kollect::testing::dead_port()) + "/d"}};
  server_.secret("pg", data, "{}", "ops");
  EXPECT_EQ(after_look(), kNoSecret);
  EXPECT_THAT(message(), HasSubstr("allow-references-from"));
  server_.secret("pg", data, "{'kollect.dev/allow-references-from':'shop'}", "ops");
  EXPECT_EQ(after_look(), kBad);
}

TEST_F(Sinks, AnotherSpecOrARequestIsProbedAtOnce) {
  build_wall();
  file_sink(false);
  EXPECT_EQ(after_look(), kBad);
  file_sink(true, "", "{}", 2);
  EXPECT_EQ(after_look(), kGood);
  file_sink(false, "", "{}", 3);
  EXPECT_EQ(after_look(), kBad);
  tear_down_wall();
  EXPECT_EQ(after_look(), kBad);
  file_sink(false, "", "{'kollect.dev/requestedAt':'2026-02-03T04:05:07Z'}", 3);
  EXPECT_EQ(after_look(), kGood);
}

TEST_F(Sinks, TurnedOffTheResultGoes) {
  build_wall();
  file_sink(false);
  EXPECT_EQ(after_look(), kBad);
  file_sink(false, kOff, "{}", 2);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_EQ(conditions(kPath), Conditions());
  file_sink(true, "", "{}", 3);
  EXPECT_EQ(after_look(), kGood);
  file_sink(true, kOff, "{}", 4);
  EXPECT_EQ(after_look(), Conditions());
}

TEST_F(Sinks, TheAnnotationAsksForOneProbeThatPasses) {
  build_wall();
  file_sink(false, kOff, kAsked);
  EXPECT_EQ(look(), base::Duration(30s));
  EXPECT_EQ(conditions(kPath), kBad);
  EXPECT_THAT(server_.take_writes(), ::testing::Not(::testing::Contains("PATCH db")));
  tear_down_wall();
  clock_.advance(30s);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_EQ(conditions(kPath), kGood);
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status", "PATCH db"));
  EXPECT_THAT(
      server_.at(std::string(kOurs) + kPath).at_path({"metadata", "annotations"})->as_object(),
      IsEmpty());
  EXPECT_EQ(after_look(), kGood) << "the answer stays";
  EXPECT_THAT(server_.take_writes(), IsEmpty());
}

TEST_F(Sinks, TheAnnotationStaysWhereEveryPassProbes) {
  file_sink(true, "", kAsked);
  EXPECT_EQ(look(), base::Duration(10min));
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status"));
}

TEST_F(Sinks, AnAnnotationThatIsTakenBackTakesTheFailureWithIt) {
  build_wall();
  file_sink(false, kOff, kAsked);
  EXPECT_EQ(after_look(), kBad);
  file_sink(false, kOff);
  EXPECT_EQ(after_look(), Conditions());
}

TEST_F(Sinks, AnExportProvesAFailureWrong) {
  build_wall();
  file_sink(false);
  look();
  EXPECT_FALSE(controller_.exported({"shop", "db"}, clock_.now() - 1s)) << "an older one does not";
  EXPECT_FALSE(controller_.exported({"shop", "other"}, clock_.now() + 1s));
  EXPECT_TRUE(controller_.exported({"shop", "db"}, clock_.now() + 1s));
  EXPECT_FALSE(controller_.exported({"shop", "db"}, clock_.now() + 2s)) << "no news";
  EXPECT_EQ(look(), base::Duration(10min));
  EXPECT_EQ(conditions(kPath), Conditions{"ConnectionVerified=True/ExportSucceeded"});
  clock_.advance(10min);
  EXPECT_EQ(after_look(), kBad);
}

TEST_F(Sinks, UncheckedCertificatesAreTold) {
  build_wall();
  const char* kInsecure = ",'tls':{'insecureSkipVerify':true}";
  file_sink(false, kInsecure);
  EXPECT_EQ(after_look(), kBad) << "only a probe that passes tells";
  file_sink(true, kInsecure, "{}", 2);
  EXPECT_EQ(after_look(), (Conditions{"ConnectionVerified=True/ConnectionOK",
                                      "TLSInsecure=True/InsecureSkipVerify"}));
  file_sink(true, "", "{}", 3);
  EXPECT_EQ(after_look(), kGood);
}

TEST_F(Sinks, APreviewIsShownAsLongAsItIsAskedFor) {
  const auto shown = [&] {
    const base::json::Value sink = server_.at(std::string(kOurs) + kPath);
    const auto* found = sink.at_path({"status", "preview"});
    return found != nullptr ? base::json::canonical(*found) : "";
  };
  constexpr const char* kWanted = "{'kollect.dev/preview':' True '}";
  database("{'type':'mongodb','connectionTest':false,'mongodb':{'database':'d','collection':'c'}}",
           kWanted);
  look();
  const std::string first = shown();
  EXPECT_THAT(first, HasSubstr(R"("renderedAt":"2026-02-03T04:05:06Z")"));
  EXPECT_THAT(first, HasSubstr("expectedIndexKeys"));
  EXPECT_THAT(server_.take_writes(), ElementsAre("PATCH status"));
  clock_.advance(1h);
  watch(database_feed_, "kollectdatabasesinks", "db");
  look();
  EXPECT_THAT(server_.take_writes(), IsEmpty()) << "it says the same";
  // What does not belong to the other type goes.
  file_sink(true, kOff, kWanted, 2);
  look();
  EXPECT_EQ(shown(), R"({"inputSampleSource":"synthetic","provisioningMode":"ensure",)"
                     R"("renderedAt":"2026-02-03T05:05:06Z","serializationFormat":"json"})");
  file_sink(true, kOff, "{'kollect.dev/preview':'yes'}", 2);
  look();
  EXPECT_EQ(shown(), "");
}

TEST_F(Sinks, WhatIsDeletedIsLeftAlone) {
  file_sink(true);
  look();
  server_.take_writes();
  base::json::Value gone = server_.at(std::string(kOurs) + kPath);
  gone.as_object()["metadata"].as_object().set("deletionTimestamp", "2026-02-03T04:05:06Z");
  server_.put(std::string(kOurs) + kPath, gone);
  watch(database_feed_, "kollectdatabasesinks", "db");
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_THAT(server_.take_writes(), IsEmpty());
}

TEST_F(Sinks, AServerThatCannotBeAskedSaysNothingOfTheSink) {
  file_sink(true);
  look();
  std::stop_source stopped;
  stopped.request_stop();
  clock_.advance(10min);
  EXPECT_FALSE(controller_.reconcile(base::Context(clock_, stopped.get_token()), {"shop", "db"}));
  EXPECT_EQ(conditions(kPath), kGood);
}

}  // namespace
}  // namespace kollect::manager
