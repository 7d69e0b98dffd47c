// The transport alone against a real broker (spec: sinks 14.2, 16; K-13, K-51 to K-53, K-63).
#include "sinks/kafka/kafka_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

const InventoryId kInventory{"harbor", "ledger"};

events::Message message_of(const std::string& key, std::optional<std::string> body) {
  events::Message out;
  out.inventory = kInventory;
  out.key = key;
  out.body = std::move(body);
  out.headers = {{"Kollect-Type", "upsert"}, {"Kollect-Empty", ""}};
  return out;
}

class KafkaTransport : public ::testing::Test {
 protected:
  base::Context context() const { return background_.with_timeout(std::chrono::seconds(30)); }
  base::Result<> open(events::Transport& transport) const {
    return transport.open(context(), kInventory, "pier-7");
  }
  base::Result<> deliver(events::Transport& transport, events::Message message) const {
    KL_TRY(open(transport));
    KL_TRY(transport.send(context(), std::move(message)));
    return transport.flush(context());
  }
  base::Result<> deliver(const KafkaOptions& options) const {
    return deliver(*make_transport(options), message_of("k", "body"));
  }
  /// The error of a delivery; it never tells a secret.
  base::Error failure_of(const base::Result<>& result) const {
    EXPECT_FALSE(result.has_value());
    if (result.has_value()) return {};
    for (const char* word : {"secret", "guess"}) {
      EXPECT_THAT(result.error().message, Not(HasSubstr(word)));
    }
    return result.error();
  }
  base::Error failure(const KafkaOptions& options) const { return failure_of(deliver(options)); }
  /// A topic as somebody else made it.
  std::string made(KafkaOptions options) const {
    options.brokers = {broker().value("KAFKA_PLAIN")};
    options.login = {};
    options.tls = {};
    const auto client = Client::create(options, {});
    const auto created = create_topic(context(), **client, options, options.topic);
    EXPECT_TRUE(created.has_value()) << created.error().message;
    return options.topic;
  }
  /// Gives the user guest a right on a topic.
  void allow(const std::string& topic, rd_kafka_AclOperation_t operation) const {
    administer(topic, [&](rd_kafka_t* handle, rd_kafka_queue_t* queue) {
      const std::unique_ptr<rd_kafka_AclBinding_t, Freed<rd_kafka_AclBinding_destroy>> acl(
          rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str(),
                                  RD_KAFKA_RESOURCE_PATTERN_LITERAL, "User:guest", "*", operation,
                                  RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, nullptr, 0));
      auto* list = acl.get();
      rd_kafka_CreateAcls(handle, &list, 1, nullptr, queue);
    });
  }
  static KafkaOptions as_guest(const std::string& topic) {
    auto options = trusted_options(topic);
    options.login.username = "guest";
    return options;
  }

  base::Context background_ = base::Context::background();
};

TEST_F(KafkaTransport, MessagesArriveWithKeyAndHeaders) {
  const auto options = trusted_options(new_topic("arrive"));
  const auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  EXPECT_TRUE(transport->take_created());
  EXPECT_FALSE(transport->take_created());
  for (auto body : {std::optional<std::string>("one"), std::optional<std::string>(""),
                    std::optional<std::string>()}) {
    ASSERT_TRUE(transport->send(context(), message_of("a/b", body)).has_value());
  }
  ASSERT_TRUE(transport->flush(context()).has_value());
  const auto all = reader().read_all(options.topic);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].body, "one");
  EXPECT_EQ(all[1].body, "");
  EXPECT_EQ(all[2].body, std::nullopt);
  for (const auto& record : all) {
    EXPECT_EQ(record.key, "a/b");
    EXPECT_THAT(record.headers,
                ElementsAre(Pair("Kollect-Type", "upsert"), Pair("Kollect-Empty", "")));
  }
}

