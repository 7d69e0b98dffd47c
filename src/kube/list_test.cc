// Lists against scripted servers (field cases 02, 07 and 08 among them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "base/files.h"
#include "kube/client.h"
#include "support/http_server.h"

namespace kollect::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;  // NOLINT: scripted servers

/// A page of `count` objects named "<first>", "<first+1>", ….
std::string page_text(int first, int count, const std::string& token, const std::string& rv) {
  std::string text = R"({"kind":"ThingList","apiVersion":"x/v1","metadata":{"resourceVersion":")" +
                     rv + R"(","continue":")" + token + R"("},"items":[)";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    text += R"({"metadata":{"name":")" + std::to_string(first + i) + R"("}})";
  }
  return text + "]}";
}

Reply expired() {
  return Reply::json(R"({"kind":"Status","status":"Failure","reason":"Expired","code":410,)"
                     R"("metadata":{"continue":"t1-inconsistent"},"message":"too old"})",
                     410);
}

/// Keeps what a caller of list() would keep.
struct Keeper : ListReceiver {
  base::Result<> begin() override {
    ++begins;
    items = 0;
    pages.clear();
    return {};
  }
  base::Result<> page(std::string_view text) override {
    pages.emplace_back(text);
    for (std::size_t at = text.find("\"name\""); at != text.npos;
         at = text.find("\"name\"", at + 1)) {
      ++items;
    }
    if (on_page) return on_page(text);
    return {};
  }
  int begins = 0;
  std::size_t items = 0;
  std::vector<std::string> pages;
  std::function<base::Result<>(std::string_view)> on_page;
};

class ListTest : public ::testing::Test {
 protected:
  base::ManualClock clock_;
  base::Context context_{clock_, std::stop_token()};
  std::shared_ptr<http::Client> http_ = std::make_shared<http::Client>();
  ClientOptions options_;
  ListQuery query_;
  Keeper keeper_;
  std::vector<std::string> warnings_;

  void SetUp() override {
    query_.resource.group = "x";
    query_.resource.version = "v1";
    query_.resource.plural = "things";
  }
  base::Result<ListOutcome> list(const HttpServer& server, ClusterConfig config = {}) {
    config.server = server.url();
    Client client(http_, std::move(config), options_, nullptr);
    auto outcome = client.list(context_, query_, keeper_);
    warnings_ = client.server_warnings();
    return outcome;
  }
  std::string reason_of(const base::Result<ListOutcome>& outcome) const {
    EXPECT_FALSE(outcome);
    return outcome ? "no error" : outcome.error().reason;
  }
};

// field-pages-without-remaining-count
TEST_F(ListTest, PagesWithoutRemainingCount) {
  query_.label_selector = "app=x";
  HttpServer server([](const Received& r) {
    const std::string token = r.query("continue");
    if (token.empty()) return Reply::json(page_text(0, 500, "c1", "7"));
    if (token == "c1") return Reply::json(page_text(0, 0, "c2", "7"));
    return Reply::json(page_text(500, 41, "", "7"));
  });
  auto outcome = list(server);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(keeper_.items, 541U) << "all";
  EXPECT_EQ(outcome->items, 541U);
  EXPECT_EQ(outcome->pages, 3U);
  EXPECT_EQ(outcome->resource_version, "7");
  std::vector<std::string> targets;
  for (const Received& r : server.received()) targets.push_back(r.target);
  EXPECT_THAT(targets, ElementsAre("/apis/x/v1/things?limit=500&labelSelector=app%3Dx",
                                   "/apis/x/v1/things?limit=500&labelSelector=app%3Dx&continue=c1",
                                   "/apis/x/v1/things?limit=500&labelSelector=app%3Dx&continue=c2"))
      << "same-query";
}

// field-pages-without-remaining-count
TEST_F(ListTest, AServerThatIgnoresTheLimit) {
  HttpServer server([](const Received&) { return Reply::json(page_text(0, 541, "", "7")); });
  ASSERT_TRUE(list(server)) << "one-page";
  EXPECT_EQ(keeper_.items, 541U);
  EXPECT_EQ(server.received().size(), 1U);
}

