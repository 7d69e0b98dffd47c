// Starting, stopping and prodding a reflector.
#include <latch>

#include "base/files.h"
#include "kube/reflector.h"
#include "support/reflector_fixture.h"

namespace kollect::kube {
namespace {

using testing::added;
using testing::bookmark;
using ::testing::ElementsAre;
using testing::end_mark;
using testing::list_page;
using testing::modified;
using testing::Received;
using testing::Reply;
using testing::status_reply;
using testing::watch_reply;
using namespace std::chrono_literals;

class ReflectorControl : public testing::ReflectorFixture {};

TEST_F(ReflectorControl, StopsWhereverItIs) {
  // While it watches.
  server_.then("STREAM", server_.held({end_mark("1")}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  reflector_->stop();
  EXPECT_EQ(status().state, ReflectorState::kStopped);
  reflector_->stop();
  EXPECT_EQ(states().back(), "stopped");
  // While it waits for the end mark, for a page, for an answer.
  server_.then("STREAM", server_.held({added("a", "1")}));
  start();
  ASSERT_TRUE(seen_.wait_for_call("put a@1"));
  reflector_->stop();
  options_.watch_list = false;
  server_.then("LIST", list_page("1", {"b"}, "t"));
  start();
  ASSERT_TRUE(seen_.wait_for_call("put b@1"));
  reflector_->stop();
  start();
  ASSERT_TRUE(seen_.wait([&] { return std::ranges::count(server_.log(), "LIST") == 2; }));
  reflector_->stop();
  EXPECT_EQ(seen_.count("end"), 1U);
  // While it pauses.
  clock_.patient = true;
  server_.then("LIST", status_reply(503, "ServiceUnavailable"));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWaiting));
  reflector_->stop();
  // While it stands in line, and never started.
  auto places =
      std::pair(gate_.enter(base::Context::background()), gate_.enter(base::Context::background()));
  start();
  ASSERT_TRUE(seen_.wait([&] { return gate_.waiting() == 1; }));
  reflector_->stop();
  EXPECT_EQ(gate_.waiting(), 0U);
  Reflector never(*client_, query_, seen_, gate_, clock_, nullptr, options_);
  EXPECT_EQ(never.status().state, ReflectorState::kStarting);
}

TEST_F(ReflectorControl, StopsWhileEventsComeWithoutEnd) {
  std::vector<std::string> lines = {end_mark("1")};
  for (int i = 0; i < 20'000; ++i) lines.push_back(modified("a", std::to_string(i + 2)));
  server_.then("STREAM", server_.held(lines));
  // Not the whole queue is handled first.
  seen_.on_object = [&](base::json::View) { reflector_->request_stop(); };
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kStopped));
  EXPECT_EQ(status().events, 1U);
}

TEST_F(ReflectorControl, ListsDoNotOutnumberTheGatesPlaces) {
  auto places = std::pair(*gate_.enter(base::Context::background()),
                          *gate_.enter(base::Context::background()));
  server_.then("STREAM", server_.held({end_mark("1")}));
  start();
  ASSERT_TRUE(seen_.wait([&] { return gate_.waiting() == 1; }));
  EXPECT_TRUE(server_.log().empty());
  places.first.reset();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  // A watch holds no place: there is one for the next list.
  EXPECT_TRUE(gate_.enter(base::Context::background().with_timeout(1min)));
}

TEST_F(ReflectorControl, PlacesComeBackAfterFailures) {
  options_.watch_list = false;
  Reply cut = list_page("1", {"a"});
  cut.close_early = true;
  for (int i = 0; i < 5; ++i) server_.then("LIST", cut);
  server_.then("LIST", list_page("1", {"a"}));
  server_.then("WATCH 1", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  auto one = gate_.enter(base::Context::background().with_timeout(1min));
  auto two = gate_.enter(base::Context::background().with_timeout(1min));
  EXPECT_TRUE(one && two);
}

TEST_F(ReflectorControl, RetryNowCutsAWaitShortAndNothingElse) {
  server_.then("STREAM", status_reply(403, "Forbidden"));
  server_.then("LIST", status_reply(403, "Forbidden"));
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWaiting));
  server_.then("LIST", list_page("1", {"a"}));
  server_.then("WATCH 1", server_.held({}));
  reflector_->retry_now();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  for (int i = 0; i < 10; ++i) reflector_->retry_now();
  EXPECT_EQ(server_.log().size(), 4U);
  EXPECT_EQ(status().state, ReflectorState::kWatching);
}

