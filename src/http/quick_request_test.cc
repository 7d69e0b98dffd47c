// The short way reads the same as the long one, or leaves the request to it.
#include "http/quick_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "http/request_reader.h"

namespace kollect::http {
namespace {

TEST(HttpQuickRequest, ReadsPlainRequestsAsTheReaderDoes) {
  const std::string next = "GET /next";
  for (const std::string& bytes : {
           std::string("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("HEAD /a/b%20c?x=1&y=?%2F HTTP/1.1\r\nhost:h:80\r\n\r\n"),
           std::string("GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: flux-operator/v0.43.0\r\n"
                       "Accept: application/json\r\nAuthorization: Bearer  t \t\r\n"
                       "Accept-Encoding: gzip\r\nX-Empty:\r\nX-Twice: 1\r\nX-Twice: 2\r\n"
                       "Connection: Keep-Alive\r\n\r\n"),
           std::string("GET /? HTTP/1.1\r\nX-Tab: a\tb\r\nHOST: h\r\n\r\n"),
       }) {
    QuickRequest quick;
    RequestView view;
    const std::string both = bytes + next;
    ASSERT_EQ(quick.read(both, view), bytes.size()) << bytes;
    RequestReader reader(8192, 0);
    EXPECT_EQ(reader.feed(both), bytes.size());
    ASSERT_EQ(reader.state(), RequestReader::State::kDone);
    EXPECT_TRUE(reader.keep_alive());
    const ServerRequest request = reader.take();
    EXPECT_EQ(view.method, request.method);
    EXPECT_EQ(view.path, request.path);
    EXPECT_EQ(view.query, request.query);
    ASSERT_EQ(view.headers.size(), request.headers.size());
    for (std::size_t i = 0; i < request.headers.size(); ++i) {
      EXPECT_EQ(base::to_lower(view.headers[i].first), request.headers[i].first);
      EXPECT_EQ(view.headers[i].second, request.headers[i].second);
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(quick.read(bytes.substr(0, size), view), 0U) << size;
    }
  }
}

TEST(HttpQuickRequest, LeavesAllElseToTheReader) {
  const std::string many(25, 'x');
  std::string headers;
  for (const char c : many) headers += std::string(1, c) + ": 1\r\n";
  for (const std::string& bytes : {
           std::string("POST / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("get / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET /\xC3\xA4 HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET / HTTP/1.0\r\nHost: h\r\n\r\n"),
           std::string("GET / HTTP/1.1\nHost: h\n\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost : h\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\n X: folded\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nX: \x01\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\n\r\n"),
           "GET / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n",
       }) {
    QuickRequest quick;
    RequestView view;
    EXPECT_EQ(quick.read(bytes, view), 0U) << bytes;
  }
}

TEST(HttpQuickRequest, AHeaderThatIsThereTwiceIsNone) {
  QuickRequest quick;
  RequestView view;
  const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nb: 3\r\n\r\n";
  ASSERT_EQ(quick.read(bytes, view), bytes.size());
  EXPECT_EQ(view.header("a"), "1");
  EXPECT_FALSE(view.header("b"));
  EXPECT_FALSE(view.header("c"));
  EXPECT_EQ(view.count("B"), 2U);
  EXPECT_EQ(view.count("c"), 0U);
}

}  // namespace
}  // namespace kollect::http