// field-continue-token-expires
TEST_F(ListTest, TheTokenExpiresBetweenPages) {
  std::atomic<int> tries = 0;
  HttpServer server([&tries](const Received& r) {
    const std::string token = r.query("continue");
    if (token == "t1") return expired();
    if (token == "u1") return Reply::json(page_text(500, 120, "", "180"));
    return tries++ == 0 ? Reply::json(page_text(0, 500, "t1", "100"))
                        : Reply::json(page_text(0, 500, "u1", "180"));
  });
  auto outcome = list(server);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(keeper_.items, 620U) << "complete";
  EXPECT_EQ(outcome->items, 620U);
  EXPECT_EQ(keeper_.begins, 2) << "no-early-export";
  EXPECT_EQ(outcome->restarts, 1U);
  for (const Received& r : server.received()) EXPECT_NE(r.query("continue"), "t1-inconsistent");
}

// field-continue-token-expires
TEST_F(ListTest, ThreeExpiredTriesEndTheList) {
  HttpServer server([](const Received& r) {
    return r.query("continue").empty() ? Reply::json(page_text(0, 500, "t", "1")) : expired();
  });
  EXPECT_EQ(reason_of(list(server)), "transient") << "collect-exit";
  EXPECT_EQ(keeper_.begins, 3);
}

// L-57
TEST_F(ListTest, PagesOfDifferentRevisionsAreNotMixed) {
  std::atomic<int> firsts = 0;
  HttpServer server([&](const Received& r) {
    if (r.query("continue") == "a") return Reply::json(page_text(1, 1, "", "2"));
    if (r.query("continue") == "b") return Reply::json(page_text(1, 1, "", "2"));
    return firsts++ == 0 ? Reply::json(page_text(0, 1, "a", "1"))
                         : Reply::json(page_text(0, 1, "b", "2"));
  });
  auto outcome = list(server);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->restarts, 1U);
  EXPECT_EQ(outcome->items, 2U);
}

TEST_F(ListTest, TheNextPageIsAskedForWhileThisOneStreams) {
  // Page 1 ends only after page 2 was asked for: without reading ahead this would never end.
  std::promise<void> second_asked;
  auto waiting = second_asked.get_future().share();
  HttpServer server([&](const Received& r) {
    if (!r.query("continue").empty()) {
      second_asked.set_value();
      return Reply::json(page_text(1, 1, "", "1"));
    }
    const std::string text = page_text(0, 1, "c", "1");
    const auto cut = text.find("\"items\"");
    Reply reply = Reply::json(text.substr(0, cut));
    reply.chunked = true;
    reply.more.emplace_back([waiting] { waiting.wait(); }, text.substr(cut));
    return reply;
  });
  auto outcome = list(server);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(keeper_.pages.size(), 2U);
  EXPECT_THAT(keeper_.pages[0], HasSubstr(R"("name":"0")"));
}

TEST_F(ListTest, ReadingAheadIsBounded) {
  // The receiver handles page 1 only when the server was left alone for good: four pages exist at
  // most.
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t asked = 0;
  HttpServer server([&](const Received& r) {
    const std::string token = r.query("continue");
    const int number = token.empty() ? 0 : std::stoi(token);
    const std::lock_guard lock(mutex);
    ++asked;
    changed.notify_all();
    return Reply::json(page_text(number, 1, number == 9 ? "" : std::to_string(number + 1), "1"));
  });
  const auto wait_for = [&](std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked >= count; });
    return asked;
  };
  std::size_t most_ahead = 0;
  keeper_.on_page = [&](std::string_view) -> base::Result<> {
    const std::size_t handled = keeper_.pages.size();
    most_ahead = std::max(most_ahead, wait_for(std::min<std::size_t>(10, handled + 1)) - handled);
    return {};
  };
  ASSERT_TRUE(list(server));
  EXPECT_LE(most_ahead, 3U);
  EXPECT_EQ(keeper_.items, 10U);

  // A budget of nothing: one page after the other.
  options_.read_ahead_bytes = 0;
  asked = 0;
  most_ahead = 0;
  keeper_.on_page = [&](std::string_view) -> base::Result<> {
    const std::lock_guard lock(mutex);
    most_ahead = std::max(most_ahead, asked - keeper_.pages.size());
    return {};
  };
  ASSERT_TRUE(list(server));
  EXPECT_EQ(most_ahead, 0U);
}

