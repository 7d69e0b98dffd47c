// A connection's bytes, plain or TLS, behind one interface. Internal to the room.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/server.h"

namespace kollect::http {

/// All on the I/O thread; one read and one write may be under way at a time. Destroyed or closed:
/// what is under way ends with an error.
class Socket {
 public:
  using Done = std::function<void(const boost::system::error_code&, std::size_t)>;
  virtual ~Socket() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Done done) = 0;
  virtual void write(const std::vector<boost::asio::const_buffer>& pieces, Done done) = 0;
  /// Of two pieces as much as goes without waiting; how many bytes. Not while a write is under way.
  virtual std::size_t write_now(std::string_view first, std::string_view second,
                                boost::system::error_code& error) = 0;
  /// Says that nothing more will be sent.
  virtual void finish_sending(Done done) = 0;
  virtual void close() = 0;
  /// Common name of the client's certificate, "" without one. After the handshake.
  [[nodiscard]] virtual std::string client_name() const = 0;
};

/// What TLS connections begin with; shared by them.
class TlsContext;
base::Result<std::shared_ptr<TlsContext>> make_tls_context(const ServerIdentity& identity);

/// Without a context: plain.
std::unique_ptr<Socket> make_socket(boost::asio::ip::tcp::socket socket,
                                    std::shared_ptr<TlsContext> tls);

}  // namespace kollect::http