/// Hashes that org.apache.kafka.common.utils.Utils gives: toPositive(murmur2(key)).
TEST_F(KafkaTransport, PartitionsAreThoseOfClientsInJava) {  // K-51
  const std::vector<std::pair<std::string, int>> known = {
      {"/harbor/ledger", 111933818},
      {"pier-7/harbor/ledger", 1399761265},
      {"pier-7/cluster/rollup", 1898573072},
      {"pier-7/harbor/ledger/cranes/5f1c8a60-0000-4000-8000-00000000b001", 1344042965},
      {"pier-8/harbor/ledger/cranes/5f1c8a60-0000-4000-8000-00000000b001", 77813524},
      {"a", 584102524},
      {"ab", 316155434},
      {"abc", 479470107},
      {"abcd", 823834100},
      {"piér/näs/😀", 322973621},
      {std::string(300, 'x'), 403018756}};
  constexpr int kPartitions = 7;
  auto options = plain_options(new_topic("murmur2"));
  options.partitions = kPartitions;
  const auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  for (const auto& [key, hash] : known) {
    ASSERT_TRUE(transport->send(context(), message_of(key, "x")).has_value());
  }
  ASSERT_TRUE(transport->flush(context()).has_value());
  std::map<std::string, int> found;
  for (const auto& record : reader().read_all(options.topic)) found[record.key] = record.partition;
  for (const auto& [key, hash] : known) EXPECT_EQ(found[key], hash % kPartitions) << key;
}

TEST_F(KafkaTransport, ABracketGoesToEveryPartition) {
  auto options = plain_options(new_topic("bracket"));
  options.partitions = 3;
  const auto transport = make_transport(options);
  auto message = message_of("k", "begin");
  message.bracket = true;
  ASSERT_TRUE(deliver(*transport, message).has_value());
  const auto all = reader().read_all(options.topic);
  ASSERT_THAT(all, SizeIs(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].partition, i);
}

TEST_F(KafkaTransport, EveryWayToLogIn) {  // K-53
  const auto topic = new_topic("log-in");
  for (const char* mechanism : {"SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"}) {
    auto options = trusted_options(topic);
    options.login.mechanism = mechanism;
    EXPECT_TRUE(deliver(options).has_value()) << mechanism;
    options.login.secret = base::Secret("guess");
    const auto error = failure(options);
    EXPECT_EQ(error.reason, "auth") << mechanism;
    EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
    options.login.secret = base::Secret("secret");
    options.brokers = {broker().value("KAFKA_SASL")};
    options.tls = {};
    EXPECT_TRUE(deliver(options).has_value()) << mechanism;
  }
  auto options = trusted_options(topic);
  options.login = {.mechanism = "OAUTHBEARER",
                   .username = {},
                   .secret = base::Secret(broker().value("KAFKA_TOKEN"))};
  EXPECT_TRUE(deliver(options).has_value());
  for (const char* token : {"KAFKA_OLD_TOKEN", "KAFKA_FOREIGN_TOKEN", "KAFKA_CA"}) {
    options.login.secret = base::Secret(broker().value(token));
    const auto error = failure(options);
    EXPECT_EQ(error.reason, "auth") << token;
    EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
    EXPECT_THAT(error.message, Not(HasSubstr(broker().value(token))));
  }
  options = trusted_options(topic);
  options.brokers = {broker().value("KAFKA_SASL")};
  options.tls = {};
  options.login.mechanism = "OAUTHBEARER";  // not one of that listener's
  EXPECT_EQ(failure(options).reason, "auth");
  EXPECT_THAT(reader().read_all(topic), SizeIs(7));
}

TEST_F(KafkaTransport, TrustAndClientCertificates) {  // K-15
  auto options = trusted_options(new_topic("trust"));
  options.tls.ca_pem = kollect::testing::TestAuthority("other").pem();
  auto error = failure(options);
  EXPECT_EQ(error.reason, "tls");
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("certificate"));
  options.tls.insecure_skip_verify = true;
  EXPECT_TRUE(deliver(options).has_value());
  options.tls.insecure_skip_verify = false;
  options.tls.ca_pem.reset();  // nobody whom the system trusts
  EXPECT_EQ(failure(options).reason, "tls");
  options.tls.ca_pem = "no certificate";
  EXPECT_EQ(failure(options).kind, base::ErrorKind::kConfiguration);

  options = trusted_options(options.topic);
  options.brokers = {broker().value("KAFKA_TLS")};
  options.login = {};
  EXPECT_FALSE(deliver(options).has_value());
  options.tls.client_cert_pem = base::read_file(broker().value("KAFKA_CLIENT_CERT")).value_or("");
  options.tls.client_key_pem =
      base::Secret(base::read_file(broker().value("KAFKA_CLIENT_KEY")).value_or(""));
  EXPECT_TRUE(deliver(options).has_value());
}

