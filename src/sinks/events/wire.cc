#include "sinks/events/wire.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/resolve.h"

namespace kollect::sinks::events {

namespace {

constexpr base::Duration kLongestPoll = std::chrono::milliseconds(50);  // how late a cancel may be
constexpr std::size_t kPiece = 64U << 10U;

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
using SslContext = std::unique_ptr<SSL_CTX, Free<&SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Free<&SSL_free>>;
using Bio = std::unique_ptr<BIO, Free<&BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Free<&X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<&EVP_PKEY_free>>;

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

base::Error lost(std::string_view why) {
  return base::retryable(fmt::format("the connection failed: {}", why), "unreachable");
}

base::Error lost_by(int code) {
  std::array<char, 128> text{};
  return lost(::strerror_r(code, text.data(), text.size()));
}

base::Error bad_tls(std::string_view why) {
  return base::terminal(fmt::format("TLS: {}", why), "tls");
}

base::Error bad_pem(std::string_view what) {
  return base::configuration(fmt::format("{} is not PEM", what), "tls");
}

/// Waits for the socket, a moment at most.
base::Result<> wait_for(const base::Context& context, int fd, short events, base::Duration wait) {
  KL_TRY(context.check());
  const auto limit = std::min({wait, kLongestPoll, context.remaining()});
  pollfd one{fd, events, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  if (::poll(&one, 1, static_cast<int>(left)) < 0 && errno != EINTR) return lost_by(errno);
  return {};
}

Bio memory(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

base::Result<> trust(SSL_CTX* context, const TlsOptions& options) {
  if (options.insecure_skip_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (!options.ca_pem) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return bad_tls("no system trust");
    return {};
  }
  const Bio text = memory(*options.ca_pem);
  int count = 0;
  while (const Certificate one{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return bad_pem("the CA of spec.tls");
  return {};
}

base::Result<> identify(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate.empty()) return {};
  const Bio text = memory(options.certificate.reveal());
  const Certificate own{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)};
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return bad_pem("tls.crt of the Secret");
  }
  while (Certificate next{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add0_chain_cert(context, next.get()) == 1) (void)next.release();
  }
  ERR_clear_error();
  const Bio key_text = memory(options.key.reveal());
  const Key key{PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr)};
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    ERR_clear_error();
    return bad_pem("tls.key of the Secret (or it does not belong to tls.crt)");
  }
  return {};
}

base::Result<> expect_name(SSL* ssl, const TlsOptions& options, const std::string& name) {
  const bool number = base::is_numeric_address(name);
  if (!number) SSL_set_tlsext_host_name(ssl, name.c_str());
  if (options.insecure_skip_verify) return {};
  const bool set = number ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1
                          : SSL_set1_host(ssl, name.c_str()) == 1;
  if (!set) return bad_tls("the server's name cannot be checked");
  return {};
}

}  // namespace

struct Wire::Impl {
  Socket socket;
  SslContext tls;
  Ssl ssl;
  std::string output;
  std::size_t written = 0;  ///< of output
  std::string input;
  bool ended = false;

  /// Bytes written, 0 when it would wait.
  base::Result<std::size_t> write_some();
  base::Result<std::size_t> read_some();
  base::Result<std::size_t> tls_result(int result);
  base::Result<> handshake(const base::Context& context);
};

