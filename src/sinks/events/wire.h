// A TCP connection, with TLS if wanted: bytes in and out under a deadline, all on the caller's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::sinks::events {

struct TlsOptions {
  std::optional<std::string> ca_pem;  ///< none: the system's trust
  bool insecure_skip_verify = false;
  base::Secret certificate;  ///< PEM, with its chain; empty: none
  base::Secret key;          ///< PEM
};

/// Used by one thread at a time, in a process that ignores SIGPIPE. After an error it is dead.
/// Errors: retryable "unreachable"; of the handshake terminal "tls"; cancelled.
class Wire {
 public:
  /// `address` is a number.
  static base::Result<Wire> connect(const base::Context& context, const std::string& address,
                                    std::uint16_t port);
  Wire(Wire&&) noexcept;
  Wire& operator=(Wire&&) noexcept;
  ~Wire();

  /// Bytes beyond what was read so far must not have come yet. `name` is what the certificate must
  /// be for.
  base::Result<> start_tls(const base::Context& context, const TlsOptions& options,
                           const std::string& name);

  /// For a poll() beside others; nothing else is to be done with it.
  [[nodiscard]] int socket() const;
  /// Bytes that pump() is to write.
  std::string& output();
  /// Bytes that came; the reader removes what it has understood.
  std::string& input();
  /// Writes and reads what goes without waiting; when nothing does, waits for it, at most `wait`.
  base::Result<> pump(const base::Context& context, base::Duration wait);

 private:
  struct Impl;
  explicit Wire(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::sinks::events
