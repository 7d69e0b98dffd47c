#include "sandbox/reviews.h"

#include <algorithm>

#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

Array strings(const std::vector<std::string>& list) {
  Array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

Value user_info(const Identity& who) {
  Object out;
  out.set("username", who.name);
  out.set("groups", strings(who.groups));
  return out;
}

Value empty_object() {
  return Object{};
}

Action action_in(const Value& spec) {
  Action action;
  if (const Value* other = spec.find("nonResourceAttributes")) {
    action.verb = other->text("verb");
    action.path = other->text("path");
    return action;
  }
  const Value* what = spec.find("resourceAttributes");
  if (what == nullptr) return action;
  action.verb = what->text("verb");
  action.group = what->text("group");
  action.resource = what->text("resource");
  if (!what->text("subresource").empty()) {
    action.resource += "/" + std::string(what->text("subresource"));
  }
  action.ns = what->text("namespace");
  action.name = what->text("name");
  return action;
}

Identity subject_in(const Value& spec) {
  Identity who;
  who.name = spec.text("user");
  const Value* groups = spec.find("groups");
  if (groups == nullptr || !groups->is_array()) return who;
  for (const Value& group : groups->as_array()) {
    if (group.is_string()) who.groups.push_back(group.as_string());
  }
  return who;
}

Value token_status(const Value& spec, const Access& access) {
  Object out;
  const auto owner = access.owner_of(spec.text("token"));
  if (spec.text("token").empty() || !owner) {
    out.set("authenticated", false);
    out.set("user", empty_object());
    out.set("error", "invalid bearer token");
    return out;
  }
  out.set("authenticated", true);
  out.set("user", user_info(*owner));
  Array audiences{"https://kubernetes.default.svc"};
  const Value* wanted = spec.find("audiences");
  if (wanted != nullptr && wanted->is_array()) audiences = wanted->as_array();
  out.set("audiences", std::move(audiences));
  return out;
}

Value rules_status() {
  Object resources;
  for (const char* key : {"verbs", "apiGroups", "resources"}) resources.set(key, Array{"*"});
  Object paths;
  for (const char* key : {"verbs", "nonResourceURLs"}) paths.set(key, Array{"*"});
  Object out;
  out.set("resourceRules", Array{Value(std::move(resources))});
  out.set("nonResourceRules", Array{Value(std::move(paths))});
  out.set("incomplete", false);
  return out;
}

}  // namespace

Outcome<Value> review(const Call& call, const Identity& asking, const Access& access,
                      Value object) {
  if (!object.is_object()) return std::unexpected(bad_request("the body is no object"));
  const Served& served = *call.served;
  const Value* given = object.find("spec");
  const Value spec = given != nullptr ? *given : empty_object();
  Value status;
  if (served.kind == "TokenReview") {
    status = token_status(spec, access);
  } else if (served.kind == "SelfSubjectReview") {
    Object out;
    out.set("userInfo", user_info(asking));
    status = std::move(out);
  } else if (served.kind == "SelfSubjectRulesReview") {
    status = rules_status();
  } else {
    const bool self = served.kind == "SelfSubjectAccessReview";
    const Identity who = self ? asking : subject_in(spec);
    if (spec.find("resourceAttributes") == nullptr &&
        spec.find("nonResourceAttributes") == nullptr) {
      return std::unexpected(
          invalid(served.group, served.kind, "",
                  {{"FieldValueInvalid", "spec.resourceAttributes",
                    "Invalid value: \"null\": exactly one of nonResourceAttributes or "
                    "resourceAttributes must be specified"}}));
    }
    if (!self && who.name.empty() && who.groups.empty()) {
      return std::unexpected(
          invalid(served.group, served.kind, "",
                  {{"FieldValueInvalid", "spec.user",
                    "Invalid value: \"\": at least one of user or group must be specified"}}));
    }
    Object out;
    out.set("allowed", access.allows(who, action_in(spec)));
    status = std::move(out);
  }
  Object answer;
  answer.set("kind", served.kind);
  answer.set("apiVersion", served.api_version());
  const Value* metadata = object.find("metadata");
  answer.set("metadata", metadata != nullptr && metadata->is_object() ? *metadata : empty_object());
  if (given != nullptr) answer.set("spec", spec);
  answer.set("status", std::move(status));
  return Value(std::move(answer));
}

}  // namespace kollect::sandbox
