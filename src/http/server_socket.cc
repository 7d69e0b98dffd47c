#include "http/server_socket.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

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
  explicit PlainSocket(tcp::socket socket) : socket_(std::move(socket)) {
    ErrorCode error;
    socket_.non_blocking(true, error);
  }

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(const std::vector<asio::const_buffer>& pieces, Done done) override {
    asio::async_write(socket_, pieces, std::move(done));
  }
  std::size_t write_now(std::string_view first, std::string_view second,
                        ErrorCode& error) override {
    const std::array<asio::const_buffer, 2> pieces = {asio::buffer(first.data(), first.size()),
                                                      asio::buffer(second.data(), second.size())};
    const std::size_t sent =
        second.empty() ? socket_.write_some(pieces[0], error) : socket_.write_some(pieces, error);
    if (error == asio::error::would_block || error == asio::error::try_again) error = {};
    return sent;
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

/// OpenSSL's bytes in and out of a socket that never waits, without SIGPIPE.
class SocketBio {
 public:
  static BIO* make(int descriptor) {
    static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> kMethod = method();
    BIO* bio = BIO_new(kMethod.get());
    if (bio == nullptr) return nullptr;
    BIO_set_fd(bio, descriptor, BIO_NOCLOSE);
    BIO_set_init(bio, 1);
    return bio;
  }

 private:
  static int descriptor_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  }
  static int finish(BIO* bio, ssize_t size, int flag) {
    BIO_clear_retry_flags(bio);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      BIO_set_flags(bio, flag | BIO_FLAGS_SHOULD_RETRY);
    }
    return static_cast<int>(size);
  }
  static int read(BIO* bio, char* into, int size) {
    return finish(bio, ::recv(descriptor_of(bio), into, static_cast<std::size_t>(size), 0),
                  BIO_FLAGS_READ);
  }
  static int write(BIO* bio, const char* from, int size) {
    return finish(bio,
                  ::send(descriptor_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL),
                  BIO_FLAGS_WRITE);
  }
  static long control(BIO* bio, int command, long number, void* pointer) {
    switch (command) {
      case BIO_C_SET_FD:
        BIO_set_data(bio, reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
                              static_cast<std::intptr_t>(*static_cast<int*>(pointer))));
        BIO_set_shutdown(bio, static_cast<int>(number));
        return 1;
      case BIO_CTRL_FLUSH:
        return 1;
      default:
        return 0;
    }
  }
  static std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> method() {
    std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> made(
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "server socket"), &BIO_meth_free);
    BIO_meth_set_read(made.get(), &SocketBio::read);
    BIO_meth_set_write(made.get(), &SocketBio::write);
    BIO_meth_set_ctrl(made.get(), &SocketBio::control);
    return made;
  }
};

/// On OpenSSL itself: Asio's stream keeps two buffers of a record for each connection, idle ones
/// too.
class TlsSocket final : public Socket {
 public:
  TlsSocket(tcp::socket socket, std::shared_ptr<TlsContext> tls)
      : tls_(std::move(tls)),
        socket_(std::move(socket)),
        ssl_(SSL_new(tls_->context.native_handle()), &SSL_free) {
    ErrorCode error;
    socket_.native_non_blocking(true, error);
    BIO* bio = ssl_ ? SocketBio::make(socket_.native_handle()) : nullptr;
    if (bio != nullptr) SSL_set_bio(ssl_.get(), bio, bio);
    broken_ = bio == nullptr;
    if (!broken_) SSL_set_accept_state(ssl_.get());
  }

