#include "support/tcp_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace kollect::testing {

TcpServer::TcpServer(std::string greeting)
    : TcpServer([greeting = std::move(greeting)](SocketStream& stream) {
        stream.write_all(greeting);
        while (!stream.read_some().empty()) continue;
      }) {}

TcpServer::TcpServer(std::function<void(SocketStream&)> talk)
    : talk_(std::move(talk)), listener_(listen_on_loopback(port_)) {
  accepting_ = std::jthread([this] {
    while (true) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const std::scoped_lock lock(mutex_);
      Connection& connection = connections_.emplace_back(socket);
      if (ended_) return;
      connection.thread = std::jthread([this, &connection] { talk_(connection.stream); });
    }
  });
}

TcpServer::~TcpServer() {
  ::shutdown(listener_, SHUT_RDWR);
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    for (const Connection& connection : connections_) connection.stream.shut_down();
  }
  accepting_.join();
  ::close(listener_);
}

}  // namespace kollect::testing
