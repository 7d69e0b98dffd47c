// A small scripted HTTP/1.1 server on a free loopback port, plain or TLS, which can also play a
// proxy.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/certificates.h"

namespace kollect::testing {

/// A request as it came.
struct Received {
  std::string method;
  std::string target;                          ///< path and query as sent
  std::map<std::string, std::string> headers;  ///< lower-case names; repeated ones joined with ","
  std::string body;
  std::string client_name;  ///< common name of the client's certificate
  std::string server_name;  ///< SNI
  std::uint64_t connection = 0;

  [[nodiscard]] std::string header(const std::string& lower_name) const;
  [[nodiscard]] std::string path() const;
  /// Decoded value of a query parameter, "" when absent.
  [[nodiscard]] std::string query(const std::string& name) const;
};

/// What to answer. The body is sent in parts; before each part its function runs on the
/// connection's thread, so that a test decides when the rest comes.
struct Reply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<std::pair<std::function<void()>, std::string>> more;
  bool chunked = false;
  bool close_early = false;  ///< ends the connection before the announced end
  bool no_answer = false;    ///< says nothing at all until the client goes or the server ends

  static Reply json(std::string body, int status = 200);
};

struct HttpServerOptions {
  /// Not empty: TLS with this certificate.
  CertificateAndKey certificate;
  /// Not empty: a client certificate of this authority is asked for (and may be missing).
  std::string client_authority_pem;
  /// CONNECT requests are served by a tunnel.
  bool proxy = false;
  /// Threads that serve; the test's function must then be thread-safe itself, which it must anyway.
  bool keep_alive = true;
};

/// Serves until destroyed. `answer` runs on the connections' threads.
class HttpServer {
 public:
  using Answer = std::function<Reply(const Received&)>;
  explicit HttpServer(Answer answer, HttpServerOptions options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:port" or "https://…".
  [[nodiscard]] std::string url() const;
  /// All requests so far, in order of arrival (CONNECT too).
  [[nodiscard]] std::vector<Received> received() const;
  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  struct Connection;
  void accept_loop();
  void serve(Connection& connection);
  bool serve_one(Connection& connection);
  void tunnel(Connection& connection, const std::string& target);
  void note(const Received& request);

  Answer answer_;
  HttpServerOptions options_;
  std::shared_ptr<void> tls_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<Received> received_;
  std::list<std::unique_ptr<Connection>> open_;
  std::thread acceptor_;
};

/// A loopback port that nobody listens on.
std::uint16_t dead_port();

}  // namespace kollect::testing
