// The client's side of SCRAM (RFC 5802, RFC 7677). The library's own repeats its nonce, which
// brokers of Kafka 4 refuse.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace kollect::sinks::kafka {

/// One conversation: first(), then final() with the server's first answer, then check() with its
/// second. Errors: denied "auth".
class Scram {
 public:
  /// `mechanism` is "SCRAM-SHA-256" or "SCRAM-SHA-512"; the nonce is printable, without commas.
  Scram(std::string_view mechanism, std::string_view username, base::Secret password,
        std::string nonce);

  [[nodiscard]] std::string first() const;
  base::Result<std::string> final(std::string_view server_first);
  /// The server knows the password too.
  [[nodiscard]] base::Result<> check(std::string_view server_final) const;

  /// 144 random bits.
  static std::string new_nonce();

 private:
  bool long_hash_;
  base::Secret password_;
  std::string nonce_;
  std::string bare_;  ///< client-first-message-bare
  std::string server_signature_;
};

}  // namespace kollect::sinks::kafka
