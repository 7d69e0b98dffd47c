// Topics by the brokers' administrative requests: creating, reading settings (spec: sinks 14.2,
// K-13).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "sinks/kafka/client.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {

/// Creates a topic by the options; one that is there already is fine. Errors: "forbidden" with the
/// right that is missing, "bad-topic", those of connections.
base::Result<> create_topic(const base::Context& context, const Client& client,
                            const KafkaOptions& options, const std::string& topic);

/// What there is to know of a topic's settings.
struct TopicSettings {
  std::optional<std::size_t> max_message_bytes;
  bool compacted = false;
};

/// Nothing when we have no right to read them (ACL DescribeConfigs).
base::Result<std::optional<TopicSettings>> read_settings(const base::Context& context,
                                                         const Client& client,
                                                         const std::string& topic);

}  // namespace kollect::sinks::kafka
