// Messages to Apache Kafka and what speaks its protocol (spec: sinks 14.2).
#pragma once

#include <memory>

#include "sinks/events/transport.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {

/// Partition by the murmur2 hash of the key, as clients in Java choose it; an idempotent producer
/// with acknowledgement by all replicas unless `acks` says otherwise. send() waits while
/// `window_bytes` are under way. A message counts as delivered when its report says so.
///
/// Whatever fails ends the producer: the next open() connects anew, with a look at topic and
/// limits. A bracket goes to every partition; a topic that has got more partitions counts as
/// created, as its keys have moved. Errors: "auth", "tls", "forbidden", "address-refused" (also of
/// an address that a broker advertises), "topic-missing" (terminal, with `existing`), "too-large"
/// (terminal), "unreachable", "unconfirmed", "producer-reset" (retryable).
std::unique_ptr<events::Transport> make_transport(KafkaOptions options);

}  // namespace kollect::sinks::kafka