Wire::Wire(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Wire::Wire(Wire&&) noexcept = default;
Wire& Wire::operator=(Wire&&) noexcept = default;
Wire::~Wire() {
  if (impl_ && impl_->ssl) SSL_shutdown(impl_->ssl.get());
}

std::string& Wire::output() {
  return impl_->output;
}

int Wire::socket() const {
  return impl_->socket.get();
}

std::string& Wire::input() {
  return impl_->input;
}

base::Result<Wire> Wire::connect(const base::Context& context, const std::string& address,
                                 std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) {
    return lost("not an address");
  }
  const std::unique_ptr<addrinfo, Free<&::freeaddrinfo>> owner(list);
  auto impl = std::make_unique<Impl>();
  impl->socket =
      Socket(::socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  const int fd = impl->socket.get();
  if (fd < 0) return lost_by(errno);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (::connect(fd, list->ai_addr, list->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return lost_by(errno);
  }
  while (true) {
    pollfd one{fd, POLLOUT, 0};
    if (::poll(&one, 1, 0) > 0) break;
    KL_TRY(wait_for(context, fd, POLLOUT, kLongestPoll));
  }
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) return lost_by(problem);
  return Wire(std::move(impl));
}

base::Result<> Wire::start_tls(const base::Context& context, const TlsOptions& options,
                               const std::string& name) {
  ERR_clear_error();
  Impl& impl = *impl_;
  impl.tls.reset(SSL_CTX_new(TLS_client_method()));
  if (!impl.tls || SSL_CTX_set_min_proto_version(impl.tls.get(), TLS1_2_VERSION) != 1) {
    return bad_tls("not available");
  }
  SSL_CTX_set_mode(impl.tls.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  KL_TRY(trust(impl.tls.get(), options));
  KL_TRY(identify(impl.tls.get(), options));
  impl.ssl.reset(SSL_new(impl.tls.get()));
  if (!impl.ssl || SSL_set_fd(impl.ssl.get(), impl.socket.get()) != 1) {
    return bad_tls("not available");
  }
  KL_TRY(expect_name(impl.ssl.get(), options, name));
  return impl.handshake(context);
}

base::Result<> Wire::Impl::handshake(const base::Context& context) {
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(ssl.get());
    if (result == 1) return {};
    const int what = SSL_get_error(ssl.get(), result);
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) {
      KL_TRY(wait_for(context, socket.get(), what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
                      kLongestPoll));
      continue;
    }
    const long verdict = SSL_get_verify_result(ssl.get());
    if (verdict != X509_V_OK) {
      return bad_tls(
          fmt::format("the server's certificate is not accepted: {}; set spec.tls to its CA",
                      X509_verify_cert_error_string(verdict)));
    }
    const auto code = ERR_peek_error();
    if (what == SSL_ERROR_SYSCALL || code == 0) return lost("the server ended the handshake");
    const char* reason = ERR_reason_error_string(code);
    return bad_tls(reason != nullptr ? reason : "the handshake failed");
  }
}

base::Result<std::size_t> Wire::Impl::tls_result(int result) {
  if (result > 0) return static_cast<std::size_t>(result);
  switch (SSL_get_error(ssl.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return std::size_t{0};
    case SSL_ERROR_SSL: {
      const char* reason = ERR_reason_error_string(ERR_peek_error());
      // An alert after the handshake: in TLS 1.3 the server looks at our certificate only then.
      return lost(reason != nullptr ? reason : "TLS failed");
    }
    default:
      ended = true;
      return lost("the server closed it");
  }
}

base::Result<std::size_t> Wire::Impl::write_some() {
  const std::size_t size = std::min(output.size() - written, kPiece);
  const char* at = output.data() + written;
  if (ssl) {
    ERR_clear_error();
    return tls_result(SSL_write(ssl.get(), at, static_cast<int>(size)));
  }
  const auto count = ::send(socket.get(), at, size, MSG_NOSIGNAL);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return lost_by(errno);
}

base::Result<std::size_t> Wire::Impl::read_some() {
  const std::size_t before = input.size();
  input.resize(before + kPiece);
  char* at = input.data() + before;
  base::Result<std::size_t> got = std::size_t{0};
  if (ssl) {
    ERR_clear_error();
    got = tls_result(SSL_read(ssl.get(), at, static_cast<int>(kPiece)));
  } else {
    const auto count = ::recv(socket.get(), at, kPiece, 0);
    if (count > 0) {
      got = static_cast<std::size_t>(count);
    } else if (count == 0) {
      got = lost("the server closed it");
    } else if (errno != EAGAIN && errno != EINTR) {
      got = lost_by(errno);
    }
  }
  input.resize(before + got.value_or(0));
  return got;
}

base::Result<> Wire::pump(const base::Context& context, base::Duration wait) {
  Impl& impl = *impl_;
  bool moved = false;
  while (impl.written < impl.output.size()) {
    // What the server had to say before it went explains more than the failed write.
    auto wrote = impl.write_some();
    if (!wrote) {
      (void)impl.read_some();
      return base::Error(wrote.error());
    }
    if (*wrote == 0) break;
    impl.written += *wrote;
    moved = true;
  }
  if (impl.written == impl.output.size()) {
    impl.output.clear();
    impl.written = 0;
  } else if (impl.written > impl.output.size() / 2) {
    impl.output.erase(0, impl.written);
    impl.written = 0;
  }
  while (true) {
    auto got = impl.read_some();
    if (!got) {
      if (moved) return {};  // what came before is looked at first; the next call says it again
      return base::Error(got.error());
    }
    if (*got == 0) break;
    moved = true;
    if (impl.input.size() >= 4 * kPiece) break;
  }
  if (moved || wait <= base::Duration::zero()) return context.check();
  const bool writes = !impl.output.empty();
  KL_TRY(wait_for(context, impl.socket.get(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)),
                  wait));
  return {};
}

}  // namespace kollect::sinks::events
