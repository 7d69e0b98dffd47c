// Asking the API server who a bearer token is, and what somebody may do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"

namespace kollect::kube {

/// Whom a token names.
struct Identity {
  bool known = false;
  /// status.user of the review, as it is: username, uid, groups, extra.
  base::json::Value user = {};
  [[nodiscard]] std::string name() const;
};

/// What somebody wants to do with objects of a kind.
struct ResourceAccess {
  std::string verb;
  std::string group;
  std::string resource;
  std::string ns = {};    ///< "": in all namespaces
  std::string name = {};  ///< "": any
};

/// TokenReview and SubjectAccessReview. Thread-safe. Errors: those of Objects::create().
class Reviews {
 public:
  /// `client` must outlive it.
  explicit Reviews(Client& client) : objects_(client) {}

  /// `audiences`: of which the token must have one; a server that does not say so has not looked,
  /// and then nobody is known. Empty: the API server's own.
  base::Result<Identity> token(const base::Context& context, std::string_view token,
                               const std::vector<std::string>& audiences = {});
  base::Result<bool> may(const base::Context& context, const Identity& who,
                         const ResourceAccess& access);
  /// GET of a path that is no object's.
  base::Result<bool> may_get(const base::Context& context, const Identity& who,
                             std::string_view path);

 private:
  base::Result<bool> access(const base::Context& context, const Identity& who,
                            base::json::Object wish);

  Objects objects_;
};

}  // namespace kollect::kube
