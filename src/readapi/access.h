// Who may read what (spec: runtime 13.5).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// What a request wants to do, in the words of RBAC (group kollect.dev). Without a verb: nothing
/// but to be known.
struct Wish {
  std::string verb;       ///< "get" or "list"
  std::string resource;   ///< "kollectinventories"
  std::string ns = {};    ///< "": in all namespaces
  std::string name = {};  ///< of "get"
};

/// Who asks.
struct Caller {
  std::string authorization;  ///< the header, "" where there is none
  std::string peer;           ///< address and port
};

struct Verdict {
  enum class Kind {
    kAllowed,
    kUnauthenticated,  ///< 401
    kForbidden,        ///< 403
    kTooMany,          ///< 429: this address asks too often
    kUnavailable,      ///< 503: nobody can be asked
    kFailed,           ///< 500: the question itself failed
  };
  Kind kind = Kind::kAllowed;
  std::string message = {};  ///< for the caller, where it is not allowed
  Sight sight = {};          ///< what it sees at most, where it is
  std::string user = {};     ///< for the log
};

/// Decides about every request. Thread-safe; may block until the context ends.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  /// "kubernetes", "token" or "disabled".
  [[nodiscard]] virtual std::string_view mode() const = 0;
  virtual Verdict decide(const base::Context& context, const Caller& caller, const Wish& wish) = 0;
  /// Streams ask again after so long.
  [[nodiscard]] virtual base::Duration recheck() const { return std::chrono::seconds(30); }
};

/// Everybody may read everything.
class OpenAccess final : public Authorizer {
 public:
  [[nodiscard]] std::string_view mode() const override { return "disabled"; }
  Verdict decide(const base::Context& /*context*/, const Caller& /*caller*/,
                 const Wish& /*wish*/) override {
    return {};
  }
};

/// The token of "Bearer TOKEN"; "" where the header is of another kind.
std::string bearer_token(std::string_view authorization);

}  // namespace kollect::readapi
