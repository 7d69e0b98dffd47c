// Options of a Kafka sink (spec: sinks 14.2; K-11 to K-16, K-53).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sinks/factory.h"
#include "sinks/kafka/dialer.h"
#include "sinks/kafka/errors.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

api::EventSink sink_of(std::map<std::string, std::string> options = {}) {
  api::EventSink out;
  out.metadata.name = "shop";
  out.spec.type = "kafka";
  out.spec.kafka.emplace();
  out.spec.kafka->brokers = {" broker-0.streams.svc:9092 ", "", "broker-1"};
  out.spec.kafka->topic = " inventory.shop ";
  out.spec.options = std::move(options);
  return out;
}

SecretData secret(const std::map<std::string, std::string>& values) {
  SecretData out;
  for (const auto& [key, value] : values) out[key] = base::Secret(value);
  return out;
}

KafkaOptions must(const api::EventSink& sink, const SecretData& auth = {}) {
  auto made = kafka_options(sink, auth, std::nullopt);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(KafkaOptions{});
}
/// Reason of the error; the text names the sink and holds no secret.
std::string refused(const api::EventSink& sink, const SecretData& auth = {}) {
  const auto made = kafka_options(sink, auth, std::nullopt);
  if (made.has_value()) return "accepted";
  EXPECT_EQ(made.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(made.error().message, HasSubstr("sink shop: "));
  EXPECT_THAT(made.error().message, Not(HasSubstr("hunter2")));
  return made.error().reason;
}

TEST(KafkaOptions, Defaults) {
  const auto made = must(sink_of());
  EXPECT_THAT(made.brokers, ElementsAre("broker-0.streams.svc:9092", "broker-1:9092"));
  EXPECT_EQ(made.topic, "inventory.shop");
  EXPECT_TRUE(made.ensure);
  EXPECT_TRUE(made.acks_all);
  EXPECT_EQ(made.compression, "none");
  EXPECT_EQ(made.partitions, 1);
  EXPECT_FALSE(made.replication_factor.has_value());
  EXPECT_FALSE(made.tls.on);
  EXPECT_EQ(made.login.mechanism, "");
  EXPECT_FALSE(made.compacts());
}

TEST(KafkaOptions, EveryOption) {
  const auto made = must(sink_of({{"acks", "1"},
                                  {"compression", "LZ4"},
                                  {"sasl.mechanism", "scram-sha-512"},
                                  {"tls", "true"},
                                  {"partitions", " 12 "},
                                  {"replicationFactor", "3"},
                                  {"retention", "168h"},
                                  {"cleanupPolicy", "compact,delete"},
                                  {"messageMaxBytes", "2097152"},
                                  {"someone.elses", "x"}}),
                         secret({{"username", "writer\n"}, {"password", "hunter2\r\n"}}));
  EXPECT_FALSE(made.acks_all);
  EXPECT_EQ(made.compression, "lz4");
  EXPECT_EQ(made.login.mechanism, "SCRAM-SHA-512");
  EXPECT_EQ(made.login.username, "writer");
  EXPECT_EQ(made.login.secret.reveal(), "hunter2");
  EXPECT_TRUE(made.tls.on);
  EXPECT_EQ(made.partitions, 12);
  EXPECT_EQ(made.replication_factor, 3);
  EXPECT_EQ(made.retention_ms, 604'800'000);
  EXPECT_TRUE(made.compacts());
  EXPECT_EQ(made.message_max_bytes, 2'097'152U);
}

TEST(KafkaOptions, Mistakes) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"acks", "0"},
                                                        {"acks", "two"},
                                                        {"compression", "brotli"},
                                                        {"sasl.mechanism", "GSSAPI"},
                                                        {"tls", "yes"},
                                                        {"partitions", "0"},
                                                        {"partitions", "1e3"},
                                                        {"replicationFactor", "-1"},
                                                        {"retention", "soon"},
                                                        {"retention", "-2"},
                                                        {"cleanupPolicy", "shred"},
                                                        {"messageMaxBytes", "10"},
                                                        {"messageMaxBytes", ""}}) {
    EXPECT_EQ(refused(sink_of({{key, value}})), "bad-option") << key << " " << value;
  }
  auto sink = sink_of();
  sink.spec.kafka.reset();
  EXPECT_EQ(refused(sink), "bad-endpoint");
  for (const auto& brokers : std::vector<std::vector<std::string>>{
           {}, {" "}, {"a:b"}, {"a:0"}, {"u@a:1"}, {"a:1,b:2"}, {"1::2::3"}, {"[x]:1"}, {":1"}}) {
    sink = sink_of();
    sink.spec.kafka->brokers = brokers;
    EXPECT_EQ(refused(sink), "bad-endpoint") << ::testing::PrintToString(brokers);
  }
  for (const char* topic : {"", "a b", "..", "ä", "{cluster}"}) {
    sink = sink_of();
    sink.spec.kafka->topic = topic;
    EXPECT_EQ(refused(sink), "bad-name") << topic;
  }
}

