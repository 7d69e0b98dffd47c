// What a Kafka sink is told (spec: sinks 14.2; K-14, K-51 to K-53).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/address_guard.h"
#include "base/clock.h"
#include "base/resolve.h"
#include "base/result.h"
#include "base/secret.h"
#include "sinks/sink.h"

namespace kollect::sinks::kafka {

/// SASL; an empty mechanism: nobody is asked who we are.
struct Login {
  std::string mechanism;  ///< "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"
  std::string username;
  base::Secret secret;  ///< password, or the token of OAUTHBEARER
};

/// `on` false: nothing is encrypted and the rest does not count. Without ca_pem the system's trust.
struct Tls {
  bool on = false;
  std::optional<std::string> ca_pem;
  bool insecure_skip_verify = false;
  std::string client_cert_pem;
  base::Secret client_key_pem;
};

struct KafkaOptions {
  std::vector<std::string> brokers;  ///< "host:port", "[v6]:port"
  std::string topic;                 ///< unless there is a naming template
  /// Topic with {cluster}, {namespace}, {name}; empty: `topic`.
  std::string naming_template;
  bool ensure = true;  ///< missing topics are created
  Login login;
  Tls tls;
  bool acks_all = true;  ///< else the leader's alone, and no idempotence
  std::string compression = "none";

  // Of a topic that we create; what exists stays as it is.
  int partitions = 1;
  std::optional<int> replication_factor;     ///< none: the brokers' default
  std::optional<std::int64_t> retention_ms;  ///< -1: for ever
  std::string cleanup_policy;                ///< empty: the brokers' default

  /// Of a topic that we create, and what we send at most. None: the topic's own limit.
  std::optional<std::size_t> message_max_bytes;

  base::Duration connect_timeout = std::chrono::seconds(15);
  /// A message that no broker has confirmed by then has failed.
  base::Duration message_timeout = std::chrono::seconds(30);
  base::Duration metadata_refresh =
      std::chrono::minutes(1);                      ///< so late are new partitions noticed
  std::size_t window_bytes = 32U << 20U;            ///< under way at a time
  std::shared_ptr<const base::AddressGuard> guard;  ///< none: nothing is refused
  base::Resolver resolver;                          ///< none: the system's

  /// A topic is created with compaction, or is told to be compacted.
  [[nodiscard]] bool compacts() const {
    return cleanup_policy.find("compact") != std::string::npos;
  }
};

/// Options from a sink's spec and its Secret (username, password or token, tls.crt, tls.key; K-16).
/// Errors: configuration, naming the field or the key of the Secret.
base::Result<KafkaOptions> kafka_options(const api::EventSink& sink, const SecretData& auth,
                                         const std::optional<std::string>& ca_pem);

/// The topic of an inventory. What a topic's name cannot hold becomes "_"; a name past 249 bytes is
/// cut and gets a hash.
std::string topic_of(const KafkaOptions& options, const InventoryId& inventory,
                     const std::string& cluster);

}  // namespace kollect::sinks::kafka
