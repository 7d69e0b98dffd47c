// Ground of the tests against a real broker. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "sinks/kafka/client.h"
#include "sinks/kafka/topics.h"
#include "sinks/kafka/transport.h"
#include "support/server_script.h"

namespace kollect::sinks::kafka {

/// One broker for all tests of the program.
inline const kollect::testing::ServerScript& broker() {
  static const kollect::testing::ServerScript server("kafka.sh", "shared");
  return server;
}

/// A user with every right, over TLS.
inline KafkaOptions trusted_options(const std::string& topic) {
  KafkaOptions out;
  out.brokers = {broker().value("KAFKA_SASL_TLS")};
  out.topic = topic;
  out.tls.on = true;
  out.tls.ca_pem = base::read_file(broker().value("KAFKA_CA")).value_or("");
  out.login = {.mechanism = "SCRAM-SHA-256", .username = "test", .secret = base::Secret("secret")};
  return out;
}
/// Nobody asks who we are.
inline KafkaOptions plain_options(const std::string& topic) {
  KafkaOptions out;
  out.brokers = {broker().value("KAFKA_PLAIN")};
  out.topic = topic;
  return out;
}

/// What stands in a topic.
struct Record {
  int partition = 0;
  std::string key;
  std::optional<std::string> body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Reads topics from their beginning, without a group.
class TopicReader {
 public:
  TopicReader() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    const auto set = [&](const char* name, const std::string& value) {
      ASSERT_EQ(rd_kafka_conf_set(conf, name, value.c_str(), nullptr, 0), RD_KAFKA_CONF_OK) << name;
    };
    set("bootstrap.servers", broker().value("KAFKA_PLAIN"));
    set("reconnect.backoff.max.ms", "200");
    set("fetch.wait.max.ms", "20");
    set("fetch.error.backoff.ms", "20");
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    handle_.reset(rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0));
  }

  /// All records so far, partition by partition; nothing when there is no such topic.
  std::vector<Record> read_all(const std::string& name) {
    const TopicHandle topic(rd_kafka_topic_new(handle_.get(), name.c_str(), nullptr));
    std::vector<Record> out;
    const int count = partitions_of(topic.get());
    for (int i = 0; i < count; ++i) read(name, topic.get(), i, out);
    return out;
  }
  int partitions(const std::string& name) {
    const TopicHandle topic(rd_kafka_topic_new(handle_.get(), name.c_str(), nullptr));
    return partitions_of(topic.get());
  }

 private:
  int partitions_of(rd_kafka_topic_t* topic) {
    constexpr int kWaitMs = 10'000;
    const rd_kafka_metadata_t* answer = nullptr;
    while (rd_kafka_metadata(handle_.get(), 0, topic, &answer, kWaitMs) !=
           RD_KAFKA_RESP_ERR_NO_ERROR) {
    }
    const int count = answer->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(answer);
    return count;
  }
  void read(const std::string& name, rd_kafka_topic_t* topic, int partition,
            std::vector<Record>& out) {
    constexpr int kWaitMs = 1000;
    std::int64_t low = 0;
    std::int64_t high = 0;
    while (rd_kafka_query_watermark_offsets(handle_.get(), name.c_str(), partition, &low, &high,
                                            kWaitMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    }
    if (low == high) return;
    ASSERT_EQ(rd_kafka_consume_start(topic, partition, low), 0);
    for (std::int64_t at = low; at < high;) {
      const std::unique_ptr<rd_kafka_message_t, Freed<rd_kafka_message_destroy>> message(
          rd_kafka_consume(topic, partition, kWaitMs));
      if (message == nullptr || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        // Records at the end that compaction took away are never seen.
        if (message != nullptr && message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
        continue;
      }
      at = message->offset + 1;
      out.push_back(record_of(*message));
    }
    rd_kafka_consume_stop(topic, partition);
  }
  static Record record_of(const rd_kafka_message_t& message) {
    Record out;
    out.partition = message.partition;
    out.key.assign(static_cast<const char*>(message.key), message.key_len);
    if (message.payload != nullptr) {
      out.body.emplace(static_cast<const char*>(message.payload), message.len);
    }
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return out;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      out.headers.emplace_back(name, std::string(static_cast<const char*>(value), size));
    }
    return out;
  }

  std::unique_ptr<rd_kafka_t, Freed<rd_kafka_destroy>> handle_;
};

inline TopicReader& reader() {
  static TopicReader one;
  return one;
}

/// The outcome of an administrative request, for which `ask` gets a queue.
inline void administer(const std::string& topic,
                       const std::function<void(rd_kafka_t*, rd_kafka_queue_t*)>& ask) {
  const auto client = Client::create(plain_options(topic), {});
  rd_kafka_t* handle = (*client)->handle();
  const std::unique_ptr<rd_kafka_queue_t, Freed<rd_kafka_queue_destroy>> queue(
      rd_kafka_queue_new(handle));
  ask(handle, queue.get());
  const std::unique_ptr<rd_kafka_event_t, Freed<rd_kafka_event_destroy>> event(
      rd_kafka_queue_poll(queue.get(), 30'000));
  ASSERT_NE(event, nullptr);
  ASSERT_EQ(rd_kafka_event_error(event.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
}
/// As somebody else makes one, with settings of theirs.
inline void make_topic(const std::string& topic, const std::map<std::string, std::string>& config) {
  administer(topic, [&](rd_kafka_t* handle, rd_kafka_queue_t* queue) {
    std::array<char, 512> text{};
    const std::unique_ptr<rd_kafka_NewTopic_t, Freed<rd_kafka_NewTopic_destroy>> wanted(
        rd_kafka_NewTopic_new(topic.c_str(), 1, 1, text.data(), text.size()));
    for (const auto& [name, value] : config) {
      rd_kafka_NewTopic_set_config(wanted.get(), name.c_str(), value.c_str());
    }
    auto* list = wanted.get();
    rd_kafka_CreateTopics(handle, &list, 1, nullptr, queue);
  });
}
inline void add_partitions(const std::string& topic, std::size_t count) {
  administer(topic, [&](rd_kafka_t* handle, rd_kafka_queue_t* queue) {
    std::array<char, 512> text{};
    const std::unique_ptr<rd_kafka_NewPartitions_t, Freed<rd_kafka_NewPartitions_destroy>> wanted(
        rd_kafka_NewPartitions_new(topic.c_str(), count, text.data(), text.size()));
    auto* list = wanted.get();
    rd_kafka_CreatePartitions(handle, &list, 1, nullptr, queue);
  });
}

/// Names that no other test has.
inline std::string new_topic(const std::string& name) {
  static int number = 0;
  return fmt::format("{}-{}", name, number++);
}

}  // namespace kollect::sinks::kafka
