// What a sink of type nats is told (spec: sinks 14.3, K-13 to K-16, K-54, K-56, K-57).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/address_guard.h"
#include "base/clock.h"
#include "base/resolve.h"
#include "base/result.h"
#include "sinks/nats/client.h"
#include "sinks/sink.h"

namespace kollect::sinks::nats {

struct Server {
  std::string host;
  std::uint16_t port = 4222;
  bool tls = false;  ///< tls://
};

/// A stream that we create is made so; what exists is left as it is.
struct StreamSettings {
  int replicas = 1;
  bool memory = false;  ///< storage: memory
  std::string retention = "limits";
  base::Duration max_age{};     ///< zero: no limit
  std::int64_t max_bytes = -1;  ///< -1: no limit
  base::Duration duplicate_window = std::chrono::minutes(2);
};

struct NatsOptions {
  std::string sink;  ///< its name, for errors
  std::vector<Server> servers;
  std::string subject;  ///< with {cluster}, {namespace}, {name}
  std::string stream;   ///< the same
  bool ensure = true;
  bool changes = false;  ///< subjects have the type of the event at their end
  StreamSettings settings;
  Login login;
  TlsOptions tls;
  bool wants_tls = false;
  std::shared_ptr<const base::AddressGuard> guard;  ///< none: nothing is refused
  base::Resolver resolver;                          ///< none: the system's
  base::Duration publish_timeout = std::chrono::seconds(30);
  std::size_t window = 2048;             ///< messages under way
  std::size_t window_bytes = 4U << 20U;  ///< their bytes
};

/// Options from a sink's spec. Errors: configuration.
base::Result<NatsOptions> nats_options(const api::EventSink& sink, const SecretData& auth,
                                       const std::optional<std::string>& ca_pem);

/// "nats://a:4222,tls://b", "host", "[::1]:4222"; nats:// and port 4222 may be left out. User
/// information goes to `login` unless that has some. Error (configuration) does not quote it.
base::Result<std::vector<Server>> read_servers(std::string_view text, Login& login);

/// Subject of a message: placeholders filled in, what a token cannot hold as "_".
std::string subject_of(const NatsOptions& options, const InventoryId& inventory,
                       const std::string& cluster, std::string_view type);
/// What covers all subjects of the sink: "*" in the place of tokens with placeholders.
std::string pattern_of(const NatsOptions& options);
std::string stream_of(const NatsOptions& options, const InventoryId& inventory,
                      const std::string& cluster);
/// True when all subjects of `inner` are subjects of `outer`.
bool covers(std::string_view outer, std::string_view inner);

}  // namespace kollect::sinks::nats
