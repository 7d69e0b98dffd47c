// The side of the service that faces the network: where it listens, who may come in, TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file_reloader.h"
#include "base/log.h"
#include "cli/invocation.h"
#include "fleet/tokens.h"
#include "http/server.h"
#include "metrics/registry.h"

namespace kollect::fleet {

class Api;

struct FrontSettings {
  std::string address = "0.0.0.0";
  std::uint16_t port = 8080;
  PlainTokens tokens;
  std::string tokens_file;
  std::string tls_certificate;  ///< file names; empty: no TLS
  std::string tls_key;
  std::string tls_client_ca;
  bool tls_client_required = true;
  base::Duration shutdown_delay = base::Duration::zero();
  /// A poller leaves its connection behind and never uses it again.
  base::Duration idle_timeout = std::chrono::seconds(60);
  base::Duration header_timeout = std::chrono::seconds(10);  ///< handshake; the whole head
  base::Duration body_timeout = std::chrono::seconds(30);    ///< the whole body
  std::size_t max_connections = 20'000;
};

/// LISTEN_ADDR, AUTH_TOKEN, CRUD_AUTH_TOKEN, TOKENS_FILE, TLS_CERT_FILE, TLS_KEY_FILE,
/// TLS_CLIENT_CA_FILE, TLS_CLIENT_AUTH, SHUTDOWN_DELAY, IDLE_TIMEOUT, HEADER_TIMEOUT, BODY_TIMEOUT,
/// MAX_CONNECTIONS. Error: configuration, names the setting.
base::Result<FrontSettings> read_front(const cli::Invocation& invocation, bool crud);

/// Tokens and certificates are taken over when their files change.
class Front {
 public:
  /// Reads the files of the settings. `clock` and `log` must outlive it.
  static base::Result<std::unique_ptr<Front>> create(FrontSettings settings,
                                                     const base::Clock& clock,
                                                     const base::Logger& log);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  [[nodiscard]] const TokenBook& tokens() const { return tokens_; }
  /// Once. `api` must live until close(). Error: the port is not to be had.
  base::Result<> listen(Api& api);
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] http::ServerCounts counts() const { return server_->counts(); }
  /// Connections and bytes. `registry` must outlive it and make no page after it is gone.
  void add_metrics(metrics::Registry& registry) const;
  /// Readiness is off at once, new requests are answered for the shutdown delay and as long as
  /// others are under way (ten seconds at most), then nobody is answered any more.
  void close();

 private:
  Front(FrontSettings settings, const base::Clock& clock, const base::Logger& log)
      : settings_(std::move(settings)), clock_(clock), log_(log), reloader_(clock, &log) {}
  base::Result<> take_identity(const std::vector<std::string>& contents);

  FrontSettings settings_;
  const base::Clock& clock_;
  const base::Logger& log_;
  TokenBook tokens_{Tokens{}};
  std::optional<http::ServerIdentity> identity_;
  Api* api_ = nullptr;
  std::unique_ptr<http::Server> server_;
  base::FileReloader reloader_;  ///< behind what it changes
};

}  // namespace kollect::fleet
