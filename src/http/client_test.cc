#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <latch>

#include "support/http_server.h"

namespace kollect::http {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;  // NOLINT: scripted servers

const base::Context kContext = base::Context::background();

Request get(const std::string& url) {
  Request request;
  request.url = url;
  return request;
}

TEST(HttpClient, AnswersComeWithStatusHeadersAndBody) {
  HttpServer server([](const Received& r) {
    Reply reply = Reply::json("{\"path\":\"" + r.target + "\"}", 404);
    reply.headers.emplace_back("X-Twice", "a");
    reply.headers.emplace_back("X-Twice", "b");
    return reply;
  });
  Client client;
  auto answer = client.fetch(kContext, get(server.url() + "/x?y=1"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, R"({"path":"/x?y=1"})");
  EXPECT_EQ(answer->header("content-type"), "application/json");
  EXPECT_EQ(answer->headers.count("x-twice"), 2U);
}

TEST(HttpClient, SendsMethodHeadersBodyAndCredentials) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  Request request = get(server.url() + "/a");
  request.method = "PATCH";
  request.headers = {{"Content-Type", "text/x"}, {"X-Empty", ""}};
  request.body = "hello";
  request.bearer_token = base::Secret("tok");
  ASSERT_TRUE(client.fetch(kContext, request));
  request.bearer_token.reset();
  request.method = "POST";
  request.headers.clear();
  request.basic_auth = {"user", base::Secret("p:w")};
  ASSERT_TRUE(client.fetch(kContext, request));
  const auto seen = server.received();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].method, "PATCH");
  EXPECT_EQ(seen[0].body, "hello");
  EXPECT_EQ(seen[0].header("content-type"), "text/x");
  EXPECT_EQ(seen[0].header("authorization"), "Bearer tok");
  EXPECT_EQ(seen[0].headers.count("x-empty"), 1U);
  EXPECT_EQ(seen[1].header("authorization"), "Basic dXNlcjpwOnc=");
  EXPECT_EQ(seen[1].headers.count("content-type"), 0U);
}

TEST(HttpClient, AnEmptyTokenIsNotSent) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  Request request = get(server.url());
  request.bearer_token = base::Secret("");
  ASSERT_TRUE(client.fetch(kContext, request));
  EXPECT_EQ(server.received().at(0).headers.count("authorization"), 0U);
}

TEST(HttpClient, LineBreaksInHeadersAreRefused) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  Request request = get(server.url());
  request.bearer_token = base::Secret("a\r\nX-Other: b");
  auto answer = client.fetch(kContext, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(answer.error().message, Not(HasSubstr("X-Other")));
  EXPECT_TRUE(server.received().empty());
}

TEST(HttpClient, ConnectionsAreReused) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.fetch(kContext, get(server.url())));
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpClient, RedirectsAreNotFollowed) {
  HttpServer server([](const Received&) {
    Reply reply;
    reply.status = 302;
    reply.headers = {{"Location", "/elsewhere"}};
    return reply;
  });
  Client client;
  auto answer = client.fetch(kContext, get(server.url()));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(server.received().size(), 1U);
}

