// A blocking byte stream over a socket, plain or TLS, for the scripted server. Internal to
// tests/support.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kollect::testing {

class SocketStream {
 public:
  /// Takes the socket over.
  explicit SocketStream(int socket) : socket_(socket) {}
  ~SocketStream();
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// Does the server's side of a TLS handshake; `tls_context` is an SSL_CTX. False when the client
  /// gave up.
  bool accept_tls(void* tls_context);
  /// Up to 16 KiB, "" at the end or on an error.
  std::string read_some();
  bool write_all(std::string_view data);
  /// Wakes a thread that is inside read_some().
  void shut_down() const;
  [[nodiscard]] int socket() const { return socket_; }
  /// Bytes are waiting inside the TLS layer.
  [[nodiscard]] bool pending() const;
  /// Common name of the client's certificate, "" without one.
  [[nodiscard]] std::string peer_name() const;
  /// Server name that the client asked for (SNI).
  [[nodiscard]] std::string asked_name() const;

 private:
  struct Tls;
  struct TlsDeleter {
    void operator()(Tls* tls) const;
  };
  int socket_;
  std::unique_ptr<Tls, TlsDeleter> tls_;
};

/// Connects to "host:port" of the loopback; -1 on failure.
int connect_to(const std::string& host_and_port);
/// A socket that listens on a free port of the loopback.
int listen_on_loopback(std::uint16_t& port);

}  // namespace kollect::testing
