// A client of NATS that publishes and asks: one connection, no thread of its own.
// Format: https://docs.nats.io/reference/reference-protocols/nats-protocol
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "sinks/events/wire.h"

namespace kollect::sinks::nats {

struct Said;

using events::TlsOptions;
using events::Wire;

/// How to present oneself; the first that is not empty counts.
struct Login {
  base::Secret token;
  base::Secret username;
  base::Secret password;
  base::Secret credentials;  ///< content of a .creds file
  base::Secret nkey;         ///< seed
};

/// One server, its address checked already.
struct Place {
  std::string address;
  std::uint16_t port = 4222;
  std::string name;  ///< for TLS and errors
  bool tls = false;  ///< demanded, whatever the server says
};

/// An answer: of a request, or the confirmation of a message.
struct Reply {
  std::uint64_t token = 0;  ///< what the message was published with
  int status = 0;           ///< of the header line; 503: nobody listens there
  std::string payload;
};

/// Used by one thread at a time. After an error that is not "permission" it is dead. Errors:
/// retryable "unreachable", denied "auth" and "permission", terminal "tls" and "no-headers",
/// cancelled. Servers that the server recommends are not connected to: their addresses were not
/// checked.
class Client {
 public:
  static base::Result<Client> connect(const base::Context& context, const Place& place,
                                      const TlsOptions& tls, const Login& login);

  /// Largest payload with headers that the server takes.
  [[nodiscard]] std::size_t max_payload() const { return max_payload_; }
  /// A message whose confirmation comes with `token`. Only put into the buffer: see exchange().
  void publish(std::string_view subject, std::uint64_t token,
               const std::vector<std::pair<std::string, std::string>>& headers,
               std::string_view body);
  [[nodiscard]] std::size_t buffered() { return wire_.output().size(); }
  /// Writes and reads what goes, waits at most `wait` when nothing does, and hands over what came.
  base::Result<> exchange(const base::Context& context, base::Duration wait,
                          const std::function<void(Reply)>& take);
  /// One question and its answer; others that come meanwhile are dropped.
  base::Result<Reply> ask(const base::Context& context, std::string_view subject,
                          std::string_view body);
  /// False when the server has closed the connection, as far as is known without waiting.
  bool still_there(const base::Context& context);
  /// The server answers.
  base::Result<> ping(const base::Context& context);

 private:
  explicit Client(Wire wire) : wire_(std::move(wire)) {}
  base::Result<> greet(const base::Context& context, const Place& place, const TlsOptions& tls,
                       const Login& login);
  base::Result<std::string> connect_text(const Login& login, const std::string& nonce,
                                         bool tls) const;
  /// Takes what is complete of the input. Keeps the first error of the server.
  void parse(const std::function<void(Reply)>& take);
  void hear(const Said& said, const std::function<void(Reply)>& take);
  base::Result<> step(const base::Context& context, base::Duration wait,
                      const std::function<void(Reply)>& take);

  Wire wire_;
  std::size_t at_ = 0;  ///< of the input that is understood
  std::string inbox_;   ///< ends with "."
  std::optional<std::string> info_;
  std::optional<base::Error> error_;
  std::size_t max_payload_ = 1U << 20U;
  std::size_t pongs_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace kollect::sinks::nats