TEST(HttpClient, StreamsAndStopsWhenTheReaderWants) {
  HttpServer server([](const Received&) {
    Reply reply;
    reply.chunked = true;
    reply.body = std::string(100'000, 'a');
    return reply;
  });
  Client client;
  std::size_t bytes = 0;
  auto all = client.stream(kContext, get(server.url()), [&](const Response& head, auto data) {
    EXPECT_EQ(head.status, 200);
    bytes += data.size();
    return true;
  });
  ASSERT_TRUE(all);
  EXPECT_EQ(bytes, 100'000U);
  EXPECT_TRUE(all->body.empty());
  auto part = client.stream(kContext, get(server.url()), [](const auto&, auto) { return false; });
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().kind, base::ErrorKind::kCancelled);
}

TEST(HttpClient, TheHeadIsToldBeforeTheBody) {
  std::latch go(1);
  HttpServer server([&](const Received&) {
    Reply reply;
    reply.status = 404;
    reply.chunked = true;
    reply.headers = {{"X-Head", "yes"}};
    reply.more.emplace_back([&go] { go.wait(); }, "body");
    return reply;
  });
  Client client;
  std::promise<void> done;
  std::vector<std::string> order;
  client.start_stream(kContext, get(server.url()),
                      {.on_head =
                           [&](const Response& head) {
                             order.push_back(std::to_string(head.status) + *head.header("x-head"));
                             go.count_down();
                           },
                       .on_data =
                           [&](const Response&, std::string_view data) {
                             order.emplace_back(data);
                             return true;
                           },
                       .done =
                           [&](base::Result<Response> result) {
                             EXPECT_TRUE(result);
                             order.emplace_back("done");
                             done.set_value();
                           }});
  done.get_future().wait();
  EXPECT_THAT(order, ElementsAre("404yes", "body", "done"));
}

/// A stream whose reader takes one piece at a time.
struct HeldStream {
  std::shared_ptr<Flow> flow = std::make_shared<Flow>();
  std::atomic<std::size_t> bytes = 0;
  std::atomic<int> pieces = 0;
  std::promise<base::Result<Response>> done;

  void start(Client& client, const base::Context& context, Request request) {
    request.flow = flow;
    client.start_stream(
        context, std::move(request),
        {.on_head = nullptr,
         .on_data =
             [this](const Response&, std::string_view data) {
               bytes += data.size();
               flow->pause();  // first: who sees the piece may resume at once
               ++pieces;
               return true;
             },
         .done = [this](base::Result<Response> result) { done.set_value(std::move(result)); }});
  }
};

TEST(HttpClient, AHeldBodyComesPieceByPieceAndWhole) {
  const TestAuthority authority;
  for (const bool tls : {false, true}) {
    HttpServerOptions options;
    if (tls) options.certificate = authority.issue("server", {"IP:127.0.0.1"});
    HttpServer server(
        [](const Received&) {
          Reply reply;
          reply.chunked = true;
          reply.body = std::string(2'000'000, 'a');
          return reply;
        },
        options);
    Client client;
    Request request = get(server.url());
    auto trust = std::make_shared<TlsOptions>();
    trust->ca_pem = authority.pem();
    request.tls = trust;
    HeldStream stream;
    stream.start(client, kContext, request);
    auto end = stream.done.get_future();
    int resumed = 0;
    while (end.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (stream.pieces <= resumed) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(stream.pieces, resumed + 1) << "nothing comes while it is held up";
      ++resumed;
      stream.flow->resume();
    }
    const auto result = end.get();
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_EQ(stream.bytes, 2'000'000U);
  }
}

TEST(HttpClient, WhatIsHeldUpIsNotStalledAndCanBeCancelled) {
  base::ManualClock clock;
  std::stop_source stop;
  HttpServer server([](const Received&) {
    Reply reply;
    reply.chunked = true;
    reply.body = std::string(2'000'000, 'a');
    return reply;
  });
  Client client;
  HeldStream stream;
  stream.start(client, base::Context(clock, stop.get_token()), get(server.url()));
  while (stream.pieces == 0) std::this_thread::yield();
  clock.advance(std::chrono::hours(1));
  // The I/O thread looks at its limits between requests.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.fetch(kContext, get(server.url())));
  }
  stream.flow->resume();
  while (stream.pieces == 1) std::this_thread::yield();
  stop.request_stop();
  const auto result = stream.done.get_future().get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "cancelled");
}