TEST(KafkaOptions, BrokersInEveryForm) {
  auto sink = sink_of();
  sink.spec.kafka->brokers = {"[2001:db8::1]:9093", "2001:db8::1", "kafka://a:1/", "10.0.0.1"};
  EXPECT_THAT(must(sink).brokers,
              ElementsAre("[2001:db8::1]:9093", "[2001:db8::1]:9092", "a:1", "10.0.0.1:9092"));
}

TEST(KafkaOptions, LoggingIn) {
  const auto user = secret({{"username", "u"}, {"password", "hunter2"}});
  EXPECT_EQ(must(sink_of(), user).login.mechanism, "SCRAM-SHA-256");
  EXPECT_EQ(must(sink_of(), secret({{"username", "u"}, {"password", "x"}, {"token", "hunter2"}}))
                .login.secret.reveal(),
            "hunter2");
  EXPECT_EQ(refused(sink_of({{"sasl.mechanism", "PLAIN"}}), user), "bad-option");
  EXPECT_EQ(must(sink_of({{"sasl.mechanism", "PLAIN"}, {"tls", "true"}}), user).login.mechanism,
            "PLAIN");
  EXPECT_EQ(refused(sink_of(), secret({{"username", "u"}})), "bad-secret");
  EXPECT_EQ(refused(sink_of(), secret({{"password", "hunter2"}})), "bad-secret");
  EXPECT_EQ(refused(sink_of({{"sasl.mechanism", "SCRAM-SHA-512"}})), "bad-secret");
  EXPECT_EQ(refused(sink_of({{"sasl.mechanism", "OAUTHBEARER"}, {"tls", "true"}}), user),
            "bad-secret");
  EXPECT_EQ(must(sink_of({{"sasl.mechanism", "OAUTHBEARER"}, {"tls", "true"}}),
                 secret({{"token", "hunter2"}}))
                .login.secret.reveal(),
            "hunter2");
}

TEST(KafkaOptions, Encryption) {
  auto sink = sink_of();
  sink.spec.tls.emplace();
  EXPECT_TRUE(must(sink).tls.on);
  sink.spec.tls->insecure_skip_verify = true;
  EXPECT_TRUE(must(sink).tls.insecure_skip_verify);
  sink.spec.options["tls"] = "false";
  EXPECT_EQ(refused(sink), "bad-option");
  const auto half = secret({{"tls.crt", "x"}});
  const auto both = secret({{"tls.crt", "x"}, {"tls.key", "hunter2"}});
  EXPECT_EQ(refused(sink_of({{"tls", "true"}}), half), "bad-secret");
  EXPECT_EQ(refused(sink_of(), both), "bad-secret");
  EXPECT_EQ(must(sink_of({{"tls", "true"}}), both).tls.client_key_pem.reveal(), "hunter2");
}