TEST_F(ListTest, CutBodiesAreAskedForAgain) {
  std::atomic<int> cuts = 0;
  HttpServer server([&](const Received& r) {
    const bool second = !r.query("continue").empty();
    const std::string whole = second ? page_text(1, 1, "", "1") : page_text(0, 1, "c", "1");
    Reply reply = Reply::json(whole);
    // Ends in the middle of the transfer, and as a transfer that claims to be whole.
    if (second && cuts < 2) {
      reply.body.resize(whole.size() - 2);
      reply.close_early = cuts++ == 0;
    }
    return reply;
  });
  auto outcome = list(server);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(cuts, 2);
  EXPECT_EQ(keeper_.begins, 1);
  EXPECT_EQ(keeper_.items, 2U);
}

TEST_F(ListTest, WhatIsAlwaysCutFails) {
  HttpServer server([](const Received&) { return Reply::json(R"({"metadata":{},"items":[)"); });
  EXPECT_EQ(reason_of(list(server)), "transient");
  EXPECT_EQ(server.received().size(), 6U);  // five retries
  EXPECT_TRUE(keeper_.pages.empty());
  HttpServer html([](const Received&) { return Reply::json("<html>login</html>"); });
  EXPECT_EQ(reason_of(list(html)), "transient");
  HttpServer other([](const Received&) { return Reply::json(R"({"kind":"Other"})"); });
  EXPECT_EQ(reason_of(list(other)), "rejected");
}

TEST_F(ListTest, BusyServersAreWaitedFor) {
  std::atomic<int> tries = 0;
  HttpServer server([&](const Received&) {
    const int n = tries++;
    if (n == 0) {
      Reply busy = Reply::json("busy", 429);
      busy.headers.emplace_back("Retry-After", "7");
      return busy;
    }
    if (n < 3) return Reply::json("broken", 500 + n);
    return Reply::json(page_text(0, 1, "", "1"));
  });
  const auto begin = clock_.steady_now();
  ASSERT_TRUE(list(server));
  EXPECT_EQ(tries, 4);
  // 7 s as the server said, then 1 s and 2 s of our own.
  EXPECT_EQ(clock_.steady_now() - begin, std::chrono::seconds(10));
}

// Retry-After as a date (RFC 9110 10.2.3), counted from the clock of the run.
TEST_F(ListTest, BusyServersMayNameADate) {
  clock_.advance(std::chrono::seconds(784'111'770));  // Sun, 06 Nov 1994 08:49:30 GMT
  const std::vector<std::string> headers = {
      "Sun, 06 Nov 1994 08:49:37 GMT",  // 7 s
      "Sun, 06 Nov 1994 08:49:37 GMT",  // now: our own 1 s
      "Sun Nov  6 09:49:38 1994",       // an hour: a minute at most
      "99999999999999999999",           // a minute at most
      "soon",                           // our own 8 s
  };
  std::atomic<std::size_t> tries = 0;
  HttpServer server([&](const Received&) {
    const std::size_t n = tries++;
    if (n == headers.size()) return Reply::json(page_text(0, 1, "", "1"));
    Reply busy = Reply::json("busy", 503);
    busy.headers.emplace_back("Retry-After", headers[n]);
    return busy;
  });
  const auto begin = clock_.steady_now();
  ASSERT_TRUE(list(server));
  EXPECT_EQ(clock_.steady_now() - begin, std::chrono::seconds(7 + 1 + 60 + 60 + 8));
}

