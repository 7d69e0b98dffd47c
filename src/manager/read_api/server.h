// The read API of `kollect operator`: its flags, its server, who may ask (spec: runtime 13).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_reloader.h"
#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "kube/client.h"
#include "manager/manager.h"
#include "readapi/access.h"
#include "readapi/service.h"
#include "readapi/static_files.h"

namespace kollect::manager {

struct ReadApiOptions {
  bool enabled = false;
  std::uint16_t port = 8082;
  std::string address;                   ///< HOST; empty: all addresses
  std::string auth_mode = "kubernetes";  ///< or "disabled"; "none" is an old spelling of that
  std::vector<std::string> audiences;    ///< of tokens; empty: the API server's own
  base::Duration auth_keep = std::chrono::seconds(30);
  bool opt_in = false;
  std::vector<std::string> cors_origins;
  std::string cert_path;  ///< folder; empty: plain HTTP
  std::string cert_name = "tls.crt";
  std::string cert_key = "tls.key";
  bool ui = false;
  std::size_t max_streams = 64;
  std::size_t stream_buffer_bytes = 32U << 20U;
};

/// Error: configuration, names the flag.
base::Result<> check(ReadApiOptions& options);

/// Serves from start() to stop(), which the destructor calls.
class ReadApi {
 public:
  /// References must outlive it. `closed`: why this process cannot answer at the moment; empty: it
  /// can. Errors: configuration (address, certificate), terminal (port in use).
  static base::Result<std::unique_ptr<ReadApi>> start(const ReadApiOptions& options,
                                                      Manager& manager, kube::Client& client,
                                                      std::function<std::string()> closed,
                                                      const base::Clock& clock,
                                                      const base::Logger* log);
  ~ReadApi();
  ReadApi(const ReadApi&) = delete;
  ReadApi& operator=(const ReadApi&) = delete;

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  /// Ends streams in good order; other answers may take a moment.
  void stop();

 private:
  ReadApi(const base::Clock& clock, const base::Logger* log) : reloader_(clock, log) {}
  base::Result<> adopt(http::ServerIdentity identity);
  base::Result<> listen(const base::Logger* log);

  http::ServerOptions listen_;
  std::unique_ptr<readapi::StaticFiles> console_;
  std::unique_ptr<readapi::Authorizer> access_;
  std::unique_ptr<readapi::Service> service_;
  std::unique_ptr<http::Server> server_;
  base::FileReloader reloader_;  ///< last: ends first
};

}  // namespace kollect::manager
