#include "http/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <stdexcept>

#include "http/server_fixture.h"
#include "support/certificates.h"

namespace kollect::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SocketStream;
using ::testing::StartsWith;
using testing::TestAuthority;

TEST(HttpServer, AnswersOverOneConnection) {
  const auto server = serve(echo);
  Client client;
  for (int i = 0; i < 3; ++i) {
    Request request = get(*server, fmt::format("/a%20b?x={}", i));
    request.method = "PUT";
    request.body = std::string(100'000, 'x');
    auto answer = client.fetch(kContext, request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, fmt::format("PUT /a%20b?x={} ", i) + request.body);
    EXPECT_TRUE(answer->header("date"));
  }
  EXPECT_EQ(server->counts().accepted, 1U);
  EXPECT_EQ(server->counts().requests, 3U);
}

TEST(HttpServer, RequestsHaveHeadersParametersAndPeer) {
  std::shared_ptr<const ServerRequest> seen;
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>& request, Reply reply) {
    seen = request;
    reply.send(Answer::json(201, "{}"));
  });
  const std::string answer = talk(*server,
                                  "GET http://elsewhere/x?a=1&b=%2F+c&d&a=2 HTTP/1.1\r\nHost: h\r\n"
                                  "X-Odd:  v \r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 201 Created\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->path, "/x");
  EXPECT_EQ(seen->header("x-odd"), "v");
  EXPECT_FALSE(seen->header("x-none"));
  EXPECT_THAT(seen->peer, StartsWith("127.0.0.1:"));
  EXPECT_THAT(seen->parameters(),
              ::testing::ElementsAre(std::pair("a", "1"), std::pair("a", "2"),
                                     std::pair("b", "/ c"), std::pair("d", "")));
}

TEST(HttpServer, RefusesWhatProxiesMayReadDifferently) {
  const auto server = serve(echo);
  struct Case {
    const char* request;
    int status;
  };
  const std::vector<Case> cases = {
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
       "Transfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX : 1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n", 417},
      {"\x16\x03\x01 hello\r\n\r\n", 400},
  };
  for (const Case& one : cases) {
    // A request behind a refused one is never answered.
    const std::string answer =
        talk(*server, std::string(one.request) + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(answer, StartsWith(fmt::format("HTTP/1.1 {} ", one.status))) << one.request;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << one.request;
    EXPECT_THAT(answer, Not(HasSubstr("/next"))) << one.request;
  }
  EXPECT_EQ(server->counts().refused, cases.size());
  EXPECT_EQ(server->counts().requests, 0U);
}

