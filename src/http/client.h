// HTTP/1.1 client on libcurl's multi interface: one I/O thread per client, streaming bodies,
// deadlines.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/resolve.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::http {

/// Trust and identity for TLS. PEM text, not file names. Empty ca_pem: the system's trust store.
struct TlsOptions {
  std::string ca_pem;
  bool insecure_skip_verify = false;
  std::string client_cert_pem;
  base::Secret client_key_pem;
  std::string server_name;  ///< overrides the name that is verified and sent (SNI)
};

/// Holds up a streamed body whose receiver cannot keep up: the transfer stops reading its socket,
/// so the sender is slowed by TCP. The I/O thread is shared and must never wait. Thread-safe.
class Flow {
 public:
  /// From on_data: what was handed over counts, nothing more comes until resume(). While it is held
  /// up a transfer does not count as stalled.
  void pause() { paused_ = true; }
  void resume();
  [[nodiscard]] bool paused() const { return paused_; }
  /// Replaces the request's stall_timeout from now on.
  void set_stall_timeout(base::Duration limit);

 private:
  friend class Transfer;
  void bind(std::function<void()> wake);
  void wake();

  std::atomic<bool> paused_ = false;
  std::atomic<bool> resumed_ = false;                   ///< not noticed by the I/O thread yet
  std::atomic<base::Duration::rep> stall_timeout_ = 0;  ///< 0: the request's
  std::mutex mutex_;
  std::function<void()> wake_;
};

/// A request is a pure value.
struct Request {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<base::Secret> bearer_token;
  std::optional<std::pair<std::string, base::Secret>> basic_auth;
  std::string body;
  /// Sent instead of `body` and not copied: must stay until fetch() or stream() has returned.
  std::string_view borrowed_body;
  std::shared_ptr<const TlsOptions> tls;
  std::string proxy_url;  ///< empty: direct
  /// Numeric addresses of the URL's host; empty: the system's resolver is asked. The name stays for
  /// TLS and the Host header. See pin_addresses().
  std::vector<std::string> addresses;
  std::shared_ptr<const base::AddressGuard>
      guard;  ///< checks every resolved address before connecting; may be empty
  base::Duration connect_timeout = std::chrono::seconds(10);
  base::Duration stall_timeout =
      std::chrono::seconds(30);  ///< no byte received for so long: retryable error
  std::size_t max_body_bytes = SIZE_MAX;
  /// Read at a time, and held by the transfer as long as it lasts.
  std::size_t read_buffer_bytes = 64U << 10U;
  std::shared_ptr<Flow> flow;  ///< of a streamed body; may be empty. One transfer at a time
};

struct Response {
  int status = 0;
  std::multimap<std::string, std::string> headers;  ///< names in lower case
  std::string body;

  [[nodiscard]] std::optional<std::string> header(std::string_view lower_name) const;
};

/// Takes an answer while it comes. All of it runs on the I/O thread and must be quick.
struct StreamHandler {
  /// Once, when the final head is there (not for interim answers); may be empty.
  std::function<void(const Response& head)> on_head;
  /// The body; false aborts (kCancelled). Empty: the body is collected.
  std::function<bool(const Response& head, std::string_view data)> on_data;
  /// Once, last.
  std::function<void(base::Result<Response>)> done;
};

/// Thread-safe. Connections are kept and reused per host and TLS identity.
class Client {
 public:
  Client();
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends and waits for the complete answer. Any status is a success here; errors are transport
  /// errors (retryable, with a reason of "unreachable", "tls", "timeout" or "cut"), refusal by the
  /// guard (denied) and cancellation. The URL in messages is redacted.
  base::Result<Response> fetch(const base::Context& context, const Request& request);

  /// Streams the body: `on_data` runs on the I/O thread and must be quick; returning false aborts
  /// (kCancelled). The returned response has an empty body. Blocks until the end.
  base::Result<Response> stream(
      const base::Context& context, const Request& request,
      const std::function<bool(const Response& head, std::string_view data)>& on_data);

  /// Starts a request and returns at once; `done` runs on the I/O thread exactly once.
  void start(const base::Context& context, Request request,
             std::function<void(base::Result<Response>)> done);
  /// Both at once: returns at once, the body is taken as in stream(), the last result has none.
  void start_stream(const base::Context& context, Request request, StreamHandler handler);
  void start_stream(const base::Context& context, Request request,
                    std::function<bool(const Response& head, std::string_view data)> on_data,
                    std::function<void(base::Result<Response>)> done);
  /// Requests that are under way or wait to be sent.
  [[nodiscard]] std::size_t open_requests() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Resolves the host of the URL (`resolver`, else the system's), lets the guard look at the
/// complete answer and notes it in `addresses`: what was checked is what is connected to. Numbers,
/// and requests with neither guard nor resolver, are left as they are. Errors: denied (guard,
/// "address-refused"), retryable ("unreachable").
base::Result<> pin_addresses(Request& request, const base::Resolver& resolver);

/// Hides user information of a URL: "https://***@host/path".
std::string redact_url(std::string_view url);

}  // namespace kollect::http
