#include "sinks/mongo/dialer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "sinks/mongo/stream.h"

namespace kollect::sinks::mongo {

namespace {

base::Error unreachable(std::string_view why) {
  return base::retryable(fmt::format("mongodb: cannot connect: {}", why), "unreachable");
}

base::Error untrusted(std::string_view why) {
  return base::configuration(fmt::format("mongodb: TLS: {}", why), "tls");
}

base::Error refused(std::string_view why) {
  return base::configuration(fmt::format("mongodb: {}", why), "address-refused");
}

/// Certificates of a PEM text into the trust of `tls`. False when there is none.
bool trust_pem(SSL_CTX* tls, const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  bool any = false;
  while (bio != nullptr) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free);
    if (certificate == nullptr) break;
    any = X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), certificate.get()) == 1 || any;
  }
  ERR_clear_error();
  return any;
}

int password_from_c(char* into, int size, int /*writing*/, void* text) {
  const auto& password = *static_cast<const std::string*>(text);
  const auto length = std::min(static_cast<std::size_t>(size), password.size());
  std::memcpy(into, password.data(), length);
  return static_cast<int>(length);
}

/// Where a socket leads.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<Address> read_address(const std::string& text, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  Address out;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  return out;
}

std::optional<Address> local_address(const std::string& path) {
  Address out;
  auto& local = reinterpret_cast<sockaddr_un&>(out.storage);
  if (path.size() >= sizeof local.sun_path) return {};
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.data(), path.size());
  out.size = sizeof(sockaddr_un);
  return out;
}

base::Error why_refused(SSL* session) {
  const long verified = SSL_get_verify_result(session);
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return untrusted("the server's certificate is for another host name");
  }
  if (verified != X509_V_OK) {
    return untrusted(
        fmt::format("the server's certificate is not trusted ({}); give its CA in spec.tls",
                    X509_verify_cert_error_string(verified)));
  }
  return unreachable("the TLS handshake failed; is TLS on at the server?");
}

}  // namespace

base::Result<std::unique_ptr<Dialer>> Dialer::create(DialOptions options) {
  std::unique_ptr<Dialer> out(new Dialer(std::move(options)));
  out->wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!out->wake_.valid()) return unreachable("no file descriptor is left");
  if (out->options_.tls) KL_TRY(out->prepare_tls());
  return out;
}

base::Result<> Dialer::prepare_tls() {
  tls_.reset(SSL_CTX_new(TLS_client_method()));
  if (tls_ == nullptr) return unreachable("out of memory");
  SSL_CTX_set_min_proto_version(tls_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(tls_.get(), options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options_.ca_pem) {
    if (!trust_pem(tls_.get(), *options_.ca_pem)) {
      return untrusted("the CA of spec.tls holds no PEM certificate");
    }
  } else if (!options_.ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(tls_.get(), options_.ca_file.c_str(), nullptr) != 1) {
      return untrusted("tlsCAFile of the URI cannot be read");
    }
  } else {
    SSL_CTX_set_default_verify_paths(tls_.get());
  }
  if (options_.certificate_file.empty()) return {};
  SSL_CTX_set_default_passwd_cb(tls_.get(), &password_from_c);
  SSL_CTX_set_default_passwd_cb_userdata(tls_.get(), &options_.certificate_password);
  const char* file = options_.certificate_file.c_str();
  if (SSL_CTX_use_certificate_chain_file(tls_.get(), file) != 1 ||
      SSL_CTX_use_PrivateKey_file(tls_.get(), file, SSL_FILETYPE_PEM) != 1) {
    ERR_clear_error();
    return untrusted("tlsCertificateKeyFile of the URI has no certificate with its key");
  }
  return {};
}

void Dialer::serve(mongoc_client_t* client) {
  mongoc_client_set_stream_initiator(client, &Dialer::dial_from_c, this);
}

void Dialer::begin(const base::Context& context) {
  failure_.reset();
  lost_ = false;
  on_cancel_.reset();
  // The context before may have been cancelled when nobody waited any more.
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
  context_ = context;
  on_cancel_ = context_.on_cancel([fd = wake_.get()] {
    const std::uint64_t one = 1;
    (void)!::write(fd, &one, sizeof one);
  });
}

void Dialer::note(base::Error error) {
  if (!failure_ || failure_->kind == base::ErrorKind::kRetryable) failure_ = std::move(error);
}

void Dialer::note_lost(base::Error error) {
  lost_ = true;
  note(std::move(error));
}

int Dialer::poll(std::vector<pollfd>& fds, int milliseconds) {
  // Zero asks only whether there is something already.
  constexpr std::int64_t kLongest = 3'600'000;
  const auto remaining = context_.remaining();
  const std::int64_t left =
      remaining == base::Duration::max()
          ? kLongest
          : std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(remaining).count(),
                                   kLongest);
  const bool by_context = milliseconds < 0 || left < milliseconds;
  fds.push_back({wake_.get(), POLLIN, 0});
  int ready = ::poll(fds.data(), fds.size(),
                     static_cast<int>(by_context ? left : std::int64_t{milliseconds}));
  const bool cancelled = fds.back().revents != 0;
  fds.pop_back();
  if (cancelled) {
    errno = ECANCELED;
    return -1;
  }
  if (ready == 0) errno = ETIMEDOUT;
  return ready;
}