TEST_F(ReflectorControl, RelistNowWhileWatching) {
  server_.then("STREAM", server_.held({added("a", "1"), added("b", "2"), end_mark("2")}));
  server_.then("STREAM", server_.held({added("b", "2"), end_mark("5")}));
  options_.watch_list = true;
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  reflector_->relist_now();
  ASSERT_TRUE(seen_.wait([&] { return status().lists == 2; }));
  EXPECT_THAT(seen_.names(), ElementsAre("b"));
  EXPECT_EQ(status().begun.asked, 1U);
  EXPECT_THAT(states(), ElementsAre("listing", "watching", "listing", "watching"));
  // A paginated reflector's watch is another one.
  reflector_.reset();
  options_.watch_list = false;
  server_.then("LIST", list_page("7", {"b"}));
  server_.then("WATCH 7", server_.held({}));
  server_.then("LIST", list_page("8", {"c"}));
  server_.then("WATCH 8", server_.held({}));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  reflector_->relist_now();
  ASSERT_TRUE(wait_for_requests(6));
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.names(), ElementsAre("c"));
}

TEST_F(ReflectorControl, RelistNowDuringAListFollowsIt) {
  for (const bool streamed : {true, false}) {
    options_.watch_list = streamed;
    requests_ = 0;
    seen_.on_object = [this](base::json::View) {
      if (requests_++ == 0) reflector_->relist_now();
    };
    const std::string list = streamed ? "STREAM" : "LIST";
    for (const char* rv : {"1", "2"}) {
      server_.then(list,
                   streamed ? server_.held({added("a", rv), end_mark(rv)}) : list_page(rv, {"a"}));
    }
    if (!streamed) server_.then("WATCH 2", server_.held({}));
    start();
    ASSERT_TRUE(seen_.wait([&] { return status().lists == 2; }));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    EXPECT_EQ(status().begun.asked, 1U);
    reflector_.reset();
  }
}

TEST_F(ReflectorControl, RelistNowWhileWaiting) {
  options_.watch_list = false;
  server_.then("LIST", list_page("1", {"a"}));
  server_.then("WATCH 1", status_reply(403, "Forbidden"));
  server_.then("LIST", list_page("2", {"b"}));
  server_.then("WATCH 2", server_.held({}));
  clock_.patient = true;
  start();
  ASSERT_TRUE(wait_for_reason("forbidden"));
  reflector_->relist_now();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  EXPECT_THAT(seen_.names(), ElementsAre("b"));
}

TEST_F(ReflectorControl, ResyncListsAnewAsABackstop) {
  options_.watch_list = false;
  options_.resync = 12h;
  server_.then("LIST", list_page("1", {"a"}));
  server_.then("WATCH 1", watch_reply({bookmark("2")}));
  server_.then("WATCH 2", server_.behind(server_.held({}), "later", ""));
  start();
  ASSERT_TRUE(wait_for_requests(3));
  reflector_.reset();
  server_.then("LIST", list_page("1", {"a"}));
  server_.then("WATCH 1", server_.behind(watch_reply({}), "half a day", bookmark("3") + "\n"));
  server_.then("LIST", list_page("4", {"b"}));
  server_.then("WATCH 4", server_.held({}));
  options_.silence = 24h;
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  clock_.advance(12h);
  server_.open("half a day");
  ASSERT_TRUE(seen_.wait_for_names({"b"}));
  EXPECT_EQ(status().begun.asked, 1U);
}

