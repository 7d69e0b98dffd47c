// The contract of event sinks against a real broker.
#include "sinks/events/contract.h"
#include "sinks/kafka/kafka_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::events::contract {
namespace {

class KafkaWorld final : public World {
 public:
  explicit KafkaWorld(std::string topic = kafka::new_topic("contract"))
      : topic_(std::move(topic)) {}

  std::unique_ptr<Transport> make_transport(Mode /*mode*/) override {
    return kafka::make_transport(options());
  }
  std::unique_ptr<Transport> make_with_wrong_credentials() override {
    auto out = options();
    out.login.secret = base::Secret(secret());
    return kafka::make_transport(std::move(out));
  }
  std::unique_ptr<Transport> make_with_wrong_ca() override {
    auto out = options();
    out.tls.ca_pem = kollect::testing::TestAuthority("other").pem();
    return kafka::make_transport(std::move(out));
  }
  std::vector<Received> read_all() override {
    std::vector<Received> out;
    for (auto& record : kafka::reader().read_all(topic_)) {
      out.push_back({.key = std::move(record.key),
                     .body = std::move(record.body),
                     .headers = {record.headers.begin(), record.headers.end()},
                     .partition = record.partition,
                     .place = topic_});
    }
    return out;
  }
  void kill_server() override { kafka::broker().run("kill"); }
  void start_server() override { kafka::broker().run("start"); }
  [[nodiscard]] bool has_keys() const override { return true; }
  [[nodiscard]] std::string secret() const override { return "a-wrong-guess"; }
  [[nodiscard]] const std::string& topic() const { return topic_; }

 private:
  [[nodiscard]] kafka::KafkaOptions options() const {
    auto out = kafka::trusted_options(topic_);
    out.partitions = 3;
    out.metadata_refresh = std::chrono::milliseconds(200);
    return out;
  }
  std::string topic_;
};

INSTANTIATE_TEST_SUITE_P(Kafka, EventSinkContract,
                         ::testing::Values(Backend{"topic",
                                                   [] { return std::make_unique<KafkaWorld>(); }}),
                         backend_name);

class KafkaTopicsOfOthers : public EventSinkContract {};

/// Rows by key, the newest of each, as a table made of a compacted topic has them.
Lines table_of(const std::vector<Received>& messages) {
  std::map<std::string, std::optional<std::string>> newest;
  for (const auto& message : messages) newest[message.key] = message.body;
  Lines out;
  for (const auto& [key, body] : newest) {
    if (!body) continue;
    const auto event = parsed(*body);
    if (event.text("type") == "upsert") {
      out.push_back(base::json::canonical(*event.find("row")));
    }
  }
  std::ranges::sort(out);
  return out;
}

TEST_P(KafkaTopicsOfOthers, ACompactedTopicIsATable) {
  for (const char* name : {"a", "b", "c"}) put({name});
  pass(0);
  remove({"b"});
  put({"c", R"({"n":1})"});
  pass(1);
  EXPECT_EQ(table_of(world_->read_all()), truth());
  restart();
  remove({"c"});
  put({"d"});
  pass(2);  // a restart cannot know of c: the bracket says that it is gone
  EXPECT_EQ(consumed(), truth());
  // Until the broker has compacted what was sent of "a".
  const auto seen = [&] {
    return std::ranges::count_if(world_->read_all(), [](const Received& message) {
      return message.key == "pier-7/harbor/ledger/cranes/uid-a";
    });
  };
  const auto limit = background_.with_timeout(std::chrono::seconds(60));
  int second = 3;
  do {
    put({"a", fmt::format(R"({{"n":{}}})", second)});
    pass(second++);
    ASSERT_TRUE(limit.check().has_value());
  } while (seen() >= second - 3);
  EXPECT_EQ(consumed(), truth());
}

TEST_P(KafkaTopicsOfOthers, MorePartitionsAreABracketAnew) {
  for (int i = 0; i < 50; ++i) put({fmt::format("row-{}", i)});
  pass(0);
  kafka::add_partitions(dynamic_cast<KafkaWorld&>(*world_).topic(), 5);
  const auto limit = background_.with_timeout(std::chrono::seconds(60));
  const auto brackets = [&] {
    return std::ranges::count_if(world_->read_all(), [](const Received& message) {
      return message.partition == 4 && message.body &&
             parsed(*message.body).text("type") == "snapshot-end";
    });
  };
  for (int second = 1; brackets() == 0; ++second) {
    put({"row-0", fmt::format(R"({{"n":{}}})", second)});
    // Its keys are elsewhere now: the whole set is asked for.
    if (const auto report = try_pass(head(second)); !report) {
      EXPECT_EQ(report.error().reason, "rows-needed");
      resumed_ = false;
    }
    ASSERT_TRUE(limit.check().has_value());
  }
  remove({"row-7"});
  pass(1000);
  EXPECT_EQ(consumed(), truth());
}

INSTANTIATE_TEST_SUITE_P(Kafka, KafkaTopicsOfOthers,
                         ::testing::Values(Backend{
                             "compacted",
                             [] {
                               auto topic = kafka::new_topic("compacted");
                               kafka::make_topic(topic, {{"cleanup.policy", "compact"},
                                                         {"segment.ms", "200"},
                                                         {"min.cleanable.dirty.ratio", "0.001"}});
                               return std::make_unique<KafkaWorld>(std::move(topic));
                             }}),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::events::contract
