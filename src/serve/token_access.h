// Who may read, by tokens of a file.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "readapi/access.h"

namespace kollect::serve {

/// What a token opens.
struct TokenGrant {
  std::string name;  ///< for the log
  readapi::Sight sight;
};

/// By the SHA-256 of the token: finding one tells nothing of the others.
using TokenGrants = std::map<std::array<unsigned char, 32>, TokenGrant>;

/// Lines "name token [namespaces=a,b] [clusters=c,d]"; empty ones and those that begin with "#" are
/// passed over. Without namespaces a token sees those of all, without clusters rows of all
/// clusters. Errors (configuration) name the line, never the token: a word that is not known
/// (misspelt, it would open everything), an empty list, a name or a token twice, no token at all.
base::Result<TokenGrants> parse_token_file(std::string_view text);

/// Every request needs a token that is known now. Thread-safe.
class TokenAccess final : public readapi::Authorizer {
 public:
  explicit TokenAccess(TokenGrants grants) { replace(std::move(grants)); }
  void replace(TokenGrants grants) {
    grants_ = std::make_shared<const TokenGrants>(std::move(grants));
  }
  [[nodiscard]] std::string_view mode() const override { return "token"; }
  readapi::Verdict decide(const base::Context& context, const readapi::Caller& caller,
                          const readapi::Wish& wish) override;
  /// A token that is taken away ends its streams within this.
  [[nodiscard]] base::Duration recheck() const override { return std::chrono::seconds(5); }

 private:
  std::atomic<std::shared_ptr<const TokenGrants>> grants_;
};

}  // namespace kollect::serve
