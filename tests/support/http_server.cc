#include "support/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/hash.h"
#include "base/strings.h"
#include "support/socket_stream.h"

namespace kollect::testing {

namespace {

X509* read_certificate(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* cert = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return cert;
}

std::shared_ptr<void> make_tls(const HttpServerOptions& options) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  X509* cert = read_certificate(options.certificate.cert_pem);
  SSL_CTX_use_certificate(context, cert);
  X509_free(cert);
  const std::string& key_pem = options.certificate.key_pem;
  BIO* bio = BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  SSL_CTX_use_PrivateKey(context, key);
  EVP_PKEY_free(key);
  if (!options.client_authority_pem.empty()) {
    X509* authority = read_certificate(options.client_authority_pem);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
    X509_free(authority);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  return {context, [](void* p) { SSL_CTX_free(static_cast<SSL_CTX*>(p)); }};
}

std::string reason_of(int status) {
  return status < 400 ? "Fine" : "Trouble";
}

}  // namespace

struct HttpServer::Connection {
  explicit Connection(int socket) : stream(socket) {}
  SocketStream stream;
  std::string buffer;
  std::uint64_t number = 0;
  std::atomic<int> tunnel_socket = -1;
  std::thread thread;
};

std::string Received::header(const std::string& lower_name) const {
  const auto it = headers.find(lower_name);
  return it == headers.end() ? "" : it->second;
}

std::string Received::path() const {
  return target.substr(0, target.find('?'));
}

std::string Received::query(const std::string& name) const {
  const auto mark = target.find('?');
  if (mark == std::string::npos) return {};
  for (const auto part : base::split(std::string_view(target).substr(mark + 1), '&')) {
    if (part.starts_with(name + "=")) {
      return base::percent_decode(part.substr(name.size() + 1)).value_or("");
    }
  }
  return {};
}

Reply Reply::json(std::string body, int status) {
  Reply reply;
  reply.status = status;
  reply.headers = {{"Content-Type", "application/json"}};
  reply.body = std::move(body);
  return reply;
}

HttpServer::HttpServer(Answer answer, HttpServerOptions options)
    : answer_(std::move(answer)), options_(std::move(options)) {
  if (!options_.certificate.cert_pem.empty()) tls_ = make_tls(options_);
  listener_ = listen_on_loopback(port_);
  acceptor_ = std::thread([this] { accept_loop(); });
}

HttpServer::~HttpServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (auto& connection : open_) {
    connection->stream.shut_down();
    if (const int fd = connection->tunnel_socket; fd >= 0) shutdown(fd, SHUT_RDWR);
  }
  for (auto& connection : open_) connection->thread.join();
}

std::string HttpServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", tls_ ? "https" : "http", port_);
}

std::vector<Received> HttpServer::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void HttpServer::note(const Received& request) {
  const std::lock_guard lock(mutex_);
  received_.push_back(request);
}

void HttpServer::accept_loop() {
  while (!stopping_) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>(fd);
    connection->number = ++connections_;
    Connection& raw = *connection;
    open_.push_back(std::move(connection));
    raw.thread = std::thread([this, &raw] { serve(raw); });
  }
}

void HttpServer::serve(Connection& connection) {
  if (tls_ == nullptr || connection.stream.accept_tls(tls_.get())) {
    while (!stopping_ && serve_one(connection)) {
    }
  }
  connection.stream.shut_down();
}

