// HTTP/1.1 server (RFC 9112): keep-alive, TLS, answers from memory or streamed with back-pressure.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::http {

/// A request, complete with its body.
struct ServerRequest {
  std::string method;
  std::string path;                                          ///< before "?", still percent-encoded
  std::string query;                                         ///< behind "?", still percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case, as sent
  std::string body;
  std::string peer;         ///< address and port of the client
  std::string client_name;  ///< common name of its verified certificate, else ""

  /// The first header of that name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view lower_name) const;
  /// Decoded query parameters; "a&b=" gives two empty ones.
  [[nodiscard]] std::multimap<std::string, std::string> parameters() const;
};

/// Produces a body piece by piece. One call at a time, on a worker of the server; the source dies
/// on a thread of the server when the answer is complete or the connection is gone.
class BodySource {
 public:
  enum class Next {
    kMore,  ///< call again as soon as the client has taken most of it
    kWait,  ///< call again after a wake, or after `at_most`
    kEnd,   ///< the body is complete
    kCut,   ///< close the connection without an end mark: the client must see a failure
  };
  struct Pull {
    Next next = Next::kEnd;
    base::Duration at_most = base::Duration::max();  ///< of kWait
  };

  virtual ~BodySource() = default;
  /// Called once before the first pull. `wake` may be called from any thread, at any time, also
  /// when the connection has gone; it is cheap and wakes once however often it is called.
  virtual void start(std::function<void()> wake) { (void)wake; }
  /// Appends what comes next to `out` (may be nothing). What was appended is sent at once; a source
  /// that has much gives about 64 KiB at a time.
  virtual Pull pull(std::string& out) = 0;
};

struct Answer;

/// An answer that is made once and sent often. Cheap to copy, the copies share its bytes, which
/// never change and lie in one place of memory: of very many answers few are in a cache.
class PreparedAnswer {
 public:
  /// None.
  PreparedAnswer() = default;
  /// `answer.source`, `prepared` and `close` are not for it.
  explicit PreparedAnswer(Answer answer);
  explicit operator bool() const { return block_ != nullptr; }

  // Of one that is there:
  [[nodiscard]] int status() const { return front().status; }
  /// Status line and headers with their line ends, Content-Length among them.
  [[nodiscard]] std::string_view head() const { return {bytes(), front().head}; }
  /// Empty where the status has none.
  [[nodiscard]] std::string_view body() const {
    return {bytes() + front().head, front().size - front().head};
  }
  /// Asks the processor to have the bytes at hand soon.
  void fetch() const;

 private:
  /// What the block begins with.
  struct Front {
    std::int32_t status;
    std::uint32_t head;  ///< bytes of the head
    std::size_t size;    ///< bytes of head and body
  };
  [[nodiscard]] Front front() const {
    Front out;
    std::memcpy(&out, block_.get(), sizeof out);
    return out;
  }
  [[nodiscard]] const char* bytes() const { return block_.get() + sizeof(Front); }

  std::shared_ptr<const char[]> block_;
};

struct Answer {
  int status = 200;
  /// Content-Length, Transfer-Encoding, Connection and Date are the server's.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::shared_ptr<BodySource> source;  ///< instead of `body`
  /// Instead of all else but `headers`, which are added to its own, and `close`.
  PreparedAnswer prepared = {};
  bool close = false;  ///< close the connection behind it

  static Answer text(int status, std::string body);
  static Answer json(int status, std::string body);
};

/// A plain request (GET or HEAD without a body) as it lies in the buffer of its connection: good
/// until the quick handler returns.
struct RequestView {
  std::string_view method;
  std::string_view path;   ///< before "?", still percent-encoded
  std::string_view query;  ///< behind "?", still percent-encoded
  std::span<const std::pair<std::string_view, std::string_view>> headers;  ///< names as sent
  std::string_view peer;
  std::string_view client_name;

  /// The only header of that name; nothing when there is none, or more than one.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
};

/// Runs on the I/O thread, which serves nobody else meanwhile: for answers that are ready. What it
/// has no answer for (none), and every request that is not plain, goes to the handler. No
/// exceptions.
using QuickHandler = std::function<PreparedAnswer(const RequestView&)>;

class Connection;

/// The way to answer one request, from any thread. Destroyed without an answer: the connection is
/// closed and the client gets nothing.
class Reply {
 public:
  Reply(std::shared_ptr<Connection> connection, std::uint64_t turn);
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  /// Once. Nothing happens when the client has gone.
  void send(Answer answer);

 private:
  std::shared_ptr<Connection> connection_;
  std::uint64_t turn_ = 0;  ///< which request of the connection
};

/// Runs on a worker and may block for a while: there are as many as `workers`. An exception is
/// answered with 500 and logged.
using Handler = std::function<void(std::shared_ptr<const ServerRequest> request, Reply reply)>;

/// PEM texts.
struct ServerIdentity {
  std::string certificate_pem;  ///< the chain, own certificate first
  base::Secret key_pem;
  /// Not empty: client certificates of these authorities are asked for and verified.
  std::string client_ca_pem;
  /// A client without certificate is refused; else ServerRequest::client_name tells who has one.
  bool client_required = false;
};

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6 address; empty: all addresses
  std::uint16_t port = 0;             ///< 0: a free one
  std::optional<ServerIdentity> tls = {};
  std::size_t workers = 2;
  QuickHandler quick = {};
  std::size_t max_connections = 4096;  ///< more wait in the system's queue
  /// At the bound the connection that has been idle for the longest time makes room for a new one.
  bool replace_idle = false;
  /// stop() lets new connections in as long as requests are under way.
  bool accept_while_stopping = false;
  std::uint32_t max_header_bytes = 64U << 10U;               ///< else 431
  std::uint64_t max_body_bytes = 8U << 20U;                  ///< else 413
  base::Duration idle_timeout = std::chrono::minutes(3);     ///< between requests
  base::Duration header_timeout = std::chrono::seconds(20);  ///< handshake; from first byte to end
  base::Duration body_timeout = std::chrono::seconds(60);    ///< of the whole request body
  /// A piece of an answer that the client does not take within this: the connection is closed.
  base::Duration write_timeout = std::chrono::seconds(60);
  /// Kernel buffer for sending, per connection; 0: the system's default. Small ones make
  /// back-pressure start early.
  int send_buffer_bytes = 0;
};

struct ServerCounts {
  std::uint64_t connections = 0;  ///< open now
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  ///< malformed or beyond a limit
  std::uint64_t slow = 0;     ///< closed because the client did not read
  std::uint64_t bytes_sent = 0;
};

/// One I/O thread for all connections, `workers` threads for handlers and body sources. What could
/// be read as two different requests by a proxy and by us is refused: Content-Length beside
/// Transfer-Encoding, codings other than "chunked", trailers, bodies of HTTP/1.0, repeated Host or
/// Content-Length. Pipelined requests are answered in order. Thread-safe.
class Server {
 public:
  /// Listens when it returns. Errors: configuration (address, certificate), terminal (port in use).
  /// `log` may be null and must outlive the server.
  static base::Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler,
                                                     const base::Logger* log = nullptr);
  /// As stop() without grace.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// For new connections; those that are open keep what they have. Error: configuration.
  base::Result<> set_identity(const ServerIdentity& identity);
  /// Accepts nothing more, ends idle connections and waiting streams in good order, lets running
  /// answers come to their end for at most `grace`, then closes what is left. Returns when no
  /// handler runs any more. Not from a handler.
  void stop(base::Duration grace);
  [[nodiscard]] ServerCounts counts() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::http