TEST(HttpClient, TheStallTimeoutCanBeReplacedWhileItRuns) {
  base::ManualClock clock;
  std::latch begun(1);
  std::latch end(1);
  HttpServer server([&](const Received&) {
    Reply reply;
    reply.chunked = true;
    reply.body = "first";
    reply.more.emplace_back([&end] { end.wait(); }, "");
    return reply;
  });
  Client client;
  auto flow = std::make_shared<Flow>();
  Request request = get(server.url());
  request.flow = flow;
  std::promise<base::Result<Response>> done;
  client.start_stream(
      base::Context(clock, std::stop_token()), request,
      [&](const Response&, std::string_view) {
        flow->set_stall_timeout(std::chrono::hours(2));
        clock.advance(std::chrono::hours(1));
        begun.count_down();
        return true;
      },
      [&](base::Result<Response> result) { done.set_value(std::move(result)); });
  auto result = done.get_future();
  begun.wait();  // what comes after the clock's last advance would never be late
  HttpServer other([](const Received&) { return Reply{}; });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.fetch(kContext, get(other.url())));
  EXPECT_NE(result.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  clock.advance(std::chrono::hours(2));
  flow->set_stall_timeout(std::chrono::hours(2));
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "timeout");
  EXPECT_THAT(answer.error().message, HasSubstr("2h0m0s"));
  end.count_down();
}

TEST(HttpClient, CutBodiesAreErrors) {
  HttpServer server([](const Received& r) {
    Reply reply;
    reply.body = "0123456789";
    reply.close_early = true;
    reply.chunked = r.path() == "/chunked";
    return reply;
  });
  Client client;
  for (const char* path : {"/length", "/chunked"}) {
    auto answer = client.fetch(kContext, get(server.url() + path));
    ASSERT_FALSE(answer) << path;
    EXPECT_EQ(answer.error().kind, base::ErrorKind::kRetryable);
    EXPECT_EQ(answer.error().reason, "cut") << answer.error().message;
  }
}

TEST(HttpClient, BodiesBeyondTheLimitAreErrors) {
  HttpServer server([](const Received&) { return Reply::json(std::string(1000, 'x')); });
  Client client;
  Request request = get(server.url());
  request.max_body_bytes = 1000;
  EXPECT_TRUE(client.fetch(kContext, request));
  request.max_body_bytes = 999;
  auto answer = client.fetch(kContext, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "too-large");
}

TEST(HttpClient, NobodyListeningIsUnreachable) {
  Client client;
  const auto port = std::to_string(testing::dead_port());
  auto answer = client.fetch(kContext, get("http://user:secret@127.0.0.1:" + port + "/p?token=t"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "unreachable");
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("***@127.0.0.1:" + port + "/p"),
                                            Not(HasSubstr("secret")), Not(HasSubstr("token"))));
}