TEST_F(ListTest, RetriesEndAtLast) {
  HttpServer server([](const Received&) { return Reply::json("broken", 503); });
  const auto begin = clock_.steady_now();
  EXPECT_EQ(reason_of(list(server)), "transient");
  EXPECT_EQ(server.received().size(), 6U);
  EXPECT_EQ(clock_.steady_now() - begin, std::chrono::milliseconds(15'500));  // 0.5+1+2+4+8
}

TEST_F(ListTest, ADeadlineEndsTheRetries) {
  HttpServer server([](const Received&) { return Reply::json("broken", 503); });
  context_ = context_.with_timeout(std::chrono::seconds(2));
  EXPECT_EQ(reason_of(list(server)), "timeout");
}

TEST_F(ListTest, AnswersOfTheServerAreToldApart) {
  const auto reason_at = [this](int status) {
    HttpServer server([status](const Received&) {
      return Reply::json(R"({"kind":"Status","message":"no, because"})", status);
    });
    auto outcome = list(server);
    EXPECT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, AllOf(HasSubstr("list things"), HasSubstr("no, because")));
    EXPECT_EQ(server.received().size(), 1U);
    return reason_of(outcome);
  };
  EXPECT_EQ(reason_at(401), "unauthorized");
  EXPECT_EQ(reason_at(403), "forbidden");
  EXPECT_EQ(reason_at(404), "gvk-not-found");
  EXPECT_EQ(reason_at(400), "rejected");
  ClusterConfig config;
  config.server = "http://127.0.0.1:" + std::to_string(testing::dead_port());
  Client dead(http_, config, options_, nullptr);
  EXPECT_EQ(reason_of(dead.list(context_, query_, keeper_)), "unreachable");
}

TEST_F(ListTest, SilenceIsATimeout) {
  HttpServer server([](const Received&) {
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  options_.request_timeout = std::chrono::milliseconds(30);
  context_ = base::Context::background();
  EXPECT_EQ(reason_of(list(server)), "timeout");
}

TEST_F(ListTest, AReceiversErrorEndsTheList) {
  HttpServer server([](const Received& r) {
    const auto token = r.query("continue");
    return Reply::json(page_text(0, 1, token + "x", "1"));
  });
  keeper_.on_page = [](std::string_view) -> base::Result<> {
    return base::terminal("enough", "full");
  };
  EXPECT_EQ(reason_of(list(server)), "full");
  EXPECT_EQ(keeper_.pages.size(), 1U);
}

TEST_F(ListTest, CancellationEndsTheList) {
  std::stop_source stop;
  HttpServer server([&stop](const Received&) {
    stop.request_stop();
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  context_ = context_.with_stop(stop.get_token());
  EXPECT_EQ(reason_of(list(server)), "cancelled");
}

TEST_F(ListTest, WarningsOfTheServerAreKeptOnce) {
  HttpServer server([](const Received& r) {
    Reply reply = Reply::json(page_text(0, 1, r.query("continue").empty() ? "c" : "", "1"));
    reply.headers.emplace_back("Warning", R"(299 - "x/v1 Thing is \"old\"")");
    reply.headers.emplace_back("Warning", R"(199 - "something else")");
    return reply;
  });
  ASSERT_TRUE(list(server));
  EXPECT_THAT(warnings_, ElementsAre(R"(x/v1 Thing is "old")"));
}

// field-service-account-token-rotates
TEST_F(ListTest, AMountedTokenIsReplacedWhileWeRun) {
  const auto dir = *base::TempDir::create();
  const auto mount = [&dir](const std::string& revision, const std::string& token) {
    const auto folder = dir.path() / revision;
    ASSERT_TRUE(base::write_file_atomic(folder / "token", token));
    std::filesystem::remove(dir.path() / "..tmp");
    std::filesystem::create_directory_symlink(folder, dir.path() / "..tmp");
    std::filesystem::rename(dir.path() / "..tmp", dir.path() / "..data");
  };
  mount("..2026_01", "one");
  std::filesystem::create_symlink("..data/token", dir.path() / "token");
  std::string good = "Bearer one";
  std::mutex mutex;
  HttpServer server([&](const Received& r) {
    const std::lock_guard lock(mutex);
    if (r.header("authorization") != good) return Reply::json("who?", 401);
    return Reply::json(page_text(0, 1, "", "1"));
  });
  ClusterConfig config;
  config.server = server.url();
  config.token_file = dir.path() / "token";
  Client client(http_, config, options_, nullptr);
  const auto works = [&] {
    auto outcome = client.list(context_, query_, keeper_);
    EXPECT_TRUE(outcome) << outcome.error().message;
  };
  works();
  mount("..2026_02", "two\n");
  good = "Bearer two";
  works();
  // Emptied in place: the last token goes on serving.
  ASSERT_TRUE(std::ofstream(dir.path() / "..2026_02/token", std::ios::trunc));
  works();
  mount("..2026_03", "three");
  good = "Bearer three";
  works();
  std::size_t refused = 0;
  for (const Received& r : server.received()) {
    EXPECT_THAT(r.header("authorization"), Not(::testing::AnyOf("", "Bearer", "Bearer ")))
        << "not-empty";
    refused += r.header("authorization") == "Bearer one" ? 1U : 0U;
  }
  EXPECT_EQ(refused, 1U);
  good = "Bearer four";
  auto unauthorized = client.list(context_, query_, keeper_);
  ASSERT_FALSE(unauthorized);
  EXPECT_EQ(unauthorized.error().reason, "unauthorized");
  EXPECT_THAT(unauthorized.error().message, Not(HasSubstr("three"))) << "never-logged";
}

// field-service-account-token-rotates: a file that is replaced between the request and its refusal.
TEST_F(ListTest, OneRefusedTokenIsReadAnew) {
  const auto dir = *base::TempDir::create();
  const auto file = dir.path() / "token";
  ASSERT_TRUE(base::write_file_atomic(file, "one"));
  std::atomic<int> refused = 0;
  HttpServer server([&](const Received& r) {
    if (r.header("authorization") == "Bearer two") return Reply::json(page_text(0, 1, "", "1"));
    ++refused;
    EXPECT_TRUE(base::write_file_atomic(file, "two"));
    return Reply::json("who?", 401);
  });
  ClusterConfig config;
  config.token_file = file;
  auto outcome = list(server, config);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(refused, 1);
}

TEST_F(ListTest, AnExpiredTokenIsCalledSo) {
  // {"alg":"none"} . {"exp":1767225600} . x
  ClusterConfig config;
  config.token = base::Secret("eyJhbGciOiJub25lIn0.eyJleHAiOjE3NjcyMjU2MDB9.x");
  HttpServer server([](const Received&) { return Reply::json("who?", 401); });
  clock_.advance(std::chrono::seconds(1767225600));
  EXPECT_THAT(list(server, config).error().message,
              AllOf(HasSubstr("the token expired at 2026-01-01T00:00:00Z"), Not(HasSubstr("eyJ"))));
  EXPECT_THAT(list(server).error().message, HasSubstr("no credentials"));
  config.token = base::Secret("opaque");
  EXPECT_THAT(list(server, config).error().message, Not(HasSubstr("expired")));
}

TEST_F(ListTest, ATokenFileThatStaysEmptyIsAnError) {
  const auto dir = *base::TempDir::create();
  ASSERT_TRUE(base::write_file_atomic(dir.path() / "token", "\n"));
  HttpServer server([](const Received&) { return Reply::json(page_text(0, 1, "", "1")); });
  ClusterConfig config;
  config.token_file = dir.path() / "token";
  auto outcome = list(server, config);
  EXPECT_EQ(reason_of(outcome), "unauthorized");
  EXPECT_THAT(outcome.error().message, HasSubstr("token is empty"));
  EXPECT_TRUE(server.received().empty());
}

}  // namespace
}  // namespace kollect::kube
