#include "sinks/kafka/errors.h"

#include <fmt/format.h>

namespace kollect::sinks::kafka {

namespace {

using base::ErrorKind;

struct Meaning {
  ErrorKind kind;
  const char* reason;
  const char* text;
};

Meaning meaning_of(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      return {ErrorKind::kDenied, "auth",
              "the brokers refuse the credentials; check the Secret and "
              "options[\"sasl.mechanism\"]"};
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return {ErrorKind::kDenied, "forbidden",
              "no right to it; the user needs the ACLs Describe and Write on the topic"};
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return {ErrorKind::kDenied, "forbidden",
              "no right to it; brokers before 3.0 want the ACL IdempotentWrite on the cluster"};
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return {ErrorKind::kTerminal, "topic-missing",
              "there is no such topic; create it, or set provisioning.mode ensure"};
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
      return {ErrorKind::kTerminal, "too-large",
              "the message is larger than the topic takes (max.message.bytes)"};
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      return {ErrorKind::kConfiguration, "bad-topic",
              "the brokers do not accept its name or settings"};
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      return {ErrorKind::kRetryable, "unconfirmed", "no broker confirmed it in time"};
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
      return {ErrorKind::kRetryable, "unreachable", "no broker can be reached"};
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return {ErrorKind::kRetryable, "producer-reset",
              "the brokers lost track of this producer; a new one begins"};
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return {ErrorKind::kTerminal, "refused", "the brokers do not take it"};
    default:
      return {ErrorKind::kRetryable, "unavailable", "the brokers cannot do it now"};
  }
}

}  // namespace

base::Error error_of(rd_kafka_resp_err_t code, std::string_view doing) {
  const Meaning meaning = meaning_of(code);
  return {
      .kind = meaning.kind,
      .reason = meaning.reason,
      .message = fmt::format("kafka: {}: {} ({})", doing, meaning.text, rd_kafka_err2name(code))};
}

}  // namespace kollect::sinks::kafka
