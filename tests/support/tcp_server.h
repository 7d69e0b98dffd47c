// A TCP server on loopback whose words a test chooses: for peers that speak a protocol wrongly.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "support/socket_stream.h"

namespace kollect::testing {

class TcpServer {
 public:
  /// `talk` runs for each connection on a thread of its own and ends when read_some() gives "": the
  /// connection is open until the server goes, unless the peer ends it.
  explicit TcpServer(std::function<void(SocketStream&)> talk);
  /// Says `greeting` to everybody and nothing else.
  explicit TcpServer(std::string greeting);
  /// Ends all connections and waits.
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  struct Connection {
    explicit Connection(int socket) : stream(socket) {}
    SocketStream stream;
    std::jthread thread;
  };

  std::function<void(SocketStream&)> talk_;
  std::uint16_t port_ = 0;
  int listener_;  ///< made last: it sets the port
  std::mutex mutex_;
  std::list<Connection> connections_;
  bool ended_ = false;
  std::jthread accepting_;
};

}  // namespace kollect::testing
