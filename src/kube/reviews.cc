#include "kube/reviews.h"

#include <algorithm>
#include <utility>

namespace kollect::kube {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

Resource review_kind(const char* group, const char* kind, const char* plural) {
  return {.group = group,
          .version = "v1",
          .kind = kind,
          .plural = plural,
          .namespaced = false,
          .verbs = {"create"}};
}

Value review_of(const Resource& kind, Object spec) {
  Object review;
  review.set("apiVersion", kind.group + "/" + kind.version);
  review.set("kind", kind.kind);
  review.set("spec", Value(std::move(spec)));
  return review;
}

bool says(const Value& review, std::string_view member) {
  const Value* answer = review.at_path({"status", member});
  return answer != nullptr && answer->is_bool() && answer->as_bool();
}

bool has_one_of(const Value& review, const std::vector<std::string>& audiences) {
  const Value* list = review.at_path({"status", "audiences"});
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->as_array(), [&](const Value& one) {
           return one.is_string() &&
                  std::ranges::find(audiences, one.as_string()) != audiences.end();
         });
}

}  // namespace

std::string Identity::name() const {
  return user.is_object() ? std::string(user.text("username")) : std::string();
}

base::Result<Identity> Reviews::token(const base::Context& context, std::string_view token,
                                      const std::vector<std::string>& audiences) {
  const auto kind = review_kind("authentication.k8s.io", "TokenReview", "tokenreviews");
  Object spec;
  spec.set("token", token);
  if (!audiences.empty()) {
    Array list;
    for (const std::string& audience : audiences) list.emplace_back(audience);
    spec.set("audiences", std::move(list));
  }
  KL_ASSIGN(const Value review,
            objects_.create(context, kind, "", review_of(kind, std::move(spec))));
  const Value* user = review.at_path({"status", "user"});
  if (!says(review, "authenticated") || user == nullptr) return Identity{};
  if (!audiences.empty() && !has_one_of(review, audiences)) return Identity{};
  return Identity{.known = true, .user = *user};
}

base::Result<bool> Reviews::may(const base::Context& context, const Identity& who,
                                const ResourceAccess& access) {
  Object attributes;
  attributes.set("verb", access.verb);
  attributes.set("group", access.group);
  attributes.set("resource", access.resource);
  if (!access.ns.empty()) attributes.set("namespace", access.ns);
  if (!access.name.empty()) attributes.set("name", access.name);
  Object wish;
  wish.set("resourceAttributes", Value(std::move(attributes)));
  return this->access(context, who, std::move(wish));
}

base::Result<bool> Reviews::may_get(const base::Context& context, const Identity& who,
                                    std::string_view path) {
  Object attributes;
  attributes.set("path", path);
  attributes.set("verb", "get");
  Object wish;
  wish.set("nonResourceAttributes", Value(std::move(attributes)));
  return access(context, who, std::move(wish));
}

base::Result<bool> Reviews::access(const base::Context& context, const Identity& who, Object wish) {
  const auto kind =
      review_kind("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews");
  // Everything that an authorizer may look at.
  for (const auto& [from, to] : {std::pair{"username", "user"}, std::pair{"uid", "uid"},
                                 std::pair{"groups", "groups"}, std::pair{"extra", "extra"}}) {
    if (const Value* value = who.user.find(from)) wish.set(to, *value);
  }
  KL_ASSIGN(const Value review,
            objects_.create(context, kind, "", review_of(kind, std::move(wish))));
  return says(review, "allowed");
}

}  // namespace kollect::kube
