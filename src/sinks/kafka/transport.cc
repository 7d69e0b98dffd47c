#include "sinks/kafka/transport.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sinks/kafka/client.h"
#include "sinks/kafka/errors.h"
#include "sinks/kafka/topics.h"

namespace kollect::sinks::kafka {

namespace {

/// Where a topic's limit is not known; brokers take that by themselves.
constexpr std::size_t kUsualLimit = 1'048'576;
/// Of a message or batch beside its body: key, headers, frame.
constexpr std::size_t kFrame = 4096;
constexpr std::size_t kLargestBatch = 1'000'000;
constexpr std::size_t kSmallestGuess = 16'384;

std::size_t without_frame(std::size_t limit) {
  return limit > 2 * kFrame ? limit - kFrame : limit / 2;
}

struct Topic {
  std::atomic<std::int32_t>* seen = nullptr;  ///< partitions, as messages found them
  TopicHandle handle;
  std::int32_t partitions = 0;      ///< when it was looked at
  std::size_t limit = kUsualLimit;  ///< of a message as we send it
  std::size_t batch = kUsualLimit;  ///< of what the brokers take at a time
  bool compacted = false;
};

base::Error missing(const std::string& topic) {
  return base::terminal(
      fmt::format("kafka: there is no topic {} and provisioning.mode is existing; create it",
                  topic),
      "topic-missing");
}

class KafkaTransport final : public events::Transport {
 public:
  explicit KafkaTransport(KafkaOptions options) : options_(std::move(options)) {
    limits_.message = std::max(limits_.message, options_.message_max_bytes.value_or(0));
  }

  base::Result<> open(const base::Context& context, const InventoryId& inventory,
                      const std::string& cluster) override {
    const std::string name = topic_of(options_, inventory, cluster);
    if (client_ != nullptr && client_->broken()) drop();
    current_ = nullptr;
    if (const auto known = topics_.find(name); known != topics_.end()) {
      if (*known->second.seen <= known->second.partitions) {
        current_ = &known->second;
        return {};
      }
      topics_.erase(known);
      created_ = true;
    }
    auto opened = open_topic(context.with_timeout(options_.connect_timeout), name);
    if (!opened) drop();
    return opened;
  }

  base::Result<> send(const base::Context& context, events::Message message) override {
    if (client_ == nullptr || current_ == nullptr) return not_open();
    if (weight_of(message) > current_->limit) {
      return error_of(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                      fmt::format("topic {}", rd_kafka_topic_name(current_->handle.get())));
    }
    auto sent = message.bracket ? send_to_all(context, message)
                                : client_->send(context, current_->handle.get(), message);
    if (!sent && sent.error().kind == base::ErrorKind::kCancelled) drop();
    return sent;
  }

  base::Result<> flush(const base::Context& context) override {
    if (client_ == nullptr) return not_open();
    auto flushed = client_->flush(context);
    if (flushed) return flushed;
    base::Error error = flushed.error();
    if (error.reason == "too-large" && learn()) {
      error.kind = base::ErrorKind::kRetryable;
      error.message += "; smaller ones are tried next";
    }
    drop();
    return error;
  }

  [[nodiscard]] std::size_t max_body() const override {
    return without_frame(current_ == nullptr ? kUsualLimit : current_->limit);
  }

  [[nodiscard]] bool take_created() override { return std::exchange(created_, false); }

  [[nodiscard]] bool wants_tombstones() const override {
    return options_.compacts() || (current_ != nullptr && current_->compacted);
  }