bool Dialer::wait(int fd, short events, int milliseconds) {
  std::vector<pollfd> fds = {{fd, events, 0}};
  int ready = poll(fds, milliseconds);
  while (ready < 0 && errno == EINTR) ready = poll(fds, milliseconds);
  return ready > 0;
}

base::Result<> Dialer::check_host(const std::string& host, bool local) const {
  if (options_.guard == nullptr) return {};
  if (local) {
    if (options_.allow_local) return {};
    return refused(
        "the URI leads to a local socket: only an operator with --allow-local-sinks takes it");
  }
  auto reason = options_.guard->refuse_secret_host(host);
  if (!reason && base::is_numeric_address(host)) {
    reason = options_.guard->refuse_secret_address(host);
  }
  if (!reason) return {};
  return refused(
      fmt::format("a host of the URI, or one that its server names, is not allowed, {}", *reason));
}

base::Result<std::vector<std::string>> Dialer::addresses_of(const std::string& host) {
  KL_TRY(check_host(host, false));
  if (base::is_numeric_address(host)) return std::vector<std::string>{host};
  auto found = options_.resolver ? options_.resolver(host) : base::resolve_host(host);
  if (!found.has_value() || found->empty()) {
    return unreachable("a host name of the URI has no address");
  }
  for (const std::string& address : *found) KL_TRY(check_host(address, false));
  return found;
}

base::Result<Fd> Dialer::connect(const std::string& address, std::uint16_t port, bool local) {
  const auto where = local ? local_address(address) : read_address(address, port);
  if (!where) return unreachable("an address cannot be read");
  Fd socket(::socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return unreachable("no socket is left");
  const int on = 1;
  if (!local) {
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A peer that is gone is noticed within seconds.
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    const unsigned patience = 20'000;  // ms
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
  }
  const int done =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->size);
  if (done != 0 && errno != EINPROGRESS && errno != EAGAIN) {
    return unreachable("the connection was refused");
  }
  if (done != 0) {
    const auto limit =
        std::chrono::ceil<std::chrono::milliseconds>(options_.connect_timeout).count();
    if (!wait(socket.get(), POLLOUT, static_cast<int>(limit))) {
      return unreachable("no answer within the time limit");
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == ECONNREFUSED) return unreachable("the connection was refused");
    if (error != 0) return unreachable("the server cannot be reached");
  }
  return socket;
}

base::Result<mongoc_stream_t*> Dialer::secure(Fd socket, const std::string& host) {
  Ssl session = make_session(tls_.get(), socket.get());
  if (session == nullptr) return unreachable("out of memory");
  const bool numeric = base::is_numeric_address(host);
  if (!numeric) SSL_set_tlsext_host_name(session.get(), host.c_str());
  if (options_.verify && options_.verify_host) {
    if (numeric) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str());
    } else {
      SSL_set1_host(session.get(), host.c_str());
    }
  }
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(session.get());
    if (done == 1) break;
    const int error = SSL_get_error(session.get(), done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      base::Error why = why_refused(session.get());
      ERR_clear_error();
      return why;
    }
    const auto limit =
        std::chrono::ceil<std::chrono::milliseconds>(options_.connect_timeout).count();
    if (!wait(socket.get(), error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
              static_cast<int>(limit))) {
      return unreachable("no answer within the time limit");
    }
  }
  return make_stream(*this, std::move(socket), std::move(session));
}

base::Result<mongoc_stream_t*> Dialer::dial(const mongoc_host_list_t& host) {
  KL_TRY(context_.check());
  const bool local = host.family == AF_UNIX;
  std::vector<std::string> addresses = {host.host};
  if (local) {
    KL_TRY(check_host(host.host, true));
  } else {
    KL_ASSIGN(addresses, addresses_of(host.host));
  }
  base::Error last = unreachable("a host name of the URI has no address");
  for (const std::string& address : addresses) {
    auto socket = connect(address, host.port, local);
    if (!socket.has_value()) {
      last = std::move(socket.error());
      continue;
    }
    if (tls_ == nullptr) return make_stream(*this, std::move(*socket), nullptr);
    auto secured = secure(std::move(*socket), host.host);
    if (secured.has_value()) return secured;
    last = std::move(secured.error());
  }
  return last;
}

mongoc_stream_t* Dialer::dial_from_c(const mongoc_uri_t* /*uri*/, const mongoc_host_list_t* host,
                                     void* self, bson_error_t* error) {
  auto& dialer = *static_cast<Dialer*>(self);
  auto stream = dialer.dial(*host);
  if (stream.has_value()) return *stream;
  bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, "cannot connect");
  dialer.note(std::move(stream.error()));
  return nullptr;
}

}  // namespace kollect::sinks::mongo
