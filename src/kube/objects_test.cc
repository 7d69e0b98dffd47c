// Writes against a scripted server: what is sent, what is sent again, what errors say.
#include "kube/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"
#include "support/http_server.h"

namespace kollect::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;  // NOLINT: scripted servers
using base::json::Value;

Value json(const std::string& text) {
  return base::json::to_value(base::json::Document::parse(text)->root());
}

class ObjectsTest : public ::testing::Test {
 protected:
  base::ManualClock clock_{*base::parse_rfc3339("2026-03-04T05:06:07Z")};
  base::Context context_{clock_, std::stop_token()};
  std::shared_ptr<http::Client> http_ = std::make_shared<http::Client>();
  ObjectRef boat_;
  std::unique_ptr<Client> client_;

  void SetUp() override {
    boat_.resource.group = "harbour.example";
    boat_.resource.version = "v1";
    boat_.resource.kind = "Boat";
    boat_.resource.plural = "boats";
    boat_.resource.namespaced = true;
    boat_.ns = "team-a";
    boat_.name = "ann";
  }
  Objects objects(const HttpServer& server) {
    ClusterConfig config;
    config.server = server.url();
    client_ = std::make_unique<Client>(http_, config, ClientOptions{}, nullptr);
    return Objects(*client_);
  }
  /// The error of creating a boat when the server answers so.
  base::Error refused(int status, const std::string& body) {
    HttpServer server([&](const Received&) { return Reply::json(body, status); });
    auto made = objects(server).create(context_, boat_.resource, "team-a", json("{}"));
    EXPECT_FALSE(made);
    return made ? base::Error{} : made.error();
  }
};