  base::Result<> probe(const base::Context& context) override {
    constexpr std::chrono::seconds kProbe{15};
    // A connection of its own: what worked an hour ago says nothing.
    KL_ASSIGN(const auto client, Client::create(options_, limits_));
    const bool look = !options_.ensure && options_.naming_template.empty();
    std::atomic<std::int32_t> seen = 0;
    TopicHandle topic;
    if (look) topic = topic_handle(client->handle(), options_.topic, seen);
    KL_ASSIGN(const auto facts, client->metadata(context.with_timeout(kProbe), topic.get()));
    if (!look || facts.topic.code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return problem_of(facts.topic.code, options_.topic);
  }

 private:
  static base::Error not_open() {
    return base::retryable("kafka: the connection is gone", "producer-reset");
  }
  static std::size_t weight_of(const events::Message& message) {
    constexpr std::size_t kRecord = 128;  // lengths, times, the frame of a batch
    std::size_t bytes = kRecord + message.key.size() + (message.body ? message.body->size() : 0);
    for (const auto& [name, value] : message.headers) bytes += name.size() + value.size() + 4;
    return bytes;
  }

  base::Result<> send_to_all(const base::Context& context, const events::Message& message) {
    for (std::int32_t partition = 0; partition < current_->partitions; ++partition) {
      KL_TRY(client_->send(context, current_->handle.get(), message, partition));
    }
    return {};
  }

  /// The brokers refused a size that was thought to be right: less, the next time. False when there
  /// is no less.
  bool learn() {
    if (current_ == nullptr || current_->limit <= kSmallestGuess) return false;
    const bool raised = current_->batch < current_->limit;
    learned_[rd_kafka_topic_name(current_->handle.get())] =
        raised ? current_->batch : std::max(current_->limit / 2, kSmallestGuess);
    return true;
  }

  void drop() {
    current_ = nullptr;
    topics_.clear();
    client_.reset();
  }

  static base::Error problem_of(rd_kafka_resp_err_t code, const std::string& topic) {
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return missing(topic);
    return error_of(code, fmt::format("topic {}", topic));
  }

  base::Result<> open_topic(const base::Context& context, const std::string& name) {
    if (client_ == nullptr) {
      KL_ASSIGN(client_, Client::create(options_, limits_));
    }
    Topic topic;
    KL_TRY(look_at(context, name, topic));
    KL_ASSIGN(const auto settings, read_settings(context, *client_, name));
    take_limits(settings, topic);
    if (const auto known = learned_.find(name); known != learned_.end()) {
      topic.limit = std::min(topic.limit, known->second);
      topic.batch = std::min(topic.batch, known->second);
    }
    limits_.message = std::max(limits_.message, topic.limit);
    limits_.batch = std::min({limits_.batch, kLargestBatch, without_frame(topic.batch)});
    if (limits_ != client_->limits()) {
      // Sizes are fixed for the life of a producer; nothing is under way between open() and send().
      topic.handle.reset();
      drop();
      KL_ASSIGN(client_, Client::create(options_, limits_));
      KL_TRY(look_at(context, name, topic));
    }
    current_ = &topics_.insert_or_assign(name, std::move(topic)).first->second;
    return {};
  }

  void take_limits(const std::optional<TopicSettings>& settings, Topic& topic) const {
    const auto own = settings ? settings->max_message_bytes : std::nullopt;
    topic.compacted = settings && settings->compacted;
    topic.batch = own.value_or(options_.message_max_bytes.value_or(kUsualLimit));
    topic.limit = topic.batch;
    if (options_.message_max_bytes) {
      // The topic's limit is one of compressed bytes: what may be larger than that before is told.
      topic.limit = options_.compression == "none"
                        ? std::min(topic.batch, *options_.message_max_bytes)
                        : *options_.message_max_bytes;
    }
  }

  /// Until the topic is there with leaders whose addresses may be dialled.
  base::Result<> look_at(const base::Context& context, const std::string& name, Topic& topic) {
    constexpr std::chrono::milliseconds kPause{50};
    topic.seen = &seen_[name];
    *topic.seen = 0;
    topic.handle = topic_handle(client_->handle(), name, *topic.seen);
    bool created = false;
    while (true) {
      KL_ASSIGN(const auto facts, client_->metadata(context, topic.handle.get()));
      const auto code = facts.topic.code;
      if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && !created) {
        if (!options_.ensure) return missing(name);
        KL_TRY(create_topic(context, *client_, options_, name));
        created = created_ = true;
      } else if (facts.topic.complete) {
        topic.partitions = static_cast<std::int32_t>(facts.topic.leaders.size());
        return check_leaders(facts);
      } else if (code != RD_KAFKA_RESP_ERR_NO_ERROR &&
                 code != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE &&
                 code != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        return problem_of(code, name);
      }
      if (!context.sleep(kPause)) {
        KL_TRY(context.check());
        return base::retryable(fmt::format("kafka: topic {} has partitions without a leader", name),
                               "unavailable");
      }
    }
  }

  /// The library would try an address that is refused until the messages are too old.
  base::Result<> check_leaders(const Metadata& facts) const {
    if (!client_->dialer().needed()) return {};
    for (const auto& broker : facts.brokers) {
      if (std::ranges::find(facts.topic.leaders, broker.id) == facts.topic.leaders.end()) continue;
      const auto numbers = client_->dialer().addresses(broker.host);
      if (numbers || numbers.error().kind != base::ErrorKind::kDenied) continue;
      base::Error error = numbers.error();
      error.message += "; the brokers advertise it (advertised.listeners)";
      return error;
    }
    return {};
  }

  KafkaOptions options_;
  Limits limits_;
  std::map<std::string, std::atomic<std::int32_t>> seen_;  // the client's threads use them
  std::unique_ptr<Client> client_;
  std::map<std::string, Topic> topics_;  // their handles go before the client
  Topic* current_ = nullptr;
  bool created_ = false;
  std::map<std::string, std::size_t> learned_;  ///< limits that brokers have shown by refusing
};

}  // namespace

std::unique_ptr<events::Transport> make_transport(KafkaOptions options) {
  return std::make_unique<KafkaTransport>(std::move(options));
}

}  // namespace kollect::sinks::kafka
