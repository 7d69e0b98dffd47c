// Who a request comes from, and what he may do.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "sandbox/call.h"

namespace kollect::sandbox {

struct Identity {
  std::string name;
  std::vector<std::string> groups;
};

/// What somebody wants to do.
struct Action {
  std::string verb;
  std::string group;
  std::string resource;  ///< "pods", "deployments/status"
  std::string ns;        ///< empty: in all namespaces, or cluster-scoped
  std::string name;
  std::string path;  ///< of a request that is about no resource
};

/// Everybody may do everything until set() says otherwise. Thread-safe.
class Access {
 public:
  /// {"users": [{"name": "alice", "token": "alice-token", "groups": ["team-a"]}],
  ///  "rules": [{"effect": "deny", "users": ["alice"], "groups": [], "verbs": ["list"],
  ///             "resources": ["secrets"], "namespaces": ["shop"]}]}
  ///
  /// Empty lists stand for everything. A denied namespace is denied in requests for all namespaces
  /// as well. Whom an "allow" rule names may do only what such rules say. Once users are given,
  /// other tokens are refused; requests without a token come from an administrator. Tokens
  /// "sa:NAMESPACE:NAME" are those of service accounts. Error (configuration): names the member.
  base::Result<> set(const base::json::Value& document);

  /// Error: 401.
  [[nodiscard]] Outcome<Identity> identify(const http::ServerRequest& request) const;
  /// None: a token that nobody has.
  [[nodiscard]] std::optional<Identity> owner_of(std::string_view token) const;
  [[nodiscard]] bool allows(const Identity& who, const Action& action) const;

 private:
  struct User {
    std::string token;
    Identity identity;
  };
  struct Rule {
    bool deny = true;
    std::vector<std::string> users;
    std::vector<std::string> groups;
    std::vector<std::string> verbs;
    std::vector<std::string> resources;  ///< "deployments.apps"
    std::vector<std::string> namespaces;
    std::vector<std::string> paths;
  };
  static bool is_about(const Rule& rule, const Identity& who);
  static bool fits(const Rule& rule, const Action& action);

  mutable std::mutex mutex_;
  std::vector<User> users_;
  std::vector<Rule> rules_;
};

/// The action of a call, and the answer when it is denied.
Action action_of(const Call& call);
Status denied(const Identity& who, const Action& action);

}  // namespace kollect::sandbox