TEST_F(KafkaTransport, TheNameStaysForTls) {
  auto options = trusted_options(new_topic("names"));
  const auto address = options.brokers[0];
  const auto port = address.substr(address.find(':'));
  options.resolver = [](const std::string&) -> base::Result<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  options.brokers = {"broker.test" + port};
  EXPECT_TRUE(deliver(options).has_value());
  options.brokers = {"other.test" + port};
  EXPECT_EQ(failure(options).reason, "tls");
}

TEST_F(KafkaTransport, AddressesThatAreRefused) {  // sinks 16.4
  auto options = plain_options(new_topic("guard"));
  options.guard = std::make_shared<const base::AddressGuard>(true);
  auto error = failure(options);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "address-refused");
  EXPECT_THAT(error.message, HasSubstr("127.0.0.1"));
  // A name is judged by the whole answer.
  options.resolver = [](const std::string&) -> base::Result<std::vector<std::string>> {
    return std::vector<std::string>{"192.0.2.7", "169.254.169.254"};
  };
  options.brokers = {"broker.test:9092"};
  EXPECT_EQ(failure(options).reason, "address-refused");
  EXPECT_EQ(make_transport(options)->probe(context()).error().reason, "address-refused");
}

TEST_F(KafkaTransport, AddressesThatABrokerAdvertises) {
  auto options = plain_options(new_topic("advertised"));
  options.brokers = {broker().value("KAFKA_NAMED")};
  options.guard = std::make_shared<const base::AddressGuard>(false, true);
  std::string answer = "127.0.0.1";
  options.resolver = [&](const std::string& host) -> base::Result<std::vector<std::string>> {
    EXPECT_EQ(host, "broker.test");
    return std::vector<std::string>{answer};
  };
  EXPECT_TRUE(deliver(options).has_value());
  // The way in may be dialled, what it leads to may not.
  answer = "169.254.169.254";
  const auto error = failure(options);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "address-refused");
  EXPECT_THAT(error.message, HasSubstr("broker.test"));
  EXPECT_THAT(error.message, HasSubstr("advertise"));
}

TEST_F(KafkaTransport, AnyBrokerOfTheListWillDo) {  // K-63
  auto options = plain_options(new_topic("list"));
  options.brokers = {"127.0.0.1:1", "broker.invalid:9092", options.brokers[0]};
  EXPECT_TRUE(make_transport(options)->probe(context()).has_value());
  EXPECT_TRUE(deliver(options).has_value());
  options.brokers = {"127.0.0.1:1"};
  const auto error = failure(options);
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "unreachable");
  EXPECT_EQ(make_transport(options)->probe(context()).error().reason, "unreachable");
}

TEST_F(KafkaTransport, MissingTopics) {  // K-13
  auto options = trusted_options(new_topic("missing"));
  options.ensure = false;
  auto transport = make_transport(options);
  auto error = failure_of(open(*transport));
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(error.reason, "topic-missing");
  EXPECT_THAT(error.message, HasSubstr(options.topic));
  error = failure_of(transport->probe(context()));
  EXPECT_EQ(error.reason, "topic-missing");
  EXPECT_EQ(reader().partitions(options.topic), 0);  // looking creates nothing
  options.ensure = true;
  options.partitions = 5;
  options.retention_ms = -1;
  options.cleanup_policy = "compact,delete";
  EXPECT_TRUE(make_transport(options)->probe(context()).has_value());
  EXPECT_EQ(reader().partitions(options.topic), 0);
  transport = make_transport(options);
  EXPECT_TRUE(deliver(*transport, message_of("k", "x")).has_value());
  EXPECT_EQ(reader().partitions(options.topic), 5);
  EXPECT_TRUE(transport->wants_tombstones());
  // Not created here, and not changed.
  options.cleanup_policy = "delete";
  options.partitions = 9;
  transport = make_transport(options);
  EXPECT_TRUE(deliver(*transport, message_of("k", "x")).has_value());
  EXPECT_FALSE(transport->take_created());
  EXPECT_TRUE(transport->wants_tombstones());
  EXPECT_EQ(reader().partitions(options.topic), 5);
}

