// Ready answers, room for new connections, and how a server ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "http/server_fixture.h"

namespace kollect::http {
namespace {

using ::testing::HasSubstr;
using testing::SocketStream;
using ::testing::StartsWith;

/// Answers "/ready" on the short way with its path, method and peer in headers.
PreparedAnswer quick(const RequestView& request) {
  if (request.path != "/ready") return {};
  Answer answer = Answer::text(request.query == "none" ? 304 : 200, std::string(300'000, 'q'));
  answer.headers.emplace_back("X-Quick", std::string(request.method));
  return PreparedAnswer(std::move(answer));
}

TEST(HttpServerQuick, AnswersWhatIsReadyOnTheShortWay) {
  const auto server = serve(echo, {.quick = quick});
  Client client;
  for (int i = 0; i < 3; ++i) {
    const auto ready = client.fetch(kContext, get(*server, "/ready"));
    ASSERT_TRUE(ready) << ready.error().message;
    EXPECT_EQ(ready->body, std::string(300'000, 'q'));
    EXPECT_EQ(ready->header("x-quick"), "GET");
    EXPECT_TRUE(ready->header("date"));
    EXPECT_EQ(client.fetch(kContext, get(*server, "/other"))->body, "GET /other? ");
  }
  EXPECT_EQ(server->counts().accepted, 1U);
  EXPECT_EQ(server->counts().requests, 6U);
  const std::string all = talk(*server,
                               "HEAD /ready HTTP/1.1\r\nHost: h\r\n\r\n"
                               "GET /ready?none HTTP/1.1\r\nHost: h\r\n\r\n"
                               "GET /other HTTP/1.1\r\nHost: h\r\n\r\n"
                               "GET /ready HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, HasSubstr("X-Quick: HEAD\r\nContent-Length: 300000\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\n\r\nHTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(all, HasSubstr("GET /other? HTTP/1.1 200"));
  EXPECT_THAT(all, HasSubstr("GET /ready? ")) << "not a plain request: the handler's";
}

TEST(HttpServerQuick, ManyPipelinedRequests) {
  // One that comes in two pieces goes the long way.
  const auto server =
      serve([](const std::shared_ptr<const ServerRequest>&,
               Reply reply) { reply.send(Answer::text(200, "q")); },
            {.quick = [](const RequestView&) { return PreparedAnswer(Answer::text(200, "q")); }});
  constexpr std::size_t kRequests = 20'000;
  std::string bytes;
  for (std::size_t i = 0; i < kRequests; ++i) bytes += "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  SocketStream stream(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  auto sent = std::async(std::launch::async, [&] { return stream.write_all(bytes); });
  std::string all;
  std::size_t heads = 0;
  while (heads < kRequests) {
    const std::string part = stream.read_some();
    ASSERT_FALSE(part.empty());
    heads += static_cast<std::size_t>(std::ranges::count(part, 'q'));
  }
  EXPECT_TRUE(sent.get());
  EXPECT_EQ(server->counts().requests, kRequests);
}

TEST(HttpServerQuick, APreparedAnswerOfAHandlerTakesMoreHeaders) {
  const PreparedAnswer prepared(Answer::json(200, "{}"));
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    Answer answer;
    answer.prepared = prepared;
    answer.headers.emplace_back("Warning", "w");
    reply.send(std::move(answer));
  });
  const auto answer = Client().fetch(kContext, get(*server));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(answer->header("warning"), "w");
  EXPECT_EQ(answer->header("content-type"), "application/json");
}

TEST(HttpServerQuick, AnIdleConnectionMakesRoom) {
  const auto server = serve(echo, {.max_connections = 2, .replace_idle = true});
  const auto connect = [&] {
    return testing::connect_to(fmt::format("127.0.0.1:{}", server->port()));
  };
  const auto ask = [](SocketStream& stream, const std::string& path) {
    stream.write_all("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return read_until(stream, path + "?");
  };
  SocketStream first(connect());
  EXPECT_THAT(ask(first, "/1"), HasSubstr("/1?"));
  SocketStream second(connect());
  EXPECT_THAT(ask(second, "/2"), HasSubstr("/2?"));
  EXPECT_THAT(ask(first, "/3"), HasSubstr("/3?"));
  SocketStream third(connect());
  EXPECT_THAT(ask(third, "/4"), HasSubstr("/4?"));
  EXPECT_THAT(ask(first, "/5"), HasSubstr("/5?")) << "the second was idle for longer";
  EXPECT_EQ(second.read_some(), "");
  EXPECT_EQ(server->counts().connections, 2U);
}

TEST(HttpServerQuick, LetsOthersInWhileItEndsWhatIsUnderWay) {
  std::promise<Reply> later;
  std::atomic<bool> ending = false;
  const auto server = serve(
      [&](const std::shared_ptr<const ServerRequest>& request, Reply reply) {
        if (request->path == "/later") return later.set_value(std::move(reply));
        reply.send(Answer::text(ending ? 503 : 200, "x"));
      },
      {.accept_while_stopping = true});
  SocketStream slow(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(slow.write_all("GET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
  Reply reply = later.get_future().get();
  SocketStream body(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(body.write_all(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_THAT(read_until(body, "100 Continue\r\n\r\n"), HasSubstr("100"));
  SocketStream idle(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(idle.write_all("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_THAT(read_until(idle, "\r\n\r\nx"), StartsWith("HTTP/1.1 200 "));
  ending = true;
  auto stopped = std::async(std::launch::async, [&] { server->stop(std::chrono::minutes(5)); });
  EXPECT_EQ(idle.read_some(), "") << "idle ones end at once";
  EXPECT_THAT(talk(*server, "GET /ready HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
  ASSERT_TRUE(body.write_all("abc"));
  EXPECT_THAT(read_until(body, "\r\n\r\nx"), StartsWith("HTTP/1.1 503 "));
  reply.send(Answer::text(200, "late"));
  EXPECT_THAT(read_until(slow, "late"), HasSubstr("Connection: close\r\n"));
  slow.shut_down();
  body.shut_down();
  stopped.get();
  EXPECT_EQ(server->counts().connections, 0U);
}

}  // namespace
}  // namespace kollect::http
