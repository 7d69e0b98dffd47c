#include "sandbox/status.h"

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {
constexpr int kMethodNotAllowed = 405;
}

Value Status::to_value() const {
  Object metadata;
  if (!continue_token.empty()) metadata.set("continue", continue_token);
  Object out;
  out.set("kind", "Status");
  out.set("apiVersion", "v1");
  out.set("metadata", std::move(metadata));
  out.set("status", "Failure");
  out.set("message", message);
  if (!reason.empty()) out.set("reason", reason);
  Object details;
  if (!name.empty()) details.set("name", name);
  if (!group.empty()) details.set("group", group);
  if (!kind.empty()) details.set("kind", kind);
  if (!causes.empty()) {
    Array list;
    for (const Cause& cause : causes) {
      Object entry;
      entry.set("reason", cause.reason);
      entry.set("message", cause.message);
      if (!cause.field.empty()) entry.set("field", cause.field);
      list.emplace_back(std::move(entry));
    }
    details.set("causes", std::move(list));
  }
  if (retry_after > 0) details.set("retryAfterSeconds", retry_after);
  if (!details.empty() || code == kMethodNotAllowed) out.set("details", std::move(details));
  out.set("code", code);
  return out;
}

http::Answer Status::to_answer() const {
  http::Answer answer = http::Answer::json(code, base::json::compact(to_value()) + "\n");
  if (retry_after > 0) answer.headers.emplace_back("Retry-After", std::to_string(retry_after));
  return answer;
}

std::string qualified(std::string_view plural, std::string_view group) {
  return group.empty() ? std::string(plural) : fmt::format("{}.{}", plural, group);
}

namespace {

Status about(int code, std::string reason, std::string_view group, std::string_view kind,
             std::string_view name) {
  Status status;
  status.code = code;
  status.reason = std::move(reason);
  status.group = group;
  status.kind = kind;
  status.name = name;
  return status;
}

}  // namespace

Status bad_request(std::string message) {
  Status status = about(400, "BadRequest", "", "", "");
  status.message = std::move(message);
  return status;
}

Status not_found(std::string_view group, std::string_view plural, std::string_view name) {
  Status status = about(404, "NotFound", group, plural, name);
  status.message = fmt::format("{} \"{}\" not found", qualified(plural, group), name);
  return status;
}

Status already_exists(std::string_view group, std::string_view plural, std::string_view name) {
  Status status = about(409, "AlreadyExists", group, plural, name);
  status.message = fmt::format("{} \"{}\" already exists", qualified(plural, group), name);
  return status;
}

Status conflict(std::string_view group, std::string_view plural, std::string_view name,
                std::string_view why) {
  Status status = about(409, "Conflict", group, plural, name);
  status.message = fmt::format(
      "Operation cannot be fulfilled on {} \"{}\": {}", qualified(plural, group), name,
      why.empty() ? "the object has been modified; please apply your changes to the latest version "
                    "and try again"
                  : why);
  return status;
}

Status invalid(std::string_view group, std::string_view kind, std::string_view name,
               std::vector<Cause> causes) {
  Status status = about(422, "Invalid", group, kind, name);
  std::string all;
  for (const Cause& cause : causes) {
    if (!all.empty()) all += ", ";
    all += cause.field.empty() ? cause.message : fmt::format("{}: {}", cause.field, cause.message);
  }
  if (causes.size() > 1) all = "[" + all + "]";
  status.message = fmt::format("{} \"{}\" is invalid: {}", qualified(kind, group), name, all);
  status.causes = std::move(causes);
  return status;
}

Status forbidden(std::string_view group, std::string_view plural, std::string_view name,
                 std::string_view why) {
  Status status = about(403, "Forbidden", group, plural, name);
  status.message =
      name.empty() ? fmt::format("{} is forbidden: {}", qualified(plural, group), why)
                   : fmt::format("{} \"{}\" is forbidden: {}", qualified(plural, group), name, why);
  return status;
}

Status expired(std::string message) {
  Status status = about(410, "Expired", "", "", "");
  status.message = std::move(message);
  return status;
}

Status method_not_allowed() {
  Status status = about(kMethodNotAllowed, "MethodNotAllowed", "", "", "");
  status.message = "the server does not allow this method on the requested resource";
  return status;
}

Status unsupported_media(std::string_view accepted) {
  Status status = about(415, "UnsupportedMediaType", "", "", "");
  status.message = fmt::format(
      "the body of the request was in an unknown format - accepted media types include: {}",
      accepted);
  return status;
}

}  // namespace kollect::sandbox
