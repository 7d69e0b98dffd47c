#include "support/socket_stream.h"

#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace kollect::testing {

struct SocketStream::Tls {
  SSL* ssl;
};

void SocketStream::TlsDeleter::operator()(Tls* tls) const {
  SSL_free(tls->ssl);
  delete tls;
}

SocketStream::~SocketStream() {
  tls_.reset();
  close(socket_);
}

bool SocketStream::accept_tls(void* tls_context) {
  tls_.reset(new Tls{SSL_new(static_cast<SSL_CTX*>(tls_context))});
  SSL_set_fd(tls_->ssl, socket_);
  return SSL_accept(tls_->ssl) == 1;
}

std::string SocketStream::read_some() {
  std::array<char, 16384> buffer{};
  const auto got = tls_ ? SSL_read(tls_->ssl, buffer.data(), buffer.size())
                        : static_cast<int>(recv(socket_, buffer.data(), buffer.size(), 0));
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

bool SocketStream::write_all(std::string_view data) {
  while (!data.empty()) {
    const auto part = static_cast<int>(std::min<std::size_t>(data.size(), 1U << 20U));
    const auto sent = tls_ ? SSL_write(tls_->ssl, data.data(), part)
                           : static_cast<int>(send(socket_, data.data(),
                                                   static_cast<std::size_t>(part), MSG_NOSIGNAL));
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void SocketStream::shut_down() const {
  shutdown(socket_, SHUT_RDWR);
}

bool SocketStream::pending() const {
  return tls_ && SSL_pending(tls_->ssl) > 0;
}

std::string SocketStream::peer_name() const {
  if (!tls_) return {};
  X509* cert = SSL_get1_peer_certificate(tls_->ssl);
  if (cert == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name.data(), name.size());
  X509_free(cert);
  return name.data();
}

std::string SocketStream::asked_name() const {
  const char* name = tls_ ? SSL_get_servername(tls_->ssl, TLSEXT_NAMETYPE_host_name) : nullptr;
  return name == nullptr ? "" : name;
}

int listen_on_loopback(std::uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 64) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port = ntohs(address.sin_port);
  return fd;
}

int connect_to(const std::string& host_and_port) {
  const auto colon = host_and_port.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host_and_port.substr(0, colon).c_str(), host_and_port.substr(colon + 1).c_str(),
                  &hints, &found) != 0) {
    return -1;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  if (connected) return fd;
  close(fd);
  return -1;
}

}  // namespace kollect::testing
