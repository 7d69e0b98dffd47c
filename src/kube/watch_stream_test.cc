// Framing and back-pressure against scripted servers.
#include "kube/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "support/certificates.h"
#include "support/http_server.h"

namespace kollect::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;
using testing::HttpServerOptions;
using ::testing::IsEmpty;
using testing::Received;
using testing::Reply;
using What = WatchStream::What;

/// Chunks of an answer; what one latch holds back comes when it is open.
Reply chunks(std::vector<std::string> parts) {
  Reply reply;
  reply.chunked = true;
  for (std::string& part : parts) reply.more.emplace_back(nullptr, std::move(part));
  return reply;
}

Reply silent() {
  Reply reply;
  reply.no_answer = true;
  return reply;
}

class WatchStreamTest : public ::testing::Test {
 protected:
  base::ManualClock clock_;
  base::Context context_{clock_, std::stop_token()};
  http::Client http_;
  WatchStream::Limits limits_{.silence = std::chrono::seconds(75)};

  std::unique_ptr<WatchStream> open(const HttpServer& server) {
    http::Request request;
    request.url = server.url() + "/watch";
    return std::make_unique<WatchStream>(http_, context_, std::move(request), limits_);
  }
  /// All lines up to the end.
  static std::vector<std::string> lines_of(WatchStream& stream) {
    std::vector<std::string> lines;
    while (true) {
      const auto item = stream.next();
      if (item.what == What::kEnd) return lines;
      if (item.what == What::kLine) lines.emplace_back(item.line);
    }
  }
};

TEST_F(WatchStreamTest, LinesHoweverTheyAreCut) {
  const std::string text = "one\ntwo two\r\n\n \r\nthree\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < text.size(); at += size) parts.push_back(text.substr(at, size));
    HttpServer server([&](const Received&) { return chunks(parts); });
    auto stream = open(server);
    EXPECT_EQ(stream->next().what, What::kHead);
    EXPECT_THAT(lines_of(*stream), ElementsAre("one", "two two\r", "three")) << size;
    ASSERT_TRUE(stream->answer());
    EXPECT_EQ(stream->answer()->status, 200);
    EXPECT_EQ(stream->bytes(), text.size());
    EXPECT_EQ(stream->next().what, What::kEnd) << "again";
  }
}

TEST_F(WatchStreamTest, TheHeadComesBeforeAnyLine) {
  std::latch go(1);
  HttpServer server([&](const Received&) {
    Reply reply;
    reply.chunked = true;
    reply.more.emplace_back([&go] { go.wait(); }, "late\n");
    return reply;
  });
  auto stream = open(server);
  EXPECT_EQ(stream->next().what, What::kHead);
  go.count_down();
  EXPECT_EQ(stream->next().line, "late");
}

TEST_F(WatchStreamTest, WhatIsCutOffIsNoLine) {
  HttpServer server([](const Received&) {
    Reply reply = chunks({"whole\n", "{\"half\":"});
    reply.close_early = true;
    return reply;
  });
  auto stream = open(server);
  EXPECT_THAT(lines_of(*stream), ElementsAre("whole"));
  ASSERT_FALSE(stream->answer());
  EXPECT_EQ(stream->answer().error().reason, "cut");
}

TEST_F(WatchStreamTest, AnAnswerInOrderMayLackTheLastLineBreak) {
  HttpServer server([](const Received&) { return chunks({"one\n", "two"}); });
  auto stream = open(server);
  EXPECT_THAT(lines_of(*stream), ElementsAre("one", "two"));
  EXPECT_TRUE(stream->answer());
}