TEST(KafkaOptions, TopicsByTemplate) {
  auto sink = sink_of();
  sink.spec.provisioning.emplace();
  sink.spec.provisioning->mode = "existing";
  sink.spec.provisioning->naming.emplace();
  sink.spec.provisioning->naming->name_template = "inv.{cluster}.{namespace}.{name}";
  const auto made = must(sink);
  EXPECT_FALSE(made.ensure);
  EXPECT_EQ(topic_of(made, {"harbor", "ledger"}, "eu 1/é"), "inv.eu_1___.harbor.ledger");
  EXPECT_EQ(topic_of(made, {"harbor", "ledger"}, "{name}"), "inv._name_.harbor.ledger");
  EXPECT_EQ(topic_of(made, {"harbor", "ledger"}, ""), "inv.default.harbor.ledger");
  const auto one = topic_of(made, {"harbor", std::string(253, 'a')}, "c");
  const auto two = topic_of(made, {"harbor", std::string(253, 'a') + "b"}, "c");
  EXPECT_EQ(one.size(), 249U);
  EXPECT_NE(one, two);
  sink.spec.provisioning->naming->name_template = "x.{generation}";
  EXPECT_EQ(refused(sink), "bad-name");
}

TEST(KafkaOptions, CompressionOfTheSpec) {  // K-12
  auto sink = sink_of();
  sink.spec.serialization.emplace();
  sink.spec.serialization->compression = "zstd";
  EXPECT_EQ(must(sink).compression, "zstd");
  sink.spec.options["compression"] = "gzip";
  EXPECT_EQ(must(sink).compression, "gzip");
}

TEST(KafkaOptions, FactoryRefusesWhatCannotWork) {
  auto made = make_event_sink(sink_of({{"events", "changes"}}), {}, {}, {});
  EXPECT_TRUE(made.has_value());
  made = make_event_sink(sink_of({{"events", "all"}}), {}, {}, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().reason, "bad-option");
}

TEST(KafkaDialer, TheWholeAnswerIsJudged) {
  std::vector<std::string> answer = {"192.0.2.7", "2001:db8::7"};
  Dialer dialer(
      std::make_shared<const base::AddressGuard>(false),
      [&](const std::string&) -> base::Result<std::vector<std::string>> { return answer; });
  addrinfo* list = nullptr;
  EXPECT_EQ(dialer.resolve("broker.test", "9092", &list), 0);
  EXPECT_NE(list, nullptr);
  Dialer::release(list);
  EXPECT_FALSE(dialer.refusal().has_value());
  for (const char* bad : {"127.0.0.1", "10.1.2.3", "::1", "169.254.169.254", "::ffff:127.0.0.1"}) {
    answer = {"192.0.2.7", bad};
    EXPECT_NE(dialer.resolve("broker.test", "9092", &list), 0) << bad;
    EXPECT_NE(dialer.resolve(bad, "9092", &list), 0) << bad;
    EXPECT_EQ(dialer.refusal()->reason, "address-refused");
  }
  EXPECT_NE(dialer.resolve("localhost", "9092", &list), 0);
}

TEST(KafkaErrors, ClassesByCode) {  // K-65
  const auto kind = [](rd_kafka_resp_err_t code) { return error_of(code, "topic t").kind; };
  using base::ErrorKind;
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR__TRANSPORT), ErrorKind::kRetryable);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT), ErrorKind::kRetryable);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS), ErrorKind::kRetryable);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED), ErrorKind::kDenied);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED), ErrorKind::kDenied);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART), ErrorKind::kTerminal);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE), ErrorKind::kTerminal);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_POLICY_VIOLATION), ErrorKind::kConfiguration);
  EXPECT_THAT(error_of(RD_KAFKA_RESP_ERR__TRANSPORT, "topic t").message,
              HasSubstr("kafka: topic t: "));
}

}  // namespace
}  // namespace kollect::sinks::kafka