TEST(HttpClient, SilenceEndsAtTheStallTimeout) {
  HttpServer server([](const Received&) {
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  Client client;
  Request request = get(server.url());
  request.stall_timeout = std::chrono::milliseconds(50);
  auto answer = client.fetch(kContext, request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(answer.error().reason, "timeout");
}

TEST(HttpClient, DeadlinesAndCancellationEndARequest) {
  std::stop_source stop;
  std::promise<void> asked;
  HttpServer server([&](const Received& r) {
    if (r.path() == "/cancel") asked.set_value();
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  Client client;
  auto late = client.fetch(kContext.with_timeout(std::chrono::milliseconds(50)),
                           get(server.url() + "/late"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, base::ErrorKind::kCancelled);
  EXPECT_EQ(late.error().reason, "timeout");

  std::promise<base::Result<Response>> result;
  client.start(kContext.with_stop(stop.get_token()), get(server.url() + "/cancel"),
               [&](base::Result<Response> r) { result.set_value(std::move(r)); });
  asked.get_future().wait();
  stop.request_stop();
  auto cancelled = result.get_future().get();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().reason, "cancelled");
  // A request that is cancelled before it begins is not sent.
  EXPECT_FALSE(client.fetch(kContext.with_stop(stop.get_token()), get(server.url() + "/never")));
  for (const Received& r : server.received()) EXPECT_NE(r.path(), "/never");
}

TEST(HttpClient, EndingTheClientFinishesWhatIsUnderWay) {
  std::promise<void> asked;
  HttpServer server([&](const Received&) {
    asked.set_value();
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  std::promise<base::Result<Response>> result;
  {
    Client client;
    client.start(kContext, get(server.url()),
                 [&](base::Result<Response> r) { result.set_value(std::move(r)); });
    asked.get_future().wait();
  }
  auto ended = result.get_future().get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, base::ErrorKind::kCancelled);
}

TEST(HttpClient, ManyAtATime) {
  HttpServer server([](const Received& r) { return Reply::json(r.target); });
  Client client;
  constexpr int kCount = 50;
  std::latch done(kCount);
  std::atomic<int> right = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::string path = "/" + std::to_string(i);
    client.start(kContext, get(server.url() + path), [&, path](base::Result<Response> r) {
      if (r && r->body == path) ++right;
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(right, kCount);
}

TEST(HttpClient, TheGuardChecksLiteralsAndResolvedAddresses) {
  HttpServer server([](const Received&) { return Reply{}; });
  Client client;
  // Opened without a guard: a guarded request must not ride on it.
  const std::string by_name = "http://localhost:" + std::to_string(server.port());
  ASSERT_TRUE(client.fetch(kContext, get(by_name)));
  Request request = get(server.url());
  request.guard = std::make_shared<base::AddressGuard>(false);
  auto literal = client.fetch(kContext, request);
  ASSERT_FALSE(literal);
  EXPECT_EQ(literal.error().kind, base::ErrorKind::kDenied);
  request.url = by_name;
  auto resolved = client.fetch(kContext, request);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().kind, base::ErrorKind::kDenied) << resolved.error().message;
  EXPECT_EQ(server.received().size(), 1U);
}

TEST(HttpClient, NotAUrl) {
  Client client;
  for (const char* url : {"", "ftp://127.0.0.1/x", "file:///etc/passwd", "http://"}) {
    auto answer = client.fetch(kContext, get(url));
    ASSERT_FALSE(answer) << url;
    EXPECT_EQ(answer.error().kind, base::ErrorKind::kConfiguration) << url;
  }
}

// ---- TLS

class HttpTls : public ::testing::Test {
 protected:
  TestAuthority authority_;
  TestAuthority other_{"another authority"};

  static HttpServer::Answer hello() {
    return [](const Received&) { return Reply::json("{}"); };
  }
  HttpServerOptions with_names(const std::vector<std::string>& names) const {
    HttpServerOptions options;
    options.certificate = authority_.issue("server", names);
    options.client_authority_pem = authority_.pem();
    return options;
  }
  static Request with_tls(const std::string& url, TlsOptions tls) {
    Request request = get(url);
    request.tls = std::make_shared<TlsOptions>(std::move(tls));
    return request;
  }
};

TEST_F(HttpTls, TrustsTheGivenAuthorityOnly) {
  HttpServer server(hello(), with_names({"IP:127.0.0.1"}));
  Client client;
  TlsOptions tls;
  tls.ca_pem = authority_.pem();
  EXPECT_TRUE(client.fetch(kContext, with_tls(server.url(), tls)));
  // Not even over the connection that is open already.
  tls.ca_pem = other_.pem();
  auto refused = client.fetch(kContext, with_tls(server.url(), tls));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tls") << refused.error().message;
  auto system = client.fetch(kContext, get(server.url()));
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().reason, "tls");
  TlsOptions blind;
  blind.insecure_skip_verify = true;
  EXPECT_TRUE(client.fetch(kContext, with_tls(server.url(), blind)));
}

TEST_F(HttpTls, ChecksTheName) {
  HttpServer server(hello(), with_names({"DNS:kubernetes.test"}));
  Client client;
  TlsOptions tls;
  tls.ca_pem = authority_.pem();
  auto refused = client.fetch(kContext, with_tls(server.url(), tls));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tls");
  tls.server_name = "kubernetes.test";
  auto answer = client.fetch(kContext, with_tls(server.url() + "/a/b?c=d", tls));
  ASSERT_TRUE(answer) << answer.error().message;
  const Received seen = server.received().at(0);
  EXPECT_EQ(seen.server_name, "kubernetes.test");
  EXPECT_EQ(seen.header("host"), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(seen.target, "/a/b?c=d");
}

TEST_F(HttpTls, ClientCertificatesDoNotShareConnections) {
  HttpServer server(hello(), with_names({"IP:127.0.0.1"}));
  Client client;
  TlsOptions tls;
  tls.ca_pem = authority_.pem();
  for (const char* name : {"alice", "bob", ""}) {
    const auto pair = authority_.issue(name);
    tls.client_cert_pem = *name == '\0' ? "" : pair.cert_pem;
    tls.client_key_pem = base::Secret(*name == '\0' ? "" : pair.key_pem);
    for (int i = 0; i < 2; ++i) {
      auto answer = client.fetch(kContext, with_tls(server.url(), tls));
      ASSERT_TRUE(answer) << answer.error().message;
    }
  }
  std::vector<std::string> names;
  for (const Received& r : server.received()) names.push_back(r.client_name);
  EXPECT_THAT(names, ElementsAre("alice", "alice", "bob", "bob", "", ""));
  EXPECT_EQ(server.connections(), 3U);
}

// ---- proxies

TEST_F(HttpTls, ProxiesTunnelAndTheEnvironmentIsIgnored) {
  HttpServer target(hello(), with_names({"IP:127.0.0.1"}));
  HttpServerOptions proxy_options;
  proxy_options.proxy = true;
  HttpServer plain_proxy(hello(), proxy_options);
  proxy_options.certificate = authority_.issue("proxy", {"IP:127.0.0.1"});
  HttpServer tls_proxy(hello(), proxy_options);
  TlsOptions tls;
  tls.ca_pem = authority_.pem();
  setenv("https_proxy", plain_proxy.url().c_str(), 1);
  setenv("no_proxy", "*", 1);
  Client client;
  Request request = with_tls(target.url() + "/direct", tls);
  ASSERT_TRUE(client.fetch(kContext, request));
  EXPECT_EQ(plain_proxy.received().size(), 0U);

  request = with_tls(target.url() + "/plain", tls);
  request.proxy_url = "http://user:pw@127.0.0.1:" + std::to_string(plain_proxy.port());
  auto plain = client.fetch(kContext, request);
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_EQ(plain_proxy.received().size(), 1U);
  EXPECT_EQ(plain_proxy.received()[0].method, "CONNECT");
  EXPECT_EQ(plain_proxy.received()[0].header("proxy-authorization"), "Basic dXNlcjpwdw==");

  request = with_tls(target.url() + "/tls", tls);
  request.proxy_url = tls_proxy.url();
  auto through_tls = client.fetch(kContext, request);
  ASSERT_TRUE(through_tls) << through_tls.error().message;
  EXPECT_EQ(tls_proxy.received().size(), 1U);
  EXPECT_EQ(target.received().size(), 3U);

  request.proxy_url = "http://127.0.0.1:" + std::to_string(testing::dead_port());
  auto dead = client.fetch(kContext, request);
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().reason, "unreachable");
  unsetenv("https_proxy");
  unsetenv("no_proxy");
}

// ---- texts

TEST(RedactUrl, HidesUserInformation) {
  EXPECT_EQ(redact_url("https://host/path"), "https://host/path");
  EXPECT_EQ(redact_url("https://u:p@host:8443/path"), "https://***@host:8443/path");
  EXPECT_EQ(redact_url("https://u@host"), "https://***@host");
  EXPECT_EQ(redact_url("https://u:p@ss@host/x"), "https://***@host/x");
  EXPECT_EQ(redact_url("https://u:pa/ss@host/x"), "https://***@host/x");
  EXPECT_EQ(redact_url("https://host/pkg@v1"), "https://host/pkg@v1");
  EXPECT_EQ(redact_url("https://[::1]:443/pkg@v1"), "https://[::1]:443/pkg@v1");
  EXPECT_EQ(redact_url("u:p@host/x"), "***@host/x");
  EXPECT_EQ(redact_url(""), "");
}

}  // namespace
}  // namespace kollect::http
