// The contract of event sinks against a real broker.
#include "sinks/events/contract.h"
#include "sinks/kafka/kafka_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::events::contract {
namespace {

class KafkaWorld final : public World {
 public:
  explicit KafkaWorld(std::string cleanup_policy)
      : topic_(kafka::new_topic("contract")), policy_(std::move(cleanup_policy)) {}

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

 private:
  [[nodiscard]] kafka::KafkaOptions options() const {
    auto out = kafka::trusted_options(topic_);
    out.partitions = 3;
    out.cleanup_policy = policy_;
    return out;
  }
  std::string topic_;
  std::string policy_;
};

INSTANTIATE_TEST_SUITE_P(Kafka, EventSinkContract,
                         ::testing::Values(Backend{
                             "topic", [] { return std::make_unique<KafkaWorld>(""); }}),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::events::contract