TEST_F(ReflectorControl, ASlowReceiverHoldsUpTheServerNotTheMemory) {
  // 64 MB of events against a queue of 1 MB.
  constexpr int kEvents = 1000;
  const std::string padding(64'000, 'x');
  Reply flood = watch_reply({end_mark("1")});
  for (int i = 0; i < kEvents; ++i) {
    std::string line = modified("a", std::to_string(i + 2));
    line.insert(line.size() - 2, R"(,"padding":")" + padding + "\"");
    flood.more.emplace_back([this] { ++requests_; }, line + "\n");
  }
  server_.then("STREAM", server_.behind(std::move(flood), "never", ""));
  options_.queue_bytes = 1U << 20U;
  std::latch go(1);
  seen_.on_object = [&](base::json::View) { go.wait(); };
  start();
  // Kernel buffers on both sides take some; most of it has to wait. Others are served meanwhile.
  testing::HttpServer other([](const Received&) { return Reply::json("{}"); });
  http::Request get;
  get.url = other.url();
  int before = -1;
  while (requests_ == 0 || before != requests_) {
    before = requests_;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(http_->fetch(base::Context::background(), get));
  }
  EXPECT_LT(requests_, kEvents / 2);
  go.count_down();
  EXPECT_TRUE(seen_.wait([&] { return status().events == kEvents; }));
  reflector_.reset();
}

TEST_F(ReflectorControl, StatusTellsTheLastProofOfLife) {
  server_.then("STREAM", server_.behind(server_.behind(watch_reply({end_mark("1")}), "later",
                                                       bookmark("2") + "\n"),
                                        "never", ""));
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  clock_.advance(40s);
  server_.open("later");
  ASSERT_TRUE(seen_.wait([&] { return status().bookmarks == 1; }));
  EXPECT_EQ(status().last_contact, clock_.steady_now());
  EXPECT_EQ(status().resource_version, "2");
}

// field-missing-kind-does-not-stop-others: log
TEST_F(ReflectorControl, TroubleIsLoggedOnceNotAtEveryTry) {
  const base::TempDir dir = *base::TempDir::create();
  const auto path = dir.path() / "log";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                             &std::fclose);
  const base::Logger log({.out = file.get()}, clock_);
  log_ = &log;
  options_.watch_list = false;
  server_.otherwise([this](const Received& r) {
    if (elapsed() < 10min) return status_reply(404, "NotFound");
    if (elapsed() < 20min) return status_reply(403, "Forbidden");
    return r.query("watch").empty() ? list_page("1", {}) : server_.held({});
  });
  start();
  ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
  reflector_.reset();
  log_ = nullptr;
  std::fflush(file.get());
  const std::string text = *base::read_file(path);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
  EXPECT_THAT(text, ::testing::HasSubstr("gvk-not-found"));
  EXPECT_THAT(text, ::testing::HasSubstr("forbidden"));
  EXPECT_THAT(text, ::testing::HasSubstr("goes on"));
}

// field-crd-deleted-and-recreated: one-watch
TEST_F(ReflectorControl, TheServerNeverSeesTwoWatchesAtOnce) {
  options_.watch_list = false;
  constexpr int kRounds = 50;
  for (int i = 0; i < kRounds; ++i) {
    server_.then("LIST", list_page("1", {"a"}));
    server_.then("WATCH 1", server_.held({}));
  }
  start();
  for (std::size_t round = 1; round <= kRounds; ++round) {
    ASSERT_TRUE(wait_for_requests(2 * round));
    ASSERT_TRUE(wait_for_state(ReflectorState::kWatching));
    ASSERT_TRUE(seen_.wait([&] { return status().watches == round; }));
    EXPECT_EQ(http_->open_requests(), 1U);
    if (round < kRounds) reflector_->relist_now();
  }
  reflector_.reset();
  EXPECT_EQ(http_->open_requests(), 0U);
}

}  // namespace
}  // namespace kollect::kube
