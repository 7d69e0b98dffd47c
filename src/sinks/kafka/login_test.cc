// Logging in at brokers that say anything. Brokers that are real: transport_kafkatest.cc.
#include "sinks/kafka/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "support/tcp_server.h"

namespace kollect::sinks::kafka {
namespace {

using kollect::testing::SocketStream;
using kollect::testing::TcpServer;
using ::testing::HasSubstr;
using ::testing::Not;

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): bytes with zeros

std::string number(std::size_t value, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU);
  }
  return out;
}

/// Answers the requests of a conversation in their order; requests are numbered from 1.
class Broker {
 public:
  explicit Broker(std::vector<std::string> answers)
      : answers_(std::move(answers)), server_([this](SocketStream& stream) { talk(stream); }) {}

  base::Result<> log_in(const std::string& mechanism) {
    const auto context = base::Context::background().with_timeout(std::chrono::minutes(1));
    KL_ASSIGN(auto wire, events::Wire::connect(context, "127.0.0.1", server_.port()));
    return kafka::log_in(
        context, wire, {.mechanism = mechanism, .username = "u", .secret = base::Secret("s3cret")});
  }
  /// Everything that came.
  std::string heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }

 private:
  void talk(SocketStream& stream) {
    std::size_t asked = 0;
    for (const std::string& body : answers_) {
      const std::string request = stream.read_some();
      if (request.empty()) return;
      {
        const std::scoped_lock lock(mutex_);
        heard_ += request;
      }
      stream.write_all(number(body.size() + 4, 4) + number(++asked, 4) + body);
    }
    while (!stream.read_some().empty()) continue;
  }

  const std::vector<std::string> answers_;
  std::mutex mutex_;
  std::string heard_;
  TcpServer server_;
};

/// Of SaslHandshake: the mechanism is taken.
const std::string kTaken = "\0\0"s + "\0\0\0\0"s;

/// Of SaslAuthenticate: a code, no words, and bytes.
std::string authenticated(std::size_t code, const std::string& bytes) {
  return number(code, 2) + "\xff\xff" + number(bytes.size(), 4) + bytes;
}

TEST(KafkaLogin, ATokenIsTakenOrRefused) {
  Broker taken({kTaken, authenticated(0, "")});
  EXPECT_TRUE(taken.log_in("OAUTHBEARER").has_value());
  EXPECT_THAT(taken.heard(), HasSubstr("n,,\x01"
                                       "auth=Bearer s3cret\x01\x01"));
  // The refusal of RFC 7628 is a challenge and no error.
  Broker refused({kTaken, authenticated(0, R"({"status":"invalid_token s3cret"})")});
  const auto done = refused.log_in("OAUTHBEARER");
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().kind, base::ErrorKind::kDenied);
  EXPECT_EQ(done.error().reason, "auth");
  EXPECT_THAT(done.error().message, Not(HasSubstr("s3cret")));
}

TEST(KafkaLogin, CodesAreSorted) {
  for (const std::string mechanism : {"PLAIN", "OAUTHBEARER", "SCRAM-SHA-256"}) {
    Broker unknown({number(33, 2) + "\0\0\0\0"s});  // UNSUPPORTED_SASL_MECHANISM
    EXPECT_EQ(unknown.log_in(mechanism).error().reason, "auth") << mechanism;
    Broker refused({kTaken, authenticated(58, "")});  // SASL_AUTHENTICATION_FAILED
    EXPECT_EQ(refused.log_in(mechanism).error().reason, "auth") << mechanism;
  }
}

TEST(KafkaLogin, AnswersThatAreNone) {
  for (const std::string& answer : {""s, "\0"s, "\0\0\0\x09x"s}) {
    Broker broker({kTaken, answer});
    const auto done = broker.log_in("PLAIN");
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().kind, base::ErrorKind::kRetryable);
    EXPECT_EQ(done.error().reason, "unreachable");
  }
}

}  // namespace
}  // namespace kollect::sinks::kafka
