#include "sinks/kafka/topics.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "sinks/kafka/errors.h"

namespace kollect::sinks::kafka {

namespace {

using std::chrono::milliseconds;

using AdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, Freed<rd_kafka_AdminOptions_destroy>>;
using ConfigResource =
    std::unique_ptr<rd_kafka_ConfigResource_t, Freed<rd_kafka_ConfigResource_destroy>>;
using Event = std::unique_ptr<rd_kafka_event_t, Freed<rd_kafka_event_destroy>>;
using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, Freed<rd_kafka_NewTopic_destroy>>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Freed<rd_kafka_queue_destroy>>;

constexpr milliseconds kRequestLimit{10'000};
constexpr std::size_t kErrorText = 512;

base::Result<> set_limits(rd_kafka_AdminOptions_t* options, bool operation) {
  std::array<char, kErrorText> ignored{};
  rd_kafka_AdminOptions_set_request_timeout(options, kRequestLimit.count(), ignored.data(),
                                            ignored.size());
  if (operation) {
    rd_kafka_AdminOptions_set_operation_timeout(options, kRequestLimit.count(), ignored.data(),
                                                ignored.size());
  }
  return {};
}

/// The answer of a request; its own error is one of ours.
base::Result<Event> answer_of(const base::Context& context, rd_kafka_queue_t* queue,
                              std::string_view doing) {
  constexpr int kGlanceMs = 200;
  while (true) {
    KL_TRY(context.check());
    Event event(rd_kafka_queue_poll(queue, kGlanceMs));
    if (event == nullptr) continue;
    const auto code = rd_kafka_event_error(event.get());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(code, doing);
    return event;
  }
}

bool is_forbidden(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
         code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

void set_config(rd_kafka_NewTopic_t* topic, const char* name, const std::string& value) {
  rd_kafka_NewTopic_set_config(topic, name, value.c_str());
}

TopicSettings settings_of(const rd_kafka_ConfigResource_t& resource) {
  TopicSettings out;
  std::size_t count = 0;
  const auto** entries = rd_kafka_ConfigResource_configs(&resource, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = rd_kafka_ConfigEntry_name(entries[i]);
    const char* text = rd_kafka_ConfigEntry_value(entries[i]);
    const std::string_view value = text == nullptr ? "" : text;
    std::size_t number = 0;
    if (name == "max.message.bytes" &&
        std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc()) {
      out.max_message_bytes = number;
    }
    if (name == "cleanup.policy") out.compacted = value.find("compact") != std::string_view::npos;
  }
  return out;
}

}  // namespace

base::Result<> create_topic(const base::Context& context, const Client& client,
                            const KafkaOptions& options, const std::string& topic) {
  std::array<char, kErrorText> ignored{};
  const std::string doing = fmt::format("creating the topic {}", topic);
  const NewTopic wanted(rd_kafka_NewTopic_new(topic.c_str(), options.partitions,
                                              options.replication_factor.value_or(-1),
                                              ignored.data(), ignored.size()));
  if (wanted == nullptr) return error_of(RD_KAFKA_RESP_ERR_INVALID_CONFIG, doing);
  if (options.retention_ms) {
    set_config(wanted.get(), "retention.ms", std::to_string(*options.retention_ms));
  }
  if (!options.cleanup_policy.empty()) {
    set_config(wanted.get(), "cleanup.policy", options.cleanup_policy);
  }
  if (options.message_max_bytes) {
    set_config(wanted.get(), "max.message.bytes", std::to_string(*options.message_max_bytes));
  }
  const AdminOptions admin(
      rd_kafka_AdminOptions_new(client.handle(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  KL_TRY(set_limits(admin.get(), true));
  const Queue queue(rd_kafka_queue_new(client.handle()));
  auto* list = wanted.get();
  rd_kafka_CreateTopics(client.handle(), &list, 1, admin.get(), queue.get());
  KL_ASSIGN(const Event event, answer_of(context, queue.get(), doing));
  std::size_t count = 0;
  const auto** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  const auto code =
      count == 0 ? RD_KAFKA_RESP_ERR_UNKNOWN : rd_kafka_topic_result_error(results[0]);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return {};
  }
  if (is_forbidden(code)) {
    return base::denied(
        fmt::format("kafka: the topic {} does not exist and the user may not create it; create it, "
                    "or give the ACL Create on it",
                    topic),
        "forbidden");
  }
  return error_of(code, doing);
}

base::Result<std::optional<TopicSettings>> read_settings(const base::Context& context,
                                                         const Client& client,
                                                         const std::string& topic) {
  const std::string doing = fmt::format("reading the settings of topic {}", topic);
  const ConfigResource wanted(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const AdminOptions admin(
      rd_kafka_AdminOptions_new(client.handle(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  KL_TRY(set_limits(admin.get(), false));
  const Queue queue(rd_kafka_queue_new(client.handle()));
  auto* list = wanted.get();
  rd_kafka_DescribeConfigs(client.handle(), &list, 1, admin.get(), queue.get());
  KL_ASSIGN(const Event event, answer_of(context, queue.get(), doing));
  std::size_t count = 0;
  const auto** results = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  const auto code =
      count == 0 ? RD_KAFKA_RESP_ERR_UNKNOWN : rd_kafka_ConfigResource_error(results[0]);
  if (is_forbidden(code)) return std::optional<TopicSettings>();
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(code, doing);
  return std::optional(settings_of(*results[0]));
}

}  // namespace kollect::sinks::kafka
