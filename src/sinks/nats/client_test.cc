// What peers may say that are no NATS server, or that somebody stands before.
#include "sinks/nats/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/tcp_server.h"

namespace kollect::sinks::nats {
namespace {

using kollect::testing::TcpServer;
using ::testing::HasSubstr;

constexpr const char* kPlain = "INFO {\"headers\":true,\"max_payload\":1024}\r\n";
constexpr const char* kSecure =
    "INFO {\"headers\":true,\"max_payload\":1024,\"tls_required\":true}\r\n";

base::Error must_fail(const TcpServer& server, base::Duration patience = std::chrono::minutes(1)) {
  const auto made = Client::connect(base::Context::background().with_timeout(patience),
                                    {.address = "127.0.0.1", .port = server.port(), .name = "bus"},
                                    {.ca_pem = {}, .certificate = {}, .key = {}}, {});
  EXPECT_FALSE(made.has_value());
  return made.has_value() ? base::Error{} : made.error();
}

TEST(NatsClient, AServerThatSaysNothingHoldsNobodyUp) {
  for (const char* greeting : {"", kSecure, kPlain}) {
    const TcpServer server{std::string(greeting)};
    EXPECT_EQ(must_fail(server, std::chrono::milliseconds(200)).kind, base::ErrorKind::kCancelled)
        << greeting;
  }
}

TEST(NatsClient, AnotherProtocolIsSaid) {
  const TcpServer server{std::string("HTTP/1.1 400 Bad Request\r\n\r\n")};
  EXPECT_THAT(must_fail(server).message, HasSubstr("not the NATS protocol"));
}

// Words before the handshake are nobody's: they must not be read as the beginning of what comes
// after it.
TEST(NatsClient, NothingIsTakenOverIntoTls) {
  const TcpServer server{std::string(kSecure) + "MSG _INBOX"};
  EXPECT_THAT(must_fail(server).message, HasSubstr("not the NATS protocol"));
}

}  // namespace
}  // namespace kollect::sinks::nats
