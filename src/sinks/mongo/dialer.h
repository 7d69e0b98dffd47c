// Every socket that libmongoc uses: to addresses that were checked, with our trust, and with an end
// (spec: sinks 16.4).
#pragma once

#include <mongoc/mongoc.h>
#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/resolve.h"
#include "base/result.h"
#include "sinks/files/folder.h"

namespace kollect::sinks::mongo {

/// Where sockets may lead, and whom they trust.
struct DialOptions {
  std::shared_ptr<const base::AddressGuard> guard;  ///< none: nothing is refused
  bool allow_local = false;                         ///< with a guard: local sockets may be used
  base::Resolver resolver;                          ///< none: the system's
  bool tls = false;
  std::optional<std::string> ca_pem;  ///< instead of the system's trust
  std::string ca_file;                ///< of the URI
  std::string certificate_file;       ///< of the URI: our certificate and its key
  std::string certificate_password;
  bool verify = true;
  bool verify_host = true;
  base::Duration connect_timeout = std::chrono::seconds(30);
};

/// libmongoc asks it for a connection to each host, those that a server announces included. The
/// name is resolved, the complete answer is checked, and the checked number is dialled; the name
/// stays for TLS. libmongoc's own TLS is not used: it would fetch OCSP answers from wherever a
/// certificate points.
///
/// One thread, but for the cancellation of the context. Must outlive its client.
class Dialer {
 public:
  static base::Result<std::unique_ptr<Dialer>> create(DialOptions options);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer() = default;

  /// Makes `client` use it. A client of one thread (no pool).
  void serve(mongoc_client_t* client);

  /// What is done from now on ends with `context`.
  void begin(const base::Context& context);
  /// What went wrong with a host or a socket since begin(), what will not pass first; none: nothing
  /// did.
  [[nodiscard]] const std::optional<base::Error>& failure() const { return failure_; }
  /// True when an open connection broke since begin().
  [[nodiscard]] bool lost() const { return lost_; }

  /// Static checks of a host of the URI. Error: configuration, reason "address-refused".
  [[nodiscard]] base::Result<> check_host(const std::string& host, bool local) const;

  // For streams.
  /// Waits for `events` of poll(2) at most `milliseconds` (negative: as long as the context
  /// allows). False, with errno set, when the time is over or the context ended.
  bool wait(int fd, short events, int milliseconds);
  int poll(std::vector<struct pollfd>& fds, int milliseconds);
  void note_lost(base::Error error);

 private:
  void note(base::Error error);
  explicit Dialer(DialOptions options) : options_(std::move(options)) {}
  static mongoc_stream_t* dial_from_c(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                                      void* self, bson_error_t* error);
  base::Result<mongoc_stream_t*> dial(const mongoc_host_list_t& host);
  base::Result<std::vector<std::string>> addresses_of(const std::string& host);
  base::Result<Fd> connect(const std::string& address, std::uint16_t port, bool local);
  base::Result<mongoc_stream_t*> secure(Fd socket, const std::string& host);
  base::Result<> prepare_tls();

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  DialOptions options_;
  std::unique_ptr<SSL_CTX, Free> tls_;
  Fd wake_;                                              ///< readable once the context is cancelled
  base::Context context_ = base::Context::background();  ///< of the last begin()
  std::shared_ptr<void> on_cancel_;
  std::optional<base::Error> failure_;
  bool lost_ = false;
};

}  // namespace kollect::sinks::mongo
