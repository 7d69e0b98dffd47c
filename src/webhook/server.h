// The HTTPS server that the API server asks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "admission/admission.h"
#include "base/file_reloader.h"
#include "base/log.h"
#include "http/server.h"
#include "webhook/certificates.h"

namespace kollect::webhook {

/// Listens as soon as it has a certificate, first given by adopt() or by the files of
/// follow_files(); later ones count for new connections. Thread-safe.
class Server {
 public:
  /// `address`: HOST:PORT, with an empty host for all addresses. `lookup`, `clock` and `log` (may
  /// be null) must outlive it. Error: configuration (the address).
  static base::Result<std::unique_ptr<Server>> create(const std::string& address,
                                                      const admission::Lookup& lookup,
                                                      admission::Settings settings,
                                                      const base::Clock& clock,
                                                      const base::Logger* log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Errors: configuration (certificate or key are of no use: what was served before stays),
  /// terminal (the port is not to be had).
  base::Result<> adopt(const KeyPair& certificate);
  /// Serves with a certificate and key in files and takes them over when they change. Once. Files
  /// that are not there yet are waited for. Error: terminal (the port is not to be had).
  base::Result<> follow_files(const std::string& certificate, const std::string& key);
  /// It has a certificate and listens.
  [[nodiscard]] bool serving() const;
  /// 0 as long as it does not serve.
  [[nodiscard]] std::uint16_t port() const;
  /// Lets answers that are under way come to their end.
  void stop();

 private:
  Server(http::ServerOptions options, const admission::Lookup& lookup, admission::Settings settings,
         const base::Clock& clock, const base::Logger* log)
      : options_(std::move(options)),
        lookup_(lookup),
        settings_(settings),
        log_(log),
        reloader_(clock, log) {}

  const http::ServerOptions options_;
  const admission::Lookup& lookup_;
  const admission::Settings settings_;
  const base::Logger* log_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::unique_ptr<http::Server> server_;
  base::FileReloader reloader_;  ///< behind what it changes
};

}  // namespace kollect::webhook
