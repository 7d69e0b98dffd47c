// Everything that goes wrong between a reflector and its server (field cases 03, 04, 08).
#include "base/files.h"
#include "kube/reflector.h"
#include "support/reflector_fixture.h"

namespace kollect::kube {
namespace {

using testing::added;
using testing::bookmark;
using testing::deleted;
using ::testing::ElementsAre;
using testing::end_mark;
using testing::error_event;
using ::testing::HasSubstr;
using testing::list_page;
using testing::modified;
using testing::Received;
using testing::Reply;
using testing::status_reply;
using testing::watch_reply;
using namespace std::chrono_literals;

class ReflectorFaults : public testing::ReflectorFixture {
 protected:
  void SetUp() override {
    ReflectorFixture::SetUp();
    options_.watch_list = false;
  }
  /// A list at 10 with "a", whose watch is `reply`.
  void script_watch(Reply reply) {
    server_.then("LIST", list_page("10", {"a"}));
    server_.then("WATCH 10", std::move(reply));
  }
  void expect_log(const std::vector<std::string>& wanted) {
    ASSERT_TRUE(wait_for_requests(wanted.size()));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_EQ(server_.log(), wanted);
  }
};

TEST_F(ReflectorFaults, AnEventThatCannotBeReadLeadsToAList) {
  const std::vector<std::string> bad = {
      "<html>login</html>", R"({"type":"ADDED","object":{"metadata":{"name":"x"})",
      R"({"type":"RENAMED","object":{"metadata":{"name":"x"}}})", R"({"type":"MODIFIED"})",
      R"({"type":"ADDED","object":{"kind":"Boat"}})"};
  for (const std::string& line : bad) {
    script_watch(watch_reply({added("b", "11"), line, added("never", "13")}));
    server_.then("LIST", list_page("20", {"a", "b", "x"}));
    server_.then("WATCH 20", server_.held({}));
    start();
    ASSERT_TRUE(seen_.wait([&] {
      return status().lists == 2 && status().state == ReflectorState::kWatching;
    })) << line;
    EXPECT_THAT(seen_.names(), ElementsAre("a", "b", "x"));
    EXPECT_EQ(status().begun.unreadable, 1U);
    EXPECT_EQ(status().events, 1U);
    EXPECT_FALSE(status().error);
    reflector_.reset();
  }
  EXPECT_EQ(seen_.count("put never@13"), 0U);
}

TEST_F(ReflectorFaults, AnEventThatIsAlwaysBadDoesNotMakeAHotLoop) {
  server_.otherwise([this](const Received& r) {
    if (elapsed() >= 5min) {
      Reply silence;
      silence.no_answer = true;
      return silence;
    }
    ++requests_;
    return r.query("watch").empty() ? list_page("10", {"a"}) : watch_reply({"garbage"});
  });
  start();
  ASSERT_TRUE(seen_.wait([&] { return elapsed() >= 5min; }));
  EXPECT_LT(requests_, 50);
}

TEST_F(ReflectorFaults, ErrorEventsOfOtherCodes) {
  struct Case {
    int code;
    const char* reason;
    const char* shown;
    const char* next;
  };
  for (const Case& c : {Case{429, "TooManyRequests", "transient", "WATCH 11"},
                        Case{500, "InternalError", "transient", "WATCH 11"},
                        Case{503, "ServiceUnavailable", "transient", "WATCH 11"},
                        Case{401, "Unauthorized", "unauthorized", "WATCH 11"},
                        Case{403, "Forbidden", "forbidden", "WATCH 11"},
                        Case{404, "NotFound", "gvk-not-found", "LIST"}, Case{410, "", "", "LIST"},
                        Case{0, "Gone", "", "LIST"}, Case{400, "BadRequest", "rejected", "LIST"},
                        Case{0, "", "rejected", "LIST"}}) {
    const std::size_t before = server_.log().size();
    script_watch(watch_reply({added("b", "11"), error_event(c.code, c.reason)}));
    clock_.patient = true;
    start();
    if (*c.shown != '\0') {
      ASSERT_TRUE(wait_for_reason(c.shown)) << c.code;
      EXPECT_EQ(status().state, ReflectorState::kWaiting);
      EXPECT_THAT(status().error->message, HasSubstr("said"));
    } else {
      ASSERT_TRUE(seen_.wait([&] { return status().failures == 1; })) << c.code;
    }
    const bool lists = c.next == std::string("LIST");
    if (lists) server_.then("LIST", list_page("12", {"a"}));
    server_.then(lists ? "WATCH 12" : c.next, server_.held({}));
    reflector_->retry_now();
    ASSERT_TRUE(wait_for_requests(before + (lists ? 4 : 3))) << c.code;
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching)) << c.code;
    EXPECT_FALSE(status().error);
    reflector_.reset();
  }
}

