#include "sandbox/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Value;

namespace {

constexpr std::string_view kServiceAccountToken = "sa:";

base::Result<std::vector<std::string>> read_list(const Value& from, const char* key) {
  std::vector<std::string> out;
  const Value* list = from.find(key);
  if (list == nullptr) return out;
  const bool good = list->is_array() && std::ranges::all_of(list->as_array(), &Value::is_string);
  if (!good) return base::configuration(fmt::format("access: {} must be a list of texts", key));
  for (const Value& one : list->as_array()) out.push_back(one.as_string());
  return out;
}

bool takes(const std::vector<std::string>& list, std::string_view value) {
  return list.empty() || std::ranges::find(list, value) != list.end() ||
         std::ranges::find(list, "*") != list.end();
}

Identity administrator() {
  return {.name = "sandbox-admin", .groups = {"system:masters", "system:authenticated"}};
}

}  // namespace

base::Result<> Access::set(const Value& document) {
  static const Array kNone;
  const auto list = [&](const char* key) -> base::Result<const Array*> {
    const Value* value = document.find(key);
    if (value == nullptr) return &kNone;
    if (!value->is_array())
      return base::configuration(fmt::format("access: {} must be a list", key));
    return &value->as_array();
  };
  if (!document.is_object()) return base::configuration("access: must be an object");
  for (const auto& [key, value] : document.as_object()) {
    if (key != "users" && key != "rules") {
      return base::configuration(fmt::format("access: {} is no member", key));
    }
  }
  std::vector<User> users;
  KL_ASSIGN(const Array* given_users, list("users"));
  for (const Value& one : *given_users) {
    User user;
    user.token = one.text("token");
    user.identity.name = one.text("name");
    KL_ASSIGN(user.identity.groups, read_list(one, "groups"));
    if (user.token.empty() || user.identity.name.empty()) {
      return base::configuration("access: a user has a name and a token");
    }
    user.identity.groups.emplace_back("system:authenticated");
    users.push_back(std::move(user));
  }
  std::vector<Rule> rules;
  KL_ASSIGN(const Array* given_rules, list("rules"));
  for (const Value& one : *given_rules) {
    Rule rule;
    const std::string_view effect = one.text("effect");
    if (effect != "deny" && effect != "allow") {
      return base::configuration("access: the effect of a rule is \"allow\" or \"deny\"");
    }
    rule.deny = effect == "deny";
    KL_ASSIGN(rule.users, read_list(one, "users"));
    KL_ASSIGN(rule.groups, read_list(one, "groups"));
    KL_ASSIGN(rule.verbs, read_list(one, "verbs"));
    KL_ASSIGN(rule.resources, read_list(one, "resources"));
    KL_ASSIGN(rule.namespaces, read_list(one, "namespaces"));
    KL_ASSIGN(rule.paths, read_list(one, "paths"));
    rules.push_back(std::move(rule));
  }
  const std::scoped_lock lock(mutex_);
  users_ = std::move(users);
  rules_ = std::move(rules);
  return {};
}

std::optional<Identity> Access::owner_of(std::string_view token) const {
  if (token.starts_with(kServiceAccountToken)) {
    const auto parts = base::split(token, ':');
    if (parts.size() == 3) {
      return Identity{
          .name = fmt::format("system:serviceaccount:{}:{}", parts[1], parts[2]),
          .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", parts[1]),
                     "system:authenticated"}};
    }
  }
  const std::scoped_lock lock(mutex_);
  if (users_.empty()) return administrator();
  for (const User& user : users_) {
    if (user.token == token) return user.identity;
  }
  return std::nullopt;
}

Outcome<Identity> Access::identify(const http::ServerRequest& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = request.header("authorization").value_or("");
  if (!header.starts_with(kBearer)) {
    if (request.client_name.empty()) return administrator();
    return Identity{.name = request.client_name, .groups = {"system:authenticated"}};
  }
  if (auto owner = owner_of(header.substr(kBearer.size()))) return std::move(*owner);
  Status status;
  status.code = 401;
  status.reason = "Unauthorized";
  status.message = "Unauthorized";
  return std::unexpected(std::move(status));
}

bool Access::is_about(const Rule& rule, const Identity& who) {
  if (rule.users.empty() && rule.groups.empty()) return true;
  if (std::ranges::find(rule.users, who.name) != rule.users.end()) return true;
  return std::ranges::any_of(rule.groups, [&](const std::string& group) {
    return std::ranges::find(who.groups, group) != who.groups.end();
  });
}

bool Access::fits(const Rule& rule, const Action& action) {
  if (!takes(rule.verbs, action.verb)) return false;
  if (!action.path.empty()) return takes(rule.paths, action.path) && rule.resources.empty();
  if (!rule.paths.empty()) return false;
  const std::string plural = action.resource.substr(0, action.resource.find('/'));
  const std::string name = qualified(plural, action.group);
  if (!takes(rule.resources, name)) return false;
  if (rule.namespaces.empty()) return true;
  // Everywhere is more than somewhere: it takes a right for all, and one denial is enough.
  if (action.ns.empty()) return rule.deny;
  return takes(rule.namespaces, action.ns);
}

bool Access::allows(const Identity& who, const Action& action) const {
  const std::scoped_lock lock(mutex_);
  bool restricted = false;
  bool allowed = false;
  for (const Rule& rule : rules_) {
    if (!is_about(rule, who)) continue;
    if (rule.deny && fits(rule, action)) return false;
    if (rule.deny) continue;
    restricted = true;
    allowed = allowed || fits(rule, action);
  }
  return allowed || !restricted;
}

Action action_of(const Call& call) {
  Action action;
  action.verb = to_string(call.verb);
  action.group = call.served->group;
  action.resource = call.served->plural;
  if (!call.subresource.empty()) action.resource += "/" + call.subresource;
  action.ns = call.ns;
  action.name = call.name;
  return action;
}

Status denied(const Identity& who, const Action& action) {
  const std::string where = action.ns.empty() ? "at the cluster scope"
                                              : fmt::format("in the namespace \"{}\"", action.ns);
  const std::string plural = action.resource.substr(0, action.resource.find('/'));
  return forbidden(action.group, plural, action.name,
                   fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                               who.name, action.verb, action.resource, action.group, where));
}

}  // namespace kollect::sandbox