TEST_F(KafkaTransport, TopicsByTemplate) {
  auto options = plain_options("");
  options.naming_template = new_topic("t") + ".{cluster}.{namespace}.{name}";
  EXPECT_TRUE(deliver(options).has_value());
  EXPECT_THAT(reader().read_all(topic_of(options, kInventory, "pier-7")), SizeIs(1));
}

TEST_F(KafkaTransport, RightsThatAreMissing) {
  const auto topic = new_topic("rights");
  auto options = as_guest(topic);
  auto error = failure(options);  // may not even know of it
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "forbidden");
  EXPECT_THAT(error.message, HasSubstr(topic));
  auto kept = plain_options(topic);
  kept.message_max_bytes = 20'000;
  made(kept);
  allow(topic, RD_KAFKA_ACL_OPERATION_WRITE);
  // Write is enough for a topic that is there; its limit is then not known.
  auto transport = make_transport(options);
  EXPECT_TRUE(deliver(*transport, message_of("k", "x")).has_value());
  EXPECT_EQ(transport->max_body(), 1'048'576U - 4096U);
  // The brokers' own word about the size: less is tried, and what is too large then is not sent.
  for (std::size_t limit = 1'048'576; limit > 32'768; limit /= 2) {
    ASSERT_TRUE(open(*transport).has_value());
    EXPECT_EQ(transport->max_body(), limit - 4096U);
    ASSERT_TRUE(transport->send(context(), message_of("k", std::string(25'000, 'x'))).has_value());
    error = failure_of(transport->flush(context()));
    EXPECT_EQ(error.reason, "too-large");
    EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  }
  error = failure_of(deliver(*transport, message_of("k", std::string(25'000, 'x'))));
  EXPECT_EQ(error.reason, "too-large");
  EXPECT_TRUE(deliver(*transport, message_of("k", "y")).has_value());
  options.message_max_bytes = 20'000;
  transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  EXPECT_EQ(transport->max_body(), 20'000U - 4096U);
}

TEST_F(KafkaTransport, LimitsOfTopics) {  // K-52
  auto options = plain_options(new_topic("limits"));
  options.message_max_bytes = 20'000;
  made(options);
  options.message_max_bytes.reset();
  auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  EXPECT_EQ(transport->max_body(), 20'000U - 4096U);
  // Batches are as small as the topic wants.
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(transport->send(context(), message_of(fmt::format("k{}", i), std::string(900, 'x')))
                    .has_value());
  }
  auto flushed = transport->flush(context());
  EXPECT_TRUE(flushed.has_value()) << flushed.error().message;
  EXPECT_TRUE(
      deliver(*transport, message_of("k", std::string(transport->max_body(), 'x'))).has_value());
  const auto error =
      failure_of(transport->send(context(), message_of("k", std::string(20'000, 'x'))));
  EXPECT_EQ(error.reason, "too-large");
  EXPECT_THAT(reader().read_all(options.topic), SizeIs(501));
  // Compression may bring more under the limit, when the options say so.
  options.message_max_bytes = 200'000;
  options.compression = "zstd";
  transport = make_transport(options);
  EXPECT_TRUE(deliver(*transport, message_of("k", std::string(150'000, 'x'))).has_value());
  // What does not shrink enough is refused; then the topic's own limit counts.
  std::string noise;
  for (std::uint32_t n = 7; noise.size() < 100'000; n = n * 1664525 + 1013904223) {
    noise += static_cast<char>(n >> 24U);
  }
  auto refused = failure_of(deliver(*transport, message_of("k", noise)));
  EXPECT_EQ(refused.reason, "too-large");
  EXPECT_EQ(refused.kind, base::ErrorKind::kRetryable);
  ASSERT_TRUE(open(*transport).has_value());
  EXPECT_EQ(transport->max_body(), 20'000U - 4096U);
  EXPECT_EQ(failure_of(deliver(*transport, message_of("k", noise))).kind,
            base::ErrorKind::kTerminal);
  // A larger topic beside it.
  options.message_max_bytes = 5'000'000;
  options.compression = "none";
  options.topic = new_topic("large");
  transport = make_transport(options);
  EXPECT_TRUE(deliver(*transport, message_of("k", std::string(4'900'000, 'x'))).has_value());
}

TEST_F(KafkaTransport, EveryCompressionAndAcknowledgement) {
  const auto topic = new_topic("codecs");
  for (const char* codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
    auto options = plain_options(topic);
    options.compression = codec;
    options.acks_all = std::string_view(codec) != "none";
    EXPECT_TRUE(deliver(options).has_value()) << codec;
  }
  EXPECT_THAT(reader().read_all(topic), SizeIs(5));
}

TEST_F(KafkaTransport, AFullWindowHoldsUp) {
  auto options = plain_options(new_topic("window"));
  options.window_bytes = 3U << 20U;
  const auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  const std::string body(100'000, 'x');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(transport->send(context(), message_of(fmt::format("k{}", i), body)).has_value());
  }
  ASSERT_TRUE(transport->flush(context()).has_value());
  EXPECT_THAT(reader().read_all(options.topic), SizeIs(200));
}

TEST_F(KafkaTransport, TheFirstFailureDecides) {
  const auto topic = new_topic("first");
  made(plain_options(topic));
  allow(topic, RD_KAFKA_ACL_OPERATION_WRITE);
  auto options = as_guest(topic);
  options.message_max_bytes = 4'000'000;
  const auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  ASSERT_TRUE(transport->send(context(), message_of("a", "x")).has_value());
  ASSERT_TRUE(transport->send(context(), message_of("b", std::string(3'000'000, 'x'))).has_value());
  ASSERT_TRUE(transport->send(context(), message_of("c", "x")).has_value());
  EXPECT_EQ(failure_of(transport->flush(context())).reason, "too-large");
}

TEST_F(KafkaTransport, AFatalErrorEndsTheProducer) {
  const auto options = plain_options(new_topic("fatal"));
  const auto client = Client::create(options, {});
  std::atomic<std::int32_t> seen = 0;
  made(options);
  const auto topic = topic_handle((*client)->handle(), options.topic, seen);
  ASSERT_TRUE((*client)->metadata(context(), topic.get()).has_value());
  ASSERT_TRUE((*client)->send(context(), topic.get(), message_of("a", "x")).has_value());
  ASSERT_TRUE((*client)->flush(context()).has_value());
  rd_kafka_test_fatal_error((*client)->handle(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                            "test");
  auto sent = (*client)->send(context(), topic.get(), message_of("b", "x"));
  if (sent.has_value()) sent = (*client)->flush(context());
  const auto error = failure_of(sent);
  EXPECT_EQ(error.reason, "producer-reset");
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_TRUE((*client)->broken());
}

TEST_F(KafkaTransport, KilledMidWriteAndBack) {
  const auto options = trusted_options(new_topic("killed"));
  const auto transport = make_transport(options);
  ASSERT_TRUE(open(*transport).has_value());
  auto hasty = trusted_options(new_topic("hasty"));
  hasty.message_timeout = std::chrono::seconds(1);
  const auto other = make_transport(hasty);
  ASSERT_TRUE(deliver(*other, message_of("k", "x")).has_value());
  for (int i = 0; i < 2000; ++i) {
    if (i == 1000) broker().run("kill");
    ASSERT_TRUE(transport->send(context(), message_of(fmt::format("k{}", i), std::string(500, 'x')))
                    .has_value());
  }
  // Nobody confirms in time, and nobody is there.
  ASSERT_TRUE(other->send(context(), message_of("k", "y")).has_value());
  const auto error = failure_of(other->flush(context()));
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "unconfirmed");
  EXPECT_EQ(failure_of(open(*other)).reason, "unreachable");
  const auto over = background_.with_timeout(std::chrono::nanoseconds(1));
  EXPECT_EQ(other->open(over, kInventory, "").error().kind, base::ErrorKind::kRetryable);
  broker().run("start");
  // The first producer goes on, and nothing comes twice.
  const auto flushed = transport->flush(context());
  EXPECT_TRUE(flushed.has_value()) << flushed.error().message;
  EXPECT_THAT(reader().read_all(options.topic), SizeIs(2000));
  EXPECT_TRUE(deliver(*other, message_of("k", "z")).has_value());
}

}  // namespace
}  // namespace kollect::sinks::kafka