TEST_F(ReflectorFaults, InternalErrorsAtOneVersionLeadToAListInTheEnd) {
  script_watch(watch_reply({error_event(500, "InternalError", "cannot decode")}));
  server_.then("WATCH 10", status_reply(500, "InternalError"));
  server_.then("WATCH 10", watch_reply({error_event(500, "InternalError", "cannot decode")}));
  server_.then("LIST", list_page("20", {"a"}));
  server_.then("WATCH 20", server_.held({}));
  start();
  expect_log({"LIST", "WATCH 10", "WATCH 10", "WATCH 10", "LIST", "WATCH 20"});
}

TEST_F(ReflectorFaults, ARestartingServerIsResumedWithoutAList) {
  script_watch(watch_reply({}));
  for (int i = 0; i < 12; ++i) server_.then("WATCH 10", status_reply(503, "ServiceUnavailable"));
  server_.then("WATCH 10", server_.held({added("b", "11")}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"a", "b"}));
  EXPECT_EQ(status().lists, 1U);
  EXPECT_LT(elapsed(), 12 * 30s);
  EXPECT_GT(elapsed(), 1min) << "it grows";
}

TEST_F(ReflectorFaults, ASilentConnectionIsGivenUp) {
  script_watch(server_.held({added("b", "11")}));
  server_.then("WATCH 11", server_.held({}));
  server_.then("WATCH 11", server_.held({bookmark("50")}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"a", "b"}));
  for (const std::size_t requests : {2U, 3U}) {
    ASSERT_TRUE(wait_for_requests(requests));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    ASSERT_TRUE(seen_.wait([&] { return status().watches == requests - 1; }));
    clock_.advance(76s);
  }
  ASSERT_TRUE(seen_.wait([&] { return status().bookmarks == 1; }));
  EXPECT_EQ(server_.log(), (std::vector<std::string>{"LIST", "WATCH 10", "WATCH 11", "WATCH 11"}));
  EXPECT_EQ(status().silences, 2U);
  EXPECT_EQ(status().last_contact, clock_.steady_now());
  EXPECT_FALSE(status().error) << "not every server sends bookmarks";
}

TEST_F(ReflectorFaults, AServerThatTakesTheRequestAndSaysNothingIsShown) {
  Reply silence;
  silence.no_answer = true;
  script_watch(silence);
  server_.then("WATCH 10", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_requests(2));
  clock_.patient = true;
  clock_.advance(76s);
  ASSERT_TRUE(wait_for_reason("timeout"));
  EXPECT_EQ(status().state, ReflectorState::kWaiting);
  reflector_->retry_now();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_FALSE(status().error);
}

TEST_F(ReflectorFaults, AServerThatEndsWatchesAtOnceIsNotHammered) {
  for (const bool with_events : {false, true}) {
    const auto begin = clock_.steady_now();
    requests_ = 0;
    server_.otherwise([this, with_events](const Received& r) {
      if (r.query("watch").empty()) return list_page("10", {"a"});
      if (++requests_ <= 20) return watch_reply({with_events ? modified("a", "10") : ""});
      return server_.held({});
    });
    start();
    ASSERT_TRUE(seen_.wait([&] { return requests_ == 21; }));
    reflector_.reset();
    EXPECT_GE(clock_.steady_now() - begin, 20 * 400ms);
  }
}