namespace {

bool read_until(SocketStream& stream, std::string& buffer, std::string_view mark,
                std::string& out) {
  std::size_t at = 0;
  while ((at = buffer.find(mark)) == std::string::npos) {
    const std::string more = stream.read_some();
    if (more.empty()) return false;
    buffer += more;
  }
  out = buffer.substr(0, at);
  buffer.erase(0, at + mark.size());
  return true;
}

bool read_exactly(SocketStream& stream, std::string& buffer, std::size_t size, std::string& out) {
  while (buffer.size() < size) {
    const std::string more = stream.read_some();
    if (more.empty()) return false;
    buffer += more;
  }
  out = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

bool read_request(SocketStream& stream, std::string& buffer, Received& request) {
  std::string head;
  if (!read_until(stream, buffer, "\r\n\r\n", head)) return false;
  bool first = true;
  for (std::string_view line : base::split(head, '\n')) {
    line = base::trim(line);
    if (std::exchange(first, false)) {
      const auto words = base::split(line, ' ');
      if (words.size() < 3) return false;
      request.method = words[0];
      request.target = words[1];
      continue;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string& value = request.headers[base::to_lower(line.substr(0, colon))];
    if (!value.empty()) value += ",";
    value += base::trim(line.substr(colon + 1));
  }
  const std::string length = request.header("content-length");
  std::size_t size = 0;
  std::from_chars(length.data(), length.data() + length.size(), size);
  return size == 0 || read_exactly(stream, buffer, size, request.body);
}

std::string head_of(const Reply& reply, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reason_of(reply.status));
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  std::size_t size = reply.body.size();
  for (const auto& [before, part] : reply.more) size += part.size();
  if (reply.chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else {
    head += fmt::format("Content-Length: {}\r\n", size + (reply.close_early ? 1000 : 0));
  }
  return head + (keep_alive ? "\r\n" : "Connection: close\r\n\r\n");
}

bool send_part(SocketStream& stream, const Reply& reply, const std::string& part) {
  if (part.empty()) return true;
  if (!reply.chunked) return stream.write_all(part);
  return stream.write_all(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
}

bool send_reply(SocketStream& stream, const Reply& reply, bool keep_alive) {
  if (!stream.write_all(head_of(reply, keep_alive)) || !send_part(stream, reply, reply.body)) {
    return false;
  }
  for (const auto& [before, part] : reply.more) {
    if (before) before();
    if (!send_part(stream, reply, part)) return false;
  }
  if (reply.close_early) return false;
  if (reply.chunked && !stream.write_all("0\r\n\r\n")) return false;
  return keep_alive;
}

}  // namespace

bool HttpServer::serve_one(Connection& connection) {
  Received request;
  if (!read_request(connection.stream, connection.buffer, request)) return false;
  request.client_name = connection.stream.peer_name();
  request.server_name = connection.stream.asked_name();
  request.connection = connection.number;
  note(request);
  if (request.method == "CONNECT" && options_.proxy) {
    tunnel(connection, request.target);
    return false;
  }
  const Reply reply = answer_(request);
  if (reply.no_answer) {
    while (!connection.stream.read_some().empty()) {
    }
    return false;
  }
  return send_reply(connection.stream, reply, options_.keep_alive);
}

void HttpServer::tunnel(Connection& connection, const std::string& target) {
  const int fd = connect_to(target);
  if (fd < 0) {
    connection.stream.write_all("HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n");
    return;
  }
  SocketStream other(fd);
  connection.tunnel_socket = fd;
  connection.stream.write_all("HTTP/1.1 200 Connected\r\n\r\n");
  while (!stopping_) {
    std::array<pollfd, 2> fds{
        {{connection.stream.socket(), POLLIN, 0}, {other.socket(), POLLIN, 0}}};
    if (!connection.stream.pending() && poll(fds.data(), fds.size(), 1000) == 0) continue;
    if (connection.stream.pending() || fds[0].revents != 0) {
      const std::string data = connection.stream.read_some();
      if (data.empty() || !other.write_all(data)) break;
    }
    if (fds[1].revents != 0) {
      const std::string data = other.read_some();
      if (data.empty() || !connection.stream.write_all(data)) break;
    }
  }
  connection.tunnel_socket = -1;
}

std::uint16_t dead_port() {
  std::uint16_t port = 0;
  close(listen_on_loopback(port));
  return port;
}

}  // namespace kollect::testing
