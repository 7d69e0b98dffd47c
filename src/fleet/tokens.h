// Who may call: tokens, kept as hashes (spec: fleet-api 4.3, 15.11).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "http/server.h"

namespace kollect::fleet {

/// What a token is good for. None includes another.
enum class Role : std::uint8_t {
  kReader,   ///< polls and records
  kWriter,   ///< changes
  kAuditor,  ///< the audit trail
};

/// "reader", "writer", "auditor"; nothing for other texts.
std::optional<Role> role_of(std::string_view text);

/// A token as it is kept.
struct Token {
  std::string name;  ///< the actor of audit entries; may stand twice while a token is replaced
  std::vector<Role> roles;
  std::string cluster_dns;         ///< not empty: good for the polls of this cluster alone
  std::string sha256;              ///< lower-case hex of the token's bytes
  bool unknown_elsewhere = false;  ///< without the role it gets 401, not 403
};

/// What a request needs.
struct Need {
  Role role = Role::kReader;
  std::optional<std::string_view> cluster_dns = {};  ///< the cluster whose polls these are
};

/// Who asks, or how the request is refused.
struct Verdict {
  int status = 401;            ///< 200; 401: no valid token; 403: valid, but not for this
  std::string_view name = {};  ///< of the token, with 401 empty; lives as long as the tokens
};

/// Immutable, thread-safe. A token that is set but empty matches nobody.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::vector<Token> tokens);
  Tokens(Tokens&&) = default;
  Tokens& operator=(Tokens&&) = default;
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;
  ~Tokens() = default;

  /// `authorization`: the value of the header, `Bearer TOKEN` or `Basic` with the token as password
  /// (the user name is not looked at), the scheme in any case.
  [[nodiscard]] Verdict judge(std::string_view authorization, const Need& need) const;
  /// Two such headers are refused.
  [[nodiscard]] Verdict judge(const http::ServerRequest& request, const Need& need) const;
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }

 private:
  using Hash = std::array<unsigned char, 32>;
  struct Entry {
    Hash hash;
    const Token* token;
  };
  static std::uint64_t first_bytes(const Hash& hash);

  std::vector<Token> tokens_;
  /// By the first bytes of the hash: finding one tells nothing of the token.
  std::unordered_multimap<std::uint64_t, Entry> by_hash_;
};

/// Tokens that may be replaced while requests are judged. Thread-safe.
class TokenBook {
 public:
  explicit TokenBook(Tokens tokens) { replace(std::move(tokens)); }
  [[nodiscard]] std::shared_ptr<const Tokens> current() const { return tokens_.load(); }
  void replace(Tokens tokens) { tokens_ = std::make_shared<const Tokens>(std::move(tokens)); }

 private:
  std::atomic<std::shared_ptr<const Tokens>> tokens_;
};

/// The tokens of the settings AUTH_TOKEN and CRUD_AUTH_TOKEN, the latter in crud mode.
struct PlainTokens {
  std::optional<base::Secret> read;
  std::optional<base::Secret> write;
};
/// Where those are all, the read token also reads the audit trail, and a token without the role
/// counts as unknown.
Tokens all_tokens(const PlainTokens& plain, std::optional<std::vector<Token>> of_file);
/// The content of a tokens file, YAML or JSON: {"tokens": [{"name", "roles", "sha256",
/// "cluster_dns"}]}. Unknown members are an error: a misspelt `cluster_dns` would open the fleet.
base::Result<std::vector<Token>> parse_tokens(std::string_view text);

/// A token that nobody can guess.
base::Secret make_token();

}  // namespace kollect::fleet