// field-missing-kind-does-not-stop-others, field-crd-deleted-and-recreated
TEST_F(ReflectorFaults, AKindThatIsNotServedIsWaitedFor) {
  options_.watch_list = true;
  for (int i = 0; i < 3; ++i) server_.then("STREAM", status_reply(404, "NotFound"));
  clock_.patient = true;
  start();
  for (std::size_t tries = 1; tries <= 3; ++tries) {
    ASSERT_TRUE(wait_for_requests(tries));
    ASSERT_TRUE(seen_.wait(
        [&] { return status().state == ReflectorState::kWaiting && status().failures == tries; }));
    EXPECT_EQ(reason(), "gvk-not-found");
    if (tries < 3) reflector_->retry_now();
  }
  EXPECT_TRUE(seen_.calls().empty()) << "nothing is said about what is unknown";
  server_.then("STREAM", server_.held({added("a", "1"), end_mark("2")}));
  reflector_->retry_now();
  ASSERT_TRUE(seen_.wait_for_names({"a"}));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_FALSE(status().error);
}

TEST_F(ReflectorFaults, AKindThatComesBackIsListedNotResumed) {
  script_watch(watch_reply({deleted("a", "11")}));
  server_.then("WATCH 11", status_reply(404, "NotFound"));
  server_.then("LIST", status_reply(404, "NotFound"));
  server_.then("LIST", list_page("30", {"z"}));
  server_.then("WATCH 30", server_.held({}));
  start();
  expect_log({"LIST", "WATCH 10", "WATCH 11", "LIST", "LIST", "WATCH 30"});
  EXPECT_THAT(seen_.names(), ElementsAre("z"));
  EXPECT_TRUE(status().synced);
}

TEST_F(ReflectorFaults, ForbiddenIsWaitedForAndRightsMayComeLater) {
  options_.watch_list = true;
  server_.then("STREAM", status_reply(403, "Forbidden"));
  server_.then("LIST", status_reply(403, "Forbidden", "cannot list boats"));
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_reason("forbidden"));
  EXPECT_EQ(status().state, ReflectorState::kWaiting);
  EXPECT_EQ(status().error->kind, base::ErrorKind::kDenied);
  EXPECT_THAT(status().error->message, HasSubstr("cannot list boats"));
  EXPECT_FALSE(status().synced);
  server_.then("LIST", list_page("10", {"a"}));
  server_.then("WATCH 10", server_.held({}));
  reflector_->retry_now();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_TRUE(status().synced);
}

TEST_F(ReflectorFaults, WhoMayListButNotWatchIsNotSilentlyStale) {
  options_.watch_list = true;
  server_.then("STREAM", status_reply(403, "Forbidden"));
  server_.then("LIST", list_page("10", {"a"}));
  server_.then("WATCH 10", status_reply(403, "Forbidden", "cannot watch boats"));
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_reason("forbidden"));
  EXPECT_TRUE(status().synced);
  EXPECT_EQ(status().state, ReflectorState::kWaiting);
  EXPECT_THAT(seen_.names(), ElementsAre("a"));
  server_.then("WATCH 10", server_.held({added("b", "11")}));
  reflector_->retry_now();
  ASSERT_TRUE(seen_.wait_for_names({"a", "b"}));
  EXPECT_FALSE(status().error);
}

TEST_F(ReflectorFaults, AKindThatCanOnlyBeListedIsListedFromTimeToTime) {
  script_watch(status_reply(405, "MethodNotAllowed"));
  server_.then("LIST", list_page("20", {"b"}));
  server_.then("WATCH 20", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.names(), ElementsAre("b"));
  EXPECT_GE(elapsed(), 5min);
  EXPECT_LE(elapsed(), 10min);
  EXPECT_THAT(states(), ElementsAre("listing", "waiting", "listing", "watching"));
}

TEST_F(ReflectorFaults, RetryAfterIsHonoured) {
  Reply busy = status_reply(429, "TooManyRequests");
  busy.headers.emplace_back("Retry-After", "17");
  server_.then("LIST", busy);
  server_.then("LIST", list_page("10", {"a"}));
  server_.then("WATCH 10", busy);
  server_.then("WATCH 10", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_requests(2));
  EXPECT_GE(elapsed(), 17s);
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_GE(elapsed(), 34s);
  EXPECT_LE(elapsed(), 40s);
  EXPECT_EQ(status().lists, 1U);
}