TEST_F(WatchStreamTest, OtherAnswersComeWithTheServersWords) {
  HttpServer server([](const Received&) {
    Reply reply = Reply::json(R"({"kind":"Status"})" + std::string(200'000, ' '), 429);
    reply.headers.emplace_back("Retry-After", "7");
    return reply;
  });
  auto stream = open(server);
  EXPECT_EQ(stream->next().what, What::kEnd) << "neither head nor lines";
  ASSERT_TRUE(stream->answer());
  EXPECT_EQ(stream->answer()->status, 429);
  EXPECT_EQ(stream->answer()->header("retry-after"), "7");
  EXPECT_TRUE(stream->answer()->body.starts_with(R"({"kind":"Status"})"));
  EXPECT_LE(stream->answer()->body.size(), 64U << 10U);
}

TEST_F(WatchStreamTest, SilenceEndsIt) {
  std::latch done(1);
  HttpServer server([&](const Received&) {
    Reply reply = chunks({"one\n"});
    reply.more.emplace_back([&done] { done.wait(); }, "");
    return reply;
  });
  auto stream = open(server);
  EXPECT_EQ(stream->next().what, What::kHead);
  EXPECT_EQ(stream->next().line, "one");
  clock_.advance(std::chrono::seconds(60));
  stream->set_silence(std::chrono::seconds(10));
  EXPECT_EQ(stream->next().what, What::kEnd);
  ASSERT_FALSE(stream->answer());
  EXPECT_EQ(stream->answer().error().reason, "timeout");
  EXPECT_THAT(stream->answer().error().message, HasSubstr("10s"));
  EXPECT_EQ(stream->last_byte(), base::SteadyTime());
  done.count_down();
}

TEST_F(WatchStreamTest, CancellingEndsIt) {
  HttpServer server([](const Received&) { return silent(); });
  auto stream = open(server);
  std::jthread other([&] { stream->cancel(); });
  EXPECT_EQ(stream->next().what, What::kEnd);
  ASSERT_FALSE(stream->answer());
  EXPECT_EQ(stream->answer().error().kind, base::ErrorKind::kCancelled);
}

TEST_F(WatchStreamTest, ItsEndEndsTheRequest) {
  HttpServer server([](const Received&) { return silent(); });
  open(server).reset();
}

/// Sends lines for as long as it is let; counts what went out.
struct Flood {
  std::string line = std::string(1000, 'x') + "\n";
  std::size_t lines = 50'000;
  std::atomic<std::size_t> sent = 0;

  Reply reply() {
    Reply flood;
    flood.chunked = true;
    for (std::size_t i = 0; i < lines / 50; ++i) {
      std::string part;
      for (int j = 0; j < 50; ++j) part += line;
      flood.more.emplace_back([this] { ++sent; }, std::move(part));
    }
    return flood;
  }
};

void expect_all(WatchStream& stream, const Flood& flood, std::size_t lines = 0) {
  while (true) {
    const auto item = stream.next();
    if (item.what == What::kEnd) break;
    if (item.what != What::kLine) continue;
    ++lines;
    ASSERT_EQ(item.line.size(), flood.line.size() - 1);
  }
  EXPECT_EQ(lines, flood.lines);
  EXPECT_TRUE(stream.answer()) << stream.answer().error().message;
}

TEST_F(WatchStreamTest, ASlowReaderHoldsUpTheServerAndNothingElse) {
  for (const bool tls : {false, true}) {
    Flood flood;
    HttpServerOptions options;
    const testing::TestAuthority authority;
    if (tls) options.certificate = authority.issue("server", {"IP:127.0.0.1"});
    HttpServer server([&](const Received&) { return flood.reply(); }, options);
    limits_.queue_bytes = 256U << 10U;
    StreamLoad load;
    limits_.load = &load;
    http::Request request;
    request.url = server.url();
    auto trust = std::make_shared<http::TlsOptions>();
    trust->ca_pem = authority.pem();
    request.tls = trust;
    WatchStream stream(http_, context_, std::move(request), limits_);
    EXPECT_EQ(stream.next().what, What::kHead);
    EXPECT_EQ(stream.next().what, What::kLine);
    // Nothing is taken now.
    while (stream.bytes() < limits_.queue_bytes) std::this_thread::yield();
    // The same I/O thread serves others meanwhile, however long.
    HttpServer other([](const Received&) { return Reply::json("{}"); });
    http::Request get;
    get.url = other.url();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(http_.fetch(context_, get));
    // What is held up does not count as silent.
    clock_.advance(std::chrono::hours(1));
    ASSERT_TRUE(http_.fetch(context_, get));
    EXPECT_LE(stream.bytes(), limits_.queue_bytes + (64U << 10U)) << "tls " << tls;
    EXPECT_LT(flood.sent, flood.lines / 50);
    EXPECT_GT(load.waiting, 0U);
    expect_all(stream, flood, 1);
    EXPECT_EQ(load.waiting, 0U);
    EXPECT_GE(load.held_up, 1U);
    limits_.load = nullptr;
  }
}

TEST_F(WatchStreamTest, ALineLongerThanTheQueuePasses) {
  Flood flood;
  flood.line = std::string(3'000'000, 'y') + "\n";
  flood.lines = 50;
  HttpServer server([&](const Received&) { return flood.reply(); });
  limits_.queue_bytes = 1000;
  auto stream = open(server);
  expect_all(*stream, flood);
}

TEST_F(WatchStreamTest, ALineThatIsTooLongEndsIt) {
  limits_.line_bytes = 1U << 20U;
  for (const char* rest : {"", "\nnever seen\n"}) {
    HttpServer server([&](const Received&) {
      return chunks({"fine\n", std::string(3'000'000, 'z') + rest});
    });
    auto stream = open(server);
    EXPECT_EQ(stream->next().what, What::kHead);
    EXPECT_EQ(stream->next().line, "fine");
    EXPECT_EQ(stream->next().what, What::kEnd);
    ASSERT_FALSE(stream->answer());
    EXPECT_EQ(stream->answer().error().reason, "too-large");
    EXPECT_EQ(stream->next().what, What::kEnd);
  }
}

TEST_F(WatchStreamTest, NobodyThere) {
  http::Request request;
  request.url = fmt::format("http://127.0.0.1:{}", testing::dead_port());
  WatchStream stream(http_, context_, std::move(request), limits_);
  EXPECT_THAT(lines_of(stream), IsEmpty());
  ASSERT_FALSE(stream.answer());
  EXPECT_EQ(stream.answer().error().reason, "unreachable");
}

}  // namespace
}  // namespace kollect::kube