  void handshake(Done done) override {
    run([](SSL* ssl) { return SSL_do_handshake(ssl); }, std::move(done));
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    run(
        [into](SSL* ssl) {
          return SSL_read(ssl, into.data(), static_cast<int>(std::min(into.size(), kMost)));
        },
        std::move(done));
  }
  void write(const std::vector<asio::const_buffer>& pieces, Done done) override {
    std::string all;
    for (const auto& piece : pieces) {
      all.append(static_cast<const char*>(piece.data()), piece.size());
    }
    write_rest(std::make_shared<const std::string>(std::move(all)), 0, std::move(done));
  }
  std::size_t write_now(std::string_view first, std::string_view second,
                        ErrorCode& error) override {
    // One record for a short answer.
    const std::string both =
        std::string(first) + std::string(second.substr(0, std::min(second.size(), kMost)));
    std::size_t sent = 0;
    while (sent < first.size() + second.size()) {
      const std::string_view rest = sent < both.size() ? std::string_view(both).substr(sent)
                                                       : second.substr(sent - first.size());
      const int size = attempt([rest](SSL* ssl) {
        return SSL_write(ssl, rest.data(), static_cast<int>(std::min(rest.size(), kMost)));
      });
      if (size <= 0) {
        if (wants(size) == Wants::kNothing) error = asio::error::connection_reset;
        break;
      }
      sent += static_cast<std::size_t>(size);
    }
    return sent;
  }
  void finish_sending(Done done) override {
    // That the client says goodbye too is not waited for.
    if (SSL_is_init_finished(ssl_.get()) != 0) attempt([](SSL* ssl) { return SSL_shutdown(ssl); });
    ErrorCode error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error, 0); });
  }
  void close() override {
    ErrorCode error;
    socket_.close(error);
  }
  [[nodiscard]] std::string client_name() const override {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(ssl_.get()), &X509_free);
    if (!certificate || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return {};
    std::array<char, 256> name{};
    const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                                               NID_commonName, name.data(), name.size());
    return size > 0 ? std::string(name.data(), static_cast<std::size_t>(size)) : std::string();
  }

 private:
  enum class Wants { kRead, kWrite, kNothing };
  static constexpr std::size_t kMost = 16U << 10U;  ///< a record

  template <class Step>
  int attempt(const Step& step) {
    if (broken_ || !socket_.is_open()) return -1;
    ERR_clear_error();
    errno = 0;
    return step(ssl_.get());
  }
  /// What a step that gave `result` waits for. A failed session does nothing any more.
  Wants wants(int result) {
    if (broken_ || !socket_.is_open()) return Wants::kNothing;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return Wants::kRead;
      case SSL_ERROR_WANT_WRITE:
        return Wants::kWrite;
      case SSL_ERROR_ZERO_RETURN:
        return Wants::kNothing;
      default:
        broken_ = true;
        return Wants::kNothing;
    }
  }
  /// Repeats the step until it has done something. `done` keeps the connection, and so this, alive.
  template <class Step>
  void run(Step step, Done done) {
    const int result = attempt(step);
    if (result > 0) {
      asio::post(socket_.get_executor(),
                 [done = std::move(done), result] { done({}, static_cast<std::size_t>(result)); });
      return;
    }
    const Wants wanted = wants(result);
    if (wanted == Wants::kNothing) {
      asio::post(socket_.get_executor(), [done = std::move(done)] { done(asio::error::eof, 0); });
      return;
    }
    socket_.async_wait(
        wanted == Wants::kRead ? tcp::socket::wait_read : tcp::socket::wait_write,
        [this, step = std::move(step), done = std::move(done)](const ErrorCode& error) mutable {
          if (error) return done(error, 0);
          run(std::move(step), std::move(done));
        });
  }
  void write_rest(std::shared_ptr<const std::string> all, std::size_t sent, Done done) {
    const std::string_view rest = std::string_view(*all).substr(sent);
    run(
        [rest](SSL* ssl) {
          return SSL_write(ssl, rest.data(), static_cast<int>(std::min(rest.size(), kMost)));
        },
        [this, all = std::move(all), sent, done = std::move(done)](const ErrorCode& error,
                                                                   std::size_t size) mutable {
          const std::size_t now = sent + size;
          if (error || now == all->size()) return done(error, now);
          write_rest(std::move(all), now, std::move(done));
        });
  }

  std::shared_ptr<TlsContext> tls_;
  tcp::socket socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool broken_ = false;
};

}  // namespace

base::Result<std::shared_ptr<TlsContext>> make_tls_context(const ServerIdentity& identity) {
  auto tls = std::make_shared<TlsContext>();
  ErrorCode error;
  tls->context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                               asio::ssl::context::no_tlsv1_1,
                           error);
  // A write that stopped half way may go on from another place; idle connections keep no buffers.
  SSL_CTX_set_mode(tls->context.native_handle(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                                     SSL_MODE_RELEASE_BUFFERS);
  constexpr std::string_view kSessions = "kollect";
  SSL_CTX_set_session_id_context(tls->context.native_handle(),
                                 reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 static_cast<unsigned>(kSessions.size()));
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
