#include "http/server_socket.h"

#include <openssl/x509.h>

#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

namespace kollect::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

class TlsContext {
 public:
  TlsContext() : context(asio::ssl::context::tls_server) {}
  asio::ssl::context context;
};

namespace {

class PlainSocket final : public Socket {
 public:
  explicit PlainSocket(tcp::socket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(const std::vector<asio::const_buffer>& pieces, Done done) override {
    asio::async_write(socket_, pieces, std::move(done));
  }
  void finish_sending(Done done) override {
    ErrorCode error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error, 0); });
  }
  void close() override {
    ErrorCode error;
    socket_.close(error);
  }
  [[nodiscard]] std::string client_name() const override { return {}; }

 private:
  tcp::socket socket_;
};

class TlsSocket final : public Socket {
 public:
  TlsSocket(tcp::socket socket, std::shared_ptr<TlsContext> tls)
      : tls_(std::move(tls)), stream_(std::move(socket), tls_->context) {}

  void handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](const ErrorCode& error) { done(error, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write(const std::vector<asio::const_buffer>& pieces, Done done) override {
    asio::async_write(stream_, pieces, std::move(done));
  }
  void finish_sending(Done done) override {
    // Sends close_notify; that the client's answer is not waited for is the caller's deadline.
    stream_.async_shutdown([done = std::move(done)](const ErrorCode& error) { done(error, 0); });
  }
  void close() override {
    ErrorCode error;
    stream_.lowest_layer().close(error);
  }
  [[nodiscard]] std::string client_name() const override {
    SSL* ssl = const_cast<TlsSocket*>(this)->stream_.native_handle();
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl),
                                                                  &X509_free);
    if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK) return {};
    std::array<char, 256> name{};
    const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                                               NID_commonName, name.data(), name.size());
    return size > 0 ? std::string(name.data(), static_cast<std::size_t>(size)) : std::string();
  }

 private:
  std::shared_ptr<TlsContext> tls_;
  asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

base::Result<std::shared_ptr<TlsContext>> make_tls_context(const ServerIdentity& identity) {
  auto tls = std::make_shared<TlsContext>();
  ErrorCode error;
  tls->context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                               asio::ssl::context::no_tlsv1_1,
                           error);
  tls->context.use_certificate_chain(asio::buffer(identity.certificate_pem), error);
  if (error) return base::configuration("certificate cannot be used: " + error.message());
  tls->context.use_private_key(asio::buffer(identity.key_pem.reveal()), asio::ssl::context::pem,
                               error);
  if (error) return base::configuration("key does not fit the certificate: " + error.message());
  if (!identity.client_ca_pem.empty()) {
    tls->context.add_certificate_authority(asio::buffer(identity.client_ca_pem), error);
    if (error) return base::configuration("client CA cannot be used: " + error.message());
    tls->context.set_verify_mode(
        identity.client_required ? asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert
                                 : asio::ssl::verify_peer,
        error);
  }
  return tls;
}

std::unique_ptr<Socket> make_socket(tcp::socket socket, std::shared_ptr<TlsContext> tls) {
  if (!tls) return std::make_unique<PlainSocket>(std::move(socket));
  return std::make_unique<TlsSocket>(std::move(socket), std::move(tls));
}

}  // namespace kollect::http