TEST(HttpServer, HasLimits) {
  const auto server = serve(echo, {.max_header_bytes = 1000, .max_body_bytes = 1000});
  const std::string long_text(2000, 'x');
  EXPECT_THAT(talk(*server, "GET / HTTP/1.1\r\nHost: h\r\nX: " + long_text + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(talk(*server,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n"
                   "Expect: 100-continue\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(
      talk(*server, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                        long_text + "\r\n0\r\n\r\n"),
      StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(talk(*server, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                                std::string(20'000, 'e')),
              StartsWith("HTTP/1.1 400 "));
}

TEST(HttpServer, TimesOutWhoSaysNothing) {
  const auto server = serve(echo, {.idle_timeout = std::chrono::milliseconds(20),
                                   .header_timeout = std::chrono::milliseconds(20),
                                   .body_timeout = std::chrono::milliseconds(20)});
  EXPECT_EQ(talk(*server, ""), "");
  EXPECT_EQ(talk(*server, "GET / HT"), "");
  EXPECT_EQ(talk(*server, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"), "");
}

TEST(HttpServer, PipelinedRequestsAndChunkedBodies) {
  const auto server = serve(echo);
  const std::string answer =
      talk(*server,
           "\r\nPOST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
           "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
           "HEAD /2 HTTP/1.1\r\nHost: h\r\n\r\n"
           "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
           "GET /4 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("POST /1? abc"));
  EXPECT_THAT(answer, HasSubstr("POST /1? abcdeHTTP/1.1 200"));
  EXPECT_THAT(answer, Not(HasSubstr("HEAD /2")));
  EXPECT_THAT(answer, HasSubstr("GET /3?"));
  EXPECT_THAT(answer, Not(HasSubstr("/4")));
}

TEST(HttpServer, AClientThatFinishedSendingGetsItsAnswer) {
  const auto server = serve(echo);
  EXPECT_THAT(talk(*server, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", true), HasSubstr("GET /x?"));
  EXPECT_THAT(talk(*server, "GET /x HTTP/1.0\r\n\r\n"), HasSubstr("GET /x?"));
}

TEST(HttpServer, SaysContinueToThoseWhoWait) {
  const auto server = serve(echo);
  SocketStream stream(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(
      stream.write_all("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                       "Expect: 100-continue\r\n\r\n"));
  EXPECT_EQ(read_until(stream, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(stream.write_all("abc"));
  EXPECT_THAT(read_until(stream, "abc"), HasSubstr("POST /? abc"));
}

TEST(HttpServer, AHandlerMayAnswerLaterNeverOrBadly) {
  std::promise<Reply> later;
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>& request, Reply reply) {
    if (request->path == "/later") return later.set_value(std::move(reply));
    if (request->path == "/throw") throw std::runtime_error("broken");
    if (request->path == "/never") return;
    Answer answer = Answer::text(200, "x");
    answer.headers.emplace_back("X-Split", "a\r\nX-Evil: b");
    reply.send(std::move(answer));
  });
  Client client;
  auto asked = std::async(std::launch::async,
                          [&] { return client.fetch(kContext, get(*server, "/later")); });
  later.get_future().get().send(Answer::text(200, "late"));
  EXPECT_EQ(asked.get()->body, "late");
  EXPECT_EQ(client.fetch(kContext, get(*server, "/throw"))->status, 500);
  const auto never = client.fetch(kContext, get(*server, "/never"));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().kind, base::ErrorKind::kRetryable);
  EXPECT_FALSE(client.fetch(kContext, get(*server, "/split"))->header("x-evil"));
}

/// Counts up to `end`, waiting for a wake before each piece but the first.
class Counter final : public BodySource {
 public:
  Counter(int end, BodySource::Next last) : end_(end), last_(last) {}
  void start(std::function<void()> wake) override {
    wake_ = std::move(wake);
    started.set_value();
  }
  Pull pull(std::string& out) override {
    if (at_ >= allowed) return {.next = Next::kWait};
    out += fmt::format("{};", at_++);
    return {.next = at_ == end_ ? last_ : Next::kMore};
  }
  void allow(int upto) {
    allowed = upto;
    wake_();
  }
  std::promise<void> started;
  std::atomic<int> allowed = 1;

 private:
  std::function<void()> wake_;
  int at_ = 0;
  int end_;
  BodySource::Next last_;
};

Answer streamed(std::shared_ptr<BodySource> source) {
  Answer answer;
  answer.source = std::move(source);
  return answer;
}

TEST(HttpServer, StreamsWhatASourceGives) {
  auto source = std::make_shared<Counter>(5, BodySource::Next::kEnd);
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>& request, Reply reply) {
    if (request->path == "/stream") return reply.send(streamed(source));
    reply.send(Answer::text(200, "other"));
  });
  Client client;
  std::string body;
  auto answer = client.stream(kContext, get(*server, "/stream"),
                              [&](const Response& head, std::string_view data) {
                                EXPECT_EQ(head.header("transfer-encoding"), "chunked");
                                body += data;
                                if (body == "0;") source->allow(3);
                                if (body == "0;1;2;") source->allow(5);
                                return true;
                              });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(body, "0;1;2;3;4;");
  EXPECT_EQ(client.fetch(kContext, get(*server))->body, "other");
  EXPECT_EQ(server->counts().accepted, 1U);
}

TEST(HttpServer, StreamsToOldClientsByClosing) {
  auto source = std::make_shared<Counter>(3, BodySource::Next::kEnd);
  source->allowed = 3;
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    reply.send(streamed(source));
  });
  const std::string answer = talk(*server, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n0;1;2;"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
}

TEST(HttpServer, ACutStreamIsAFailureForTheClient) {
  auto source = std::make_shared<Counter>(3, BodySource::Next::kCut);
  source->allowed = 3;
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    reply.send(streamed(source));
  });
  Client client;
  std::string body;
  const auto answer =
      client.stream(kContext, get(*server), [&](const Response&, std::string_view data) {
        body += data;
        return true;
      });
  EXPECT_EQ(body, "0;1;2;");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "cut");
}

/// Gives for ever; tells when it dies and how much it gave.
class Endless final : public BodySource {
 public:
  explicit Endless(std::atomic<std::uint64_t>& given, std::promise<void>& gone)
      : given_(given), gone_(gone) {}
  ~Endless() override { gone_.set_value(); }
  Pull pull(std::string& out) override {
    constexpr std::size_t kPiece = 64U << 10U;
    out.append(kPiece, 'x');
    given_ += kPiece;
    return {.next = Next::kMore};
  }

 private:
  std::atomic<std::uint64_t>& given_;
  std::promise<void>& gone_;
};

TEST(HttpServer, ASlowClientHoldsTheSourceAndIsClosedInTheEnd) {
  std::atomic<std::uint64_t> given = 0;
  std::promise<void> gone;
  const auto server =
      serve([&](const std::shared_ptr<const ServerRequest>&,
                Reply reply) { reply.send(streamed(std::make_shared<Endless>(given, gone))); },
            {.write_timeout = std::chrono::milliseconds(50), .send_buffer_bytes = 64 << 10});
  const SocketStream stream(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(const_cast<SocketStream&>(stream).write_all("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  gone.get_future().wait();
  EXPECT_EQ(server->counts().slow, 1U);
  EXPECT_LT(given, 32U << 20U);  // buffers of the kernel, and two pieces
}

TEST(HttpServer, ASourceDiesWhenItsClientGoes) {
  std::promise<void> gone;
  class Waiting final : public BodySource {
   public:
    explicit Waiting(std::promise<void>& told) : told_(told) {}
    ~Waiting() override { told_.set_value(); }
    Pull pull(std::string& out) override {
      out += "hello";
      return {.next = Next::kWait};
    }

   private:
    std::promise<void>& told_;
  };
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    reply.send(streamed(std::make_shared<Waiting>(gone)));
  });
  {
    SocketStream stream(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
    ASSERT_TRUE(stream.write_all("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_THAT(read_until(stream, "hello"), HasSubstr("5\r\nhello"));
  }
  gone.get_future().wait();
}

TEST(HttpServer, ASourceIsAskedAgainAfterItsTime) {
  class Ticker final : public BodySource {
   public:
    Pull pull(std::string& out) override {
      out += fmt::format("{};", at_++);
      if (at_ == 4) return {};
      return {.next = Next::kWait, .at_most = std::chrono::milliseconds(1)};
    }

   private:
    int at_ = 0;
  };
  const auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    reply.send(streamed(std::make_shared<Ticker>()));
  });
  Client client;
  EXPECT_EQ(client.fetch(kContext, get(*server))->body, "0;1;2;3;");
}

TEST(HttpServer, StopEndsStreamsInOrderAndWaitsForAnswers) {
  auto source = std::make_shared<Counter>(5, BodySource::Next::kEnd);
  std::promise<Reply> later;
  auto server = serve([&](const std::shared_ptr<const ServerRequest>& request, Reply reply) {
    if (request->path == "/stream") return reply.send(streamed(source));
    later.set_value(std::move(reply));
  });
  Client client;
  auto stream = std::async(std::launch::async,
                           [&] { return client.fetch(kContext, get(*server, "/stream")); });
  auto slow =
      std::async(std::launch::async, [&] { return client.fetch(kContext, get(*server, "/slow")); });
  source->started.get_future().wait();
  Reply reply = later.get_future().get();
  auto stopped = std::async(std::launch::async, [&] { server->stop(std::chrono::seconds(60)); });
  auto first = stream.get();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->body, "0;");
  reply.send(Answer::text(200, "done"));
  auto second = slow.get();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "done");
  stopped.wait();
  EXPECT_FALSE(client.fetch(kContext, get(*server)));
}

TEST(HttpServer, ARePlyMayOutliveTheServer) {
  std::promise<Reply> later;
  auto server = serve([&](const std::shared_ptr<const ServerRequest>&, Reply reply) {
    later.set_value(std::move(reply));
  });
  Client client;
  auto asked = std::async(std::launch::async, [&] { return client.fetch(kContext, get(*server)); });
  Reply reply = later.get_future().get();
  server.reset();
  EXPECT_FALSE(asked.get());
  reply.send(Answer::text(200, "too late"));
}

TEST(HttpServer, SpeaksTlsAndKnowsItsClients) {
  const TestAuthority authority;
  const auto own = authority.issue("server", {"IP:127.0.0.1"});
  const auto other = authority.issue("other", {"IP:127.0.0.1"});
  const auto user = authority.issue("alice");
  ServerIdentity identity{.certificate_pem = own.cert_pem,
                          .key_pem = base::Secret(own.key_pem),
                          .client_ca_pem = authority.pem()};
  ServerOptions options;
  options.tls = identity;
  const auto server =
      serve([](const std::shared_ptr<const ServerRequest>& request,
               Reply reply) { reply.send(Answer::text(200, "hello " + request->client_name)); },
            std::move(options));
  Request request;
  request.url = fmt::format("https://127.0.0.1:{}/", server->port());
  auto tls = std::make_shared<TlsOptions>();
  tls->ca_pem = authority.pem();
  request.tls = tls;
  Client client;
  EXPECT_EQ(client.fetch(kContext, request)->body, "hello ");
  auto with_certificate = std::make_shared<TlsOptions>(*tls);
  with_certificate->client_cert_pem = user.cert_pem;
  with_certificate->client_key_pem = base::Secret(user.key_pem);
  request.tls = with_certificate;
  EXPECT_EQ(client.fetch(kContext, request)->body, "hello alice");
  // A certificate of somebody else's authority.
  const auto stranger = TestAuthority("elsewhere").issue("alice");
  auto wrong = std::make_shared<TlsOptions>(*tls);
  wrong->client_cert_pem = stranger.cert_pem;
  wrong->client_key_pem = base::Secret(stranger.key_pem);
  request.tls = wrong;
  EXPECT_FALSE(Client().fetch(kContext, request));
  // Another certificate for new connections; a broken one is refused and changes nothing.
  identity.certificate_pem = "nonsense";
  EXPECT_FALSE(server->set_identity(identity));
  identity.certificate_pem = other.cert_pem;
  EXPECT_FALSE(server->set_identity(identity)) << "the key is that of the first";
  identity.key_pem = base::Secret(other.key_pem);
  EXPECT_TRUE(server->set_identity(identity));
  request.tls = tls;
  EXPECT_TRUE(Client().fetch(kContext, request));
  // From now on nobody without a certificate.
  identity.client_required = true;
  EXPECT_TRUE(server->set_identity(identity));
  EXPECT_FALSE(Client().fetch(kContext, request));
  request.tls = with_certificate;
  EXPECT_EQ(Client().fetch(kContext, request)->body, "hello alice");
  // No TLS at all on a TLS port.
  EXPECT_THAT(talk(*server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), Not(HasSubstr("hello")));
}

TEST(HttpServer, StartFailsWithAReason) {
  const auto server = serve(echo);
  const auto taken = Server::start({.port = server->port()}, echo);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, base::ErrorKind::kTerminal);
  const auto odd = Server::start({.address = "here"}, echo);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_TRUE(Server::start({.address = ""}, echo));
}

TEST(HttpServer, NoMoreConnectionsThanAllowed) {
  const auto server = serve(echo, {.max_connections = 1});
  SocketStream first(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(first.write_all("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_THAT(read_until(first, "/1?"), HasSubstr("GET /1?"));
  SocketStream second(testing::connect_to(fmt::format("127.0.0.1:{}", server->port())));
  ASSERT_TRUE(second.write_all("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(server->counts().accepted, 1U);
  ASSERT_TRUE(first.write_all("GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(read_until(first, "/3?"), HasSubstr("GET /3?"));
  first.shut_down();
  EXPECT_THAT(read_until(second, "/2?"), HasSubstr("GET /2?"));
}

}  // namespace
}  // namespace kollect::http
