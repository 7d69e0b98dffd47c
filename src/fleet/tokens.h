// Who may call: tokens, kept as hashes (spec: fleet-api 4.3, 15.11).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "http/server.h"

namespace kollect::fleet {

enum class Right : std::uint8_t { kRead, kWrite };

/// Immutable, thread-safe. A token that is set but empty matches nobody.
class Tokens {
 public:
  void add(std::string name, Right right, const base::Secret& token);
  /// The name of the token that the request carries (`Authorization: Bearer TOKEN`, the scheme in
  /// any case) and that has the right; none: refused, as with two such headers.
  [[nodiscard]] std::optional<std::string> owner(const http::ServerRequest& request,
                                                 Right right) const;

 private:
  struct Known {
    std::string name;
    Right right;
    std::string hash;  ///< SHA-256: comparing it tells nothing of the token
  };
  std::vector<Known> known_;
};

}  // namespace kollect::fleet