TEST_F(ReflectorFaults, NobodyThere) {
  config_.server = fmt::format("http://127.0.0.1:{}", testing::dead_port());
  clock_.patient = true;
  for (const bool watch_list : {false, true}) {
    options_.watch_list = watch_list;
    start();
    ASSERT_TRUE(wait_for_reason("unreachable"));
    EXPECT_EQ(status().state, ReflectorState::kWaiting);
    EXPECT_FALSE(status().synced);
  }
}

// field-service-account-token-rotates
TEST_F(ReflectorFaults, ARotatedTokenIsReadAnewWithoutAGap) {
  const base::TempDir dir = *base::TempDir::create();
  config_.token_file = dir.path() / "token";
  ASSERT_TRUE(base::write_file_atomic(config_.token_file, "one\n"));
  script_watch(watch_reply({added("b", "11")}));
  server_.otherwise([this](const Received& r) {
    if (r.header("authorization") == "Bearer one") return status_reply(401, "Unauthorized");
    return server_.held({added("c", "12")});
  });
  start();
  ASSERT_TRUE(wait_for_reason("unauthorized"));
  ASSERT_TRUE(base::write_file_atomic(config_.token_file, "two\n"));
  ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c"}));
  EXPECT_EQ(server_.received().front().header("authorization"), "Bearer one");
  EXPECT_EQ(server_.received().back().header("authorization"), "Bearer two");
  EXPECT_EQ(status().lists, 1U);
}

TEST_F(ReflectorFaults, OneUnauthorizedIsOneRetryWithTheNewerToken) {
  const base::TempDir dir = *base::TempDir::create();
  config_.token_file = dir.path() / "token";
  ASSERT_TRUE(base::write_file_atomic(config_.token_file, "one\n"));
  server_.otherwise([this](const Received& r) {
    if (r.header("authorization") == "Bearer one") {
      // The kubelet is faster than the server's cache.
      EXPECT_TRUE(base::write_file_atomic(config_.token_file, "two\n"));
      return status_reply(401, "Unauthorized");
    }
    return server_.held({added("a", "1"), end_mark("2")});
  });
  options_.watch_list = true;
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(server_.log(), ElementsAre("STREAM", "STREAM"));
  EXPECT_THAT(states(), ElementsAre("listing", "watching")) << "no-gap";
}

TEST_F(ReflectorFaults, RefusedForGoodIsUnauthorized) {
  config_.token = base::Secret("stale-token");
  server_.otherwise([](const Received&) { return status_reply(401, "Unauthorized"); });
  clock_.patient = true;
  for (const bool watch_list : {false, true}) {
    options_.watch_list = watch_list;
    start();
    ASSERT_TRUE(wait_for_reason("unauthorized"));
    EXPECT_EQ(status().error->kind, base::ErrorKind::kDenied);
    EXPECT_THAT(status().error->message, ::testing::Not(HasSubstr("stale-token")));
  }
  EXPECT_EQ(server_.log().size(), 2U);
}

TEST_F(ReflectorFaults, ATokenFileThatIsMissingIsWaitedFor) {
  const base::TempDir dir = *base::TempDir::create();
  config_.token_file = dir.path() / "token";
  options_.watch_list = true;
  start();
  ASSERT_TRUE(wait_for_reason("unauthorized"));
  EXPECT_THAT(status().error->message, HasSubstr("token file"));
  server_.then("STREAM", server_.held({end_mark("2")}));
  ASSERT_TRUE(base::write_file_atomic(config_.token_file, "one\n"));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
}

TEST_F(ReflectorFaults, AListThatIsNoneNeverCounts) {
  server_.then("LIST", Reply::json("<html>login</html>"));
  server_.then("LIST", Reply::json(R"({"kind":"Other"})"));
  server_.then("LIST", Reply::json(R"({"metadata":{"resourceVersion":"1"},"items":[{]})"));
  server_.then("LIST", Reply::json(R"({"metadata":{"resourceVersion":"1"},"items":[)"));
  server_.then("LIST", list_page("9", {"a"}));
  server_.then("WATCH 9", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_EQ(seen_.count("end"), 1U);
  EXPECT_THAT(seen_.names(), ElementsAre("a"));
}

}  // namespace
}  // namespace kollect::kube