TEST_F(ObjectsTest, WhatIsSent) {
  HttpServer server(
      [](const Received&) { return Reply::json(R"({"metadata":{"uid":"u"}})", 201); });
  Objects objects = this->objects(server);
  auto made = objects.create(context_, boat_.resource, "team-a", json(R"({"kind":"Boat"})"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(base::json::compact(*made), R"({"metadata":{"uid":"u"}})");
  ASSERT_TRUE(objects.patch(context_, boat_, json(R"({"metadata":{"labels":{"a":null}}})")));
  ASSERT_TRUE(objects.patch_status(context_, boat_, json(R"({"status":{"x":1}})")));
  ASSERT_TRUE(objects.remove(context_, boat_, "uid-1"));
  ASSERT_TRUE(objects.remove(context_, boat_));
  ASSERT_TRUE(objects.get(context_, boat_));
  const auto seen = server.received();
  const std::string boats = "/apis/harbour.example/v1/namespaces/team-a/boats";
  EXPECT_EQ(seen[0].method + " " + seen[0].target, "POST " + boats);
  EXPECT_EQ(seen[0].header("content-type"), "application/json");
  EXPECT_EQ(seen[1].method + " " + seen[1].target, "PATCH " + boats + "/ann");
  EXPECT_EQ(seen[1].header("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen[1].body, R"({"metadata":{"labels":{"a":null}}})");
  EXPECT_EQ(seen[2].target, boats + "/ann/status");
  EXPECT_EQ(seen[3].method + " " + seen[3].target, "DELETE " + boats + "/ann");
  EXPECT_THAT(seen[3].body, HasSubstr(R"("preconditions":{"uid":"uid-1"})"));
  EXPECT_THAT(seen[4].body, Not(HasSubstr("preconditions")));
  EXPECT_EQ(seen[5].method, "GET");
}

TEST(AtVersion, NamesTheStateThatIsPatched) {
  EXPECT_EQ(base::json::compact(at_version(json(R"({"metadata":{"finalizers":[]}})"), "7")),
            R"({"metadata":{"finalizers":[],"resourceVersion":"7"}})");
  EXPECT_EQ(base::json::compact(at_version(json(R"({"status":{}})"), "7")),
            R"({"status":{},"metadata":{"resourceVersion":"7"}})");
}

TEST_F(ObjectsTest, OnlyWhatCannotHappenTwiceIsSentAgain) {
  struct Case {
    const char* what;
    int status;  ///< 0: the connection breaks
    std::size_t requests;
  };
  // A call is sent six times at most.
  for (const Case& c :
       {Case{"create", 429, 6}, Case{"create", 503, 1}, Case{"create", 0, 1}, Case{"patch", 429, 6},
        Case{"patch", 503, 6}, Case{"patch", 0, 6}, Case{"patch at version", 429, 6},
        Case{"patch at version", 503, 1}, Case{"patch at version", 0, 1}, Case{"remove", 429, 6},
        Case{"remove", 500, 1}, Case{"remove", 0, 1}, Case{"remove by uid", 500, 6},
        Case{"remove by uid", 0, 6}, Case{"patch", 409, 1}, Case{"patch", 422, 1},
        Case{"create", 403, 1}}) {
    HttpServer server([&](const Received&) {
      Reply reply = Reply::json("{}", c.status == 0 ? 200 : c.status);
      reply.close_early = c.status == 0;
      return reply;
    });
    Objects objects = this->objects(server);
    const std::string what = c.what;
    if (what == "create") {
      EXPECT_FALSE(objects.create(context_, boat_.resource, "team-a", json("{}")));
    } else if (what == "patch") {
      EXPECT_FALSE(objects.patch(context_, boat_, json("{}")));
    } else if (what == "patch at version") {
      EXPECT_FALSE(objects.patch_status(context_, boat_, at_version(json("{}"), "7")));
    } else {
      EXPECT_FALSE(objects.remove(context_, boat_, what == "remove" ? "" : "uid"));
    }
    EXPECT_EQ(server.received().size(), c.requests) << c.what << " " << c.status;
  }
}

TEST_F(ObjectsTest, WithoutAConnectionNothingWasTaken) {
  ClusterConfig config;
  {
    HttpServer server([](const Received&) { return Reply::json("{}", 201); });
    config.server = server.url();
    client_ = std::make_unique<Client>(http_, config, ClientOptions{}, nullptr);
    ASSERT_TRUE(Objects(*client_).create(context_, boat_.resource, "team-a", json("{}")));
  }
  // The server was there a moment ago: it may be restarting.
  const auto before = clock_.steady_now();
  auto made = Objects(*client_).create(context_, boat_.resource, "team-a", json("{}"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, "unreachable");
  EXPECT_GT(clock_.steady_now() - before, std::chrono::seconds(10));
}

TEST_F(ObjectsTest, ErrorsSayWhatToDo) {
  const auto status = [](const std::string& reason, const std::string& more = "") {
    return R"({"kind":"Status","reason":")" + reason + R"(","message":"said so")" + more + "}";
  };
  base::Error error = refused(409, status("Conflict"));
  EXPECT_EQ(error.kind, base::ErrorKind::kConflict);
  EXPECT_EQ(error.reason, "conflict");
  error = refused(409, status("AlreadyExists"));
  EXPECT_EQ(error.kind, base::ErrorKind::kConflict);
  EXPECT_EQ(error.reason, "already-exists");
  error = refused(403, status("Forbidden"));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_THAT(error.message, AllOf(HasSubstr("create boats team-a/"), HasSubstr("said so")));
  error = refused(404, status("NotFound"));
  EXPECT_EQ(error.kind, base::ErrorKind::kNotFound);
  error = refused(401, status("Unauthorized"));
  EXPECT_EQ(error.reason, "unauthorized");
  error = refused(500, status("InternalError"));
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  error = refused(413, "too large");
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(error.reason, "rejected");
}

TEST_F(ObjectsTest, WhatIsInvalidIsNamedFieldByField) {
  const base::Error error = refused(
      422,
      R"({"kind":"Status","reason":"Invalid","message":"Boat \"ann\" is invalid","details":{"causes":[)"
      R"({"reason":"FieldValueRequired","field":"spec.berth","message":"Required value"},)"
      R"({"field":"spec.flag","message":"Unsupported\nvalue"},{"message":"whole"},7]}})");
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(error.reason, "invalid");
  EXPECT_THAT(error.message,
              HasSubstr("spec.berth: Required value; spec.flag: Unsupported value; whole"));
  const base::Error plain = refused(422, R"({"kind":"Status","message":"no causes"})");
  EXPECT_THAT(plain.message, HasSubstr("no causes"));
  EXPECT_THAT(refused(422, "<html>").message, HasSubstr("<html>"));
}

TEST_F(ObjectsTest, AnAnswerThatIsNoJson) {
  HttpServer server([](const Received&) { return Reply::json("<html>", 200); });
  auto got = objects(server).patch(context_, boat_, json("{}"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, base::ErrorKind::kRetryable);
}

TEST_F(ObjectsTest, EventsAreCoreEvents) {
  HttpServer server([](const Received&) { return Reply::json("{}", 201); });
  Objects objects = this->objects(server);
  Event event{.warning = true,
              .reason = "ExportFailed",
              .message = std::string(1023, 'm') + "\xC3\xA9 and more",
              .component = "kollect-inventory",
              .instance = "pod-0",
              .uid = "u-1"};
  ASSERT_TRUE(objects.create_event(context_, boat_, event));
  boat_.ns.clear();
  boat_.name = std::string(260, 'X') + ":y";
  boat_.resource.group.clear();
  event.warning = false;
  ASSERT_TRUE(objects.create_event(context_, boat_, event));
  boat_.name = "::";
  ASSERT_TRUE(objects.create_event(context_, boat_, event));
  const auto seen = server.received();
  EXPECT_EQ(seen[0].target, "/api/v1/namespaces/team-a/events");
  const Value first = json(seen[0].body);
  EXPECT_TRUE(first.at_path({"metadata", "name"})->as_string().starts_with("ann."));
  EXPECT_EQ(first.text("type"), "Warning");
  EXPECT_EQ(first.text("reason"), "ExportFailed");
  EXPECT_EQ(first.text("message"), std::string(1023, 'm')) << "characters stay whole";
  EXPECT_EQ(first.text("firstTimestamp"), "2026-03-04T05:06:07Z");
  EXPECT_EQ(base::json::compact(*first.find("involvedObject")),
            R"({"apiVersion":"harbour.example/v1","kind":"Boat","namespace":"team-a",)"
            R"("name":"ann","uid":"u-1"})");
  EXPECT_EQ(seen[1].target, "/api/v1/namespaces/default/events");
  const Value second = json(seen[1].body);
  const std::string name = second.at_path({"metadata", "name"})->as_string();
  EXPECT_LE(name.size(), 253U);
  EXPECT_TRUE(name.starts_with("xxxx"));
  EXPECT_EQ(second.text("type"), "Normal");
  EXPECT_EQ(second.at_path({"involvedObject", "namespace"}), nullptr);
  EXPECT_EQ(second.at_path({"involvedObject", "apiVersion"})->as_string(), "v1");
  EXPECT_TRUE(json(seen[2].body).at_path({"metadata", "name"})->as_string().starts_with("event."));
}

}  // namespace
}  // namespace kollect::kube
