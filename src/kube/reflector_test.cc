// Lists and watches of a reflector against a scripted server (field cases 01, 05, 06, 07).
#include "kube/reflector.h"

#include "support/reflector_fixture.h"

namespace kollect::kube {
namespace {

using testing::added;
using ::testing::AllOf;
using testing::bookmark;
using testing::deleted;
using ::testing::ElementsAre;
using testing::end_mark;
using testing::error_event;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::list_page;
using testing::modified;
using ::testing::Not;
using testing::Received;
using testing::Reply;
using testing::status_reply;
using testing::watch_reply;
using namespace std::chrono_literals;

class ReflectorTest : public testing::ReflectorFixture {};

// field-streaming-list-without-end-mark: works-too
TEST_F(ReflectorTest, AStreamedListGoesOnAsItsWatch) {
  server_.then("STREAM",
               server_.held({added("b", "205"), added("a", "117"), end_mark("300"),
                             modified("a", "301"), deleted("b", "302"), bookmark("310")}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("gone b@302"));
  EXPECT_THAT(seen_.calls(),
              ElementsAre("begin", "put b@205", "put a@117", "end", "put a@301", "gone b@302"));
  ASSERT_TRUE(seen_.wait([&] { return status().bookmarks == 1; }));
  EXPECT_THAT(server_.log(), ElementsAre("STREAM"));
  const ReflectorStatus now = status();
  EXPECT_EQ(now.state, ReflectorState::kWatching);
  EXPECT_TRUE(now.synced);
  EXPECT_FALSE(now.error);
  EXPECT_EQ(now.resource_version, "310");
  EXPECT_EQ(now.lists, 1U);
  EXPECT_EQ(now.streamed_lists, 1U);
  EXPECT_EQ(now.watches, 1U);
  EXPECT_EQ(now.events, 2U);
  EXPECT_EQ(now.objects, 2U);
  EXPECT_EQ(now.begun.start, 1U);
  const std::string target = server_.received().at(0).target;
  EXPECT_THAT(target, HasSubstr("/apis/harbour.example/v1/boats?watch=true"));
  EXPECT_THAT(target, HasSubstr("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
  EXPECT_THAT(target,
              AllOf(HasSubstr("allowWatchBookmarks=true"), Not(HasSubstr("&resourceVersion="))));
}

TEST_F(ReflectorTest, WhatComesAndGoesIsCounted) {
  server_.then("STREAM",
               server_.held({added("a", "1"), end_mark("10"), added("b", "11"), modified("b", "12"),
                             added("c", "13"), deleted("a", "14"), bookmark("15")}));
  start();
  ASSERT_TRUE(seen_.wait([&] { return status().bookmarks == 1; }));
  EXPECT_EQ(status().present, 2U) << "b and c";
  EXPECT_EQ(status().waiting, 0U);
  EXPECT_EQ(status().held_up, 0U);
}

// field-streaming-list-without-end-mark: variant C
TEST_F(ReflectorTest, AServerThatRefusesStreamedListsIsAskedForPages) {
  for (const int code : {400, 422}) {
    server_.then("STREAM", status_reply(code, "Invalid", "sendInitialEvents is forbidden"));
    server_.then("LIST", list_page("300", {"a", "b"}));
    server_.then("WATCH 300", server_.held({}));
    start();
    ASSERT_TRUE(seen_.wait_for_names({"a", "b"}));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_FALSE(status().error);
    EXPECT_EQ(elapsed(), 0s) << "at once";
    EXPECT_EQ(status().streamed_lists, 0U);
    EXPECT_EQ(status().present, 2U);
    reflector_.reset();
    client_.reset();
    seen_.on_object = nullptr;
  }
}

TEST_F(ReflectorTest, WhatOneGroupCannotDoIsRemembered) {
  server_.then("STREAM", status_reply(400, "BadRequest"));
  server_.then("LIST", list_page("300", {"a"}));
  server_.then("WATCH 300", watch_reply({error_event(410, "Expired")}));
  server_.then("LIST", list_page("400", {"a"}));
  server_.then("WATCH 400", server_.held({}));
  // Another reflector of the same group, and one of another group: it asks for itself.
  server_.then("LIST", list_page("500", {"a"}));
  server_.then("WATCH 500", server_.held({}));
  server_.then("STREAM", status_reply(400, "BadRequest"));
  server_.then("LIST", list_page("600", {"a"}));
  server_.then("WATCH 600", server_.held({}));
  // Two groups speak for the server.
  server_.then("LIST", list_page("700", {"a"}));
  server_.then("WATCH 700", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_requests(5));
  for (const auto& [group, requests] :
       {std::pair{"harbour.example", 7}, {"other.example", 10}, {"third.example", 12}}) {
    reflector_.reset();
    query_.resource.group = group;
    start();
    ASSERT_TRUE(wait_for_requests(static_cast<std::size_t>(requests)));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching)) << group;
  }
  EXPECT_THAT(server_.log(),
              ElementsAre("STREAM", "LIST", "WATCH 300", "LIST", "WATCH 400", "LIST", "WATCH 500",
                          "STREAM", "LIST", "WATCH 600", "LIST", "WATCH 700"));
}

TEST_F(ReflectorTest, AWrongSelectorIsNotTheStreamsFault) {
  query_.label_selector = "a in b";
  server_.then("STREAM", status_reply(400, "BadRequest", "unable to parse"));
  server_.then("LIST", status_reply(400, "BadRequest", "unable to parse"));
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_reason("rejected"));
  EXPECT_EQ(status().state, ReflectorState::kWaiting);
  EXPECT_THAT(status().error->message, HasSubstr("unable to parse"));
  EXPECT_FALSE(status().synced);
  reflector_.reset();
  // The next one asks for a stream again.
  query_.label_selector = "a=b";
  server_.then("STREAM", server_.held({end_mark("1")}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(server_.received().back().target, HasSubstr("labelSelector=a%3Db"));
}

// field-streaming-list-without-end-mark: variant A
TEST_F(ReflectorTest, AStreamWithoutEndMarkIsNoList) {
  server_.then("STREAM", server_.held({added("b", "205"), added("a", "117")}));
  server_.then("LIST", list_page("210", {"a", "b"}));
  server_.then("WATCH 210", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("put a@117"));
  EXPECT_FALSE(status().synced);
  clock_.advance(9s);
  clock_.advance(2s);
  ASSERT_TRUE(wait_for_requests(3));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.calls(), ElementsAre("begin", "put b@205", "put a@117", "begin", "put a@210",
                                         "put b@210", "end"))
      << "no-partial";
  EXPECT_THAT(server_.log(), ElementsAre("STREAM", "LIST", "WATCH 210")) << "revision";
}

// field-streaming-list-without-end-mark: variant B
TEST_F(ReflectorTest, APlainBookmarkIsNoEndMark) {
  server_.then("STREAM", server_.held({added("b", "205"), added("a", "117"), bookmark("300")}));
  server_.then("LIST", list_page("300", {"a", "b"}));
  server_.then("WATCH 300", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_EQ(seen_.count("end"), 1U);
  EXPECT_EQ(seen_.count("begin"), 2U);
  EXPECT_EQ(elapsed(), 0s);
}

TEST_F(ReflectorTest, ChangesDuringAStreamedListBelongToIt) {
  server_.then("STREAM", server_.held({added("a", "10"), added("b", "11"), deleted("a", "12"),
                                       modified("b", "13"), end_mark("13")}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("end"));
  EXPECT_EQ(seen_.objects(), (std::map<std::string, std::string>{{"b", "13"}}));
  EXPECT_EQ(status().events, 0U);
}

TEST_F(ReflectorTest, AStreamedListThatBreaksOffIsTriedByPages) {
  Reply cut = watch_reply({added("a", "10")});
  cut.close_early = true;
  server_.then("STREAM", cut);
  server_.then("LIST", list_page("20", {"b"}));
  server_.then("WATCH 20", watch_reply({error_event(410, "Gone")}));
  // It was no refusal: the next list is streamed again.
  server_.then("STREAM", server_.held({added("b", "20"), end_mark("30")}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("end", 2));
  EXPECT_THAT(seen_.calls(), ElementsAre("begin", "put a@10", "begin", "put b@20", "end", "begin",
                                         "put b@20", "end"));
  EXPECT_EQ(status().cuts, 1U);
}

TEST_F(ReflectorTest, AStreamedListThatEndsInOrderButUnmarkedIsNoList) {
  server_.then("STREAM", watch_reply({added("a", "10")}));
  server_.then("LIST", list_page("20", {"b"}));
  server_.then("WATCH 20", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.names(), ElementsAre("b"));
  EXPECT_THAT(states(), ElementsAre("listing", "waiting", "listing", "watching"));
}

// field-pages-without-remaining-count
TEST_F(ReflectorTest, AListOfPagesAndItsWatch) {
  options_.watch_list = false;
  options_.page_size = 2;
  query_.ns = "team-a";
  query_.field_selector = "spec.x=1";
  server_.then("LIST", list_page("7", {"a", "b"}, "c1"));
  server_.then("LIST c1", list_page("7", {}, "c2"));
  server_.then("LIST c2", list_page("7", {"c"}));
  server_.then("WATCH 7", server_.held({added("d", "8")}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"a", "b", "c", "d"}));
  EXPECT_EQ(seen_.type_of("a"), "harbour.example/v1 Boat") << "typed lists name no kind";
  EXPECT_EQ(status().objects, 3U);
  EXPECT_EQ(status().streamed_lists, 0U);
  for (const Received& r : server_.received()) {
    EXPECT_EQ(r.path(), "/apis/harbour.example/v1/namespaces/team-a/boats");
    EXPECT_EQ(r.query("fieldSelector"), "spec.x=1");
  }
  EXPECT_EQ(server_.received().at(0).query("limit"), "2");
}

TEST_F(ReflectorTest, TheServerIsAskedToEndWatchesAtDifferentTimes) {
  options_.watch_list = false;
  std::set<std::string> times;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    options_.seed = seed;
    server_.then("LIST", list_page("7", {}));
    server_.then("WATCH 7", server_.held({}));
    start();
    ASSERT_TRUE(wait_for_requests(2 * seed));
    const std::string time = server_.received().back().query("timeoutSeconds");
    EXPECT_GE(std::stoi(time), 300);
    EXPECT_LE(std::stoi(time), 600);
    times.insert(time);
    reflector_.reset();
  }
  EXPECT_GT(times.size(), 1U);
}

// field-deleted-while-we-were-down
TEST_F(ReflectorTest, WhatWentDuringAGapIsGoneAfterTheList) {
  options_.watch_list = false;
  server_.then("LIST", list_page("10", {"a", "b", "c"}));
  server_.then("WATCH 10", watch_reply({added("d", "11"), error_event(410, "Expired")}));
  server_.then("LIST", list_page("20", {"b", "d"}));
  server_.then("WATCH 20", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("end", 2));
  EXPECT_THAT(seen_.names(), ElementsAre("b", "d"));
  EXPECT_EQ(status().begun.expired, 1U);
}

TEST_F(ReflectorTest, AWatchIsResumedWhereItEnded) {
  options_.watch_list = false;
  server_.then("LIST", list_page("10", {"a"}));
  // By an event, by a bookmark, in the middle of a line, by nothing at all.
  server_.then("WATCH 10", watch_reply({added("b", "11")}));
  server_.then("WATCH 11", watch_reply({added("c", "12"), bookmark("40")}));
  Reply cut = watch_reply({deleted("a", "41")});
  cut.body += added("lost", "42").substr(0, 70);
  cut.close_early = true;
  server_.then("WATCH 40", cut);
  server_.then("WATCH 41", watch_reply({}));
  server_.then("WATCH 41", server_.held({added("lost", "42")}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("put lost@42"));
  EXPECT_THAT(seen_.calls(), ElementsAre("begin", "put a@10", "end", "put b@11", "put c@12",
                                         "gone a@41", "put lost@42"));
  EXPECT_EQ(status().cuts, 1U);
  EXPECT_EQ(status().lists, 1U);
}

TEST_F(ReflectorTest, AnObjectWithoutVersionDoesNotMoveTheWatchBack) {
  options_.watch_list = false;
  server_.then("LIST", list_page("10", {}));
  server_.then("WATCH 10", watch_reply({R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})"}));
  server_.then("WATCH 10", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_requests(3));
  EXPECT_THAT(seen_.names(), ElementsAre("x"));
}

TEST_F(ReflectorTest, AListWithoutVersionIsListedAgainRatherThanResumed) {
  options_.watch_list = false;
  server_.then("LIST", list_page("", {"a"}));
  server_.then("WATCH ", watch_reply({}));
  server_.then("LIST", list_page("5", {"b"}));
  server_.then("WATCH 5", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"b"}));
}

// field-watch-expired-revision
TEST_F(ReflectorTest, AnExpiredRevisionSaidInTwoWays) {
  options_.watch_list = false;
  server_.then("LIST", list_page("1000", {"a", "b"}));
  server_.then("WATCH 1000",
               watch_reply({error_event(410, "Expired", "too old resource version")}));
  server_.then("LIST", list_page("5001", {"a", "c"}));
  server_.then("WATCH 5001", status_reply(410, "Gone"));
  server_.then("LIST", status_reply(410, "Expired"));
  server_.then("LIST", list_page("6000", {"a", "c"}));
  server_.then("WATCH 6000", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_requests(7));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.names(), ElementsAre("a", "c")) << "rows";
  EXPECT_THAT(server_.log(),
              ElementsAre("LIST", "WATCH 1000", "LIST", "WATCH 5001", "LIST", "LIST", "WATCH 6000"))
      << "bounded";
  EXPECT_FALSE(status().error) << "visible";
  EXPECT_EQ(status().begun.expired, 3U);
  for (const Received& r : server_.received()) {
    EXPECT_TRUE(!r.query("watch").empty() || r.query("resourceVersion").empty());
  }
}

// field-watch-expired-revision: backoff
TEST_F(ReflectorTest, AServerThatAlwaysSaysExpiredIsLeftInPeace) {
  for (const bool lists_work : {false, true}) {
    const auto begin = clock_.steady_now();
    requests_ = 0;
    over_ = false;
    server_.otherwise([this, begin, lists_work](const Received& r) {
      if (clock_.steady_now() - begin >= 60s) over_ = true;
      if (over_) {
        Reply silence;
        silence.no_answer = true;
        return silence;
      }
      ++requests_;
      if (lists_work && r.query("watch").empty()) return list_page("1", {"a"});
      return status_reply(410, "Expired");
    });
    start();
    ASSERT_TRUE(seen_.wait([&] { return over_.load(); }));
    EXPECT_LT(requests_, 20) << lists_work;
    EXPECT_GT(requests_, 5);
    EXPECT_EQ(status().synced, lists_work);
    EXPECT_EQ(reason(), "expired") << "not silently stale";
    reflector_.reset();
  }
}

// field-continue-token-expires
TEST_F(ReflectorTest, AListThatExpiresBetweenItsPagesBeginsAnew) {
  options_.watch_list = false;
  server_.then("LIST", list_page("100", {"a"}, "t1"));
  server_.then("LIST t1", status_reply(410, "Expired"));
  server_.then("LIST", list_page("180", {"b"}, "u1"));
  server_.then("LIST u1", list_page("180", {"c"}));
  server_.then("WATCH 180", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("end"));
  EXPECT_THAT(seen_.calls(),
              ElementsAre("begin", "put a@100", "begin", "put b@180", "put c@180", "end"));
  EXPECT_EQ(elapsed(), 0s);
}

TEST_F(ReflectorTest, AServerThatWasSetBackIsNoticed) {
  options_.watch_list = false;
  server_.then("LIST", list_page("1000", {"a", "b"}));
  server_.then("WATCH 1000", watch_reply({bookmark("600")}));
  server_.then("LIST", list_page("601", {"a"}));
  server_.then("WATCH 601",
               status_reply(504, "Timeout", "Too large resource version: 601, current: 20"));
  server_.then("LIST", list_page("21", {"c"}));
  server_.then("WATCH 21", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"c"}));
  EXPECT_EQ(status().begun.expired, 2U);
}

TEST_F(ReflectorTest, ObjectsOfAListThatHaveNoIdentityAreCountedAndLeftOut) {
  options_.watch_list = false;
  server_.then("LIST", Reply::json(R"({"metadata":{"resourceVersion":"5"},"items":[)"
                                   R"({"metadata":{"name":"a"}},{"spec":{}},7,)"
                                   R"({"metadata":{"name":"big"},"n":1e999}]})"));
  server_.then("WATCH 5", server_.held({}));
  start();
  ASSERT_TRUE(seen_.wait_for_names({"a", "big"}));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_EQ(status().unreadable, 2U);
  EXPECT_EQ(status().objects, 2U);
}

}  // namespace
}  // namespace kollect::kube
