// One producer of the client library, with its thread for reports, and what is under way on it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "sinks/events/transport.h"
#include "sinks/kafka/dialer.h"
#include "sinks/kafka/links.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {

/// unique_ptr to a handle of the library.
template <auto Free>
struct Freed {
  void operator()(auto* handle) const { Free(handle); }
};
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, Freed<rd_kafka_topic_destroy>>;

/// A topic to send to. `partitions` gets the number of them whenever a message finds its own.
TopicHandle topic_handle(rd_kafka_t* client, const std::string& name,
                         std::atomic<std::int32_t>& partitions);

/// Sizes that are fixed for the life of a producer. A batch past the topic's limit is refused as a
/// whole, so batches must be as small as the smallest topic wants.
struct Limits {
  std::size_t message = 1'048'588;
  std::size_t batch = 1'000'000;
  bool operator==(const Limits&) const = default;
};

struct BrokerPlace {
  std::int32_t id = 0;
  std::string host;
};

/// What the brokers say of a topic.
struct TopicFacts {
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  bool complete = false;  ///< every partition has a leader
  std::vector<std::int32_t> leaders;
};

struct Metadata {
  std::vector<BrokerPlace> brokers;
  TopicFacts topic;
};

/// Calls by one thread at a time; reports come on a thread of its own, also while nobody calls.
class Client {
 public:
  /// Connects to nothing yet.
  static base::Result<std::unique_ptr<Client>> create(const KafkaOptions& options,
                                                      const Limits& limits);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Brokers, and the topic when one is asked for, from any broker that answers within the
  /// context's time. Errors: "auth", "tls", "address-refused", "unreachable".
  base::Result<Metadata> metadata(const base::Context& context, rd_kafka_topic_t* topic);

  /// Hands over to one partition, or to that of the key; waits while the window is full. Errors:
  /// those that the library knows at once.
  base::Result<> send(const base::Context& context, rd_kafka_topic_t* topic,
                      const events::Message& message,
                      std::int32_t partition = RD_KAFKA_PARTITION_UA);
  /// Until nothing is under way. The error of the earliest message that failed. When the context
  /// ends first, things may be under way still: this client must not be used again.
  base::Result<> flush(const base::Context& context);

  /// The library gave up for good, or must not be used again.
  [[nodiscard]] bool broken() const;
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const Dialer& dialer() const { return dialer_; }

 private:
  struct Failure {
    std::uint64_t number = 0;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  };

  explicit Client(const KafkaOptions& options);
  base::Result<> start(const KafkaOptions& options, const Limits& limits);
  void serve(const std::stop_token& stop);
  void reported(const rd_kafka_message_t& message);
  void failed(rd_kafka_resp_err_t code);
  void linked(std::optional<base::Error> error);
  /// Waits for a report, at most a moment.
  base::Result<> wait(const base::Context& context, std::unique_lock<std::mutex>& lock);
  /// Why nothing works, when that is known better than by `code`.
  [[nodiscard]] base::Error explain(rd_kafka_resp_err_t code, std::string_view doing) const;
  [[nodiscard]] bool hopeless() const;

  const std::size_t broker_count_;
  Limits limits_;
  Dialer dialer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
  std::uint64_t last_number_ = 0;
  std::optional<Failure> first_failure_;
  std::optional<base::Error> refusal_;  ///< why the last connection cannot be, if for good
  bool all_down_ = false;
  bool broken_ = false;
  Links links_;
  std::unique_ptr<rd_kafka_t, Freed<rd_kafka_destroy>> handle_;
  std::jthread reports_;
};

}  // namespace kollect::sinks::kafka
