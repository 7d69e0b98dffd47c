#include "webhook/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/codec.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::webhook {

namespace {

using admission::FieldError;
using admission::Verdict;
using base::json::Object;
using base::json::Value;

constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";

/// The texts of Kubernetes for the kinds of field errors (spec: crds 4.3).
std::string_view text_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTexts = {{
      {"Required", "Required value"},
      {"Invalid", "Invalid value"},
      {"NotSupported", "Unsupported value"},
      {"Duplicate", "Duplicate value"},
      {"Forbidden", "Forbidden"},
      {"TooMany", "Too many"},
      {"Internal", "Internal error"},
  }};
  const auto* const found =
      std::ranges::find(kTexts, kind, [](const auto& row) { return row.first; });
  return found == kTexts.end() ? kind : found->second;
}

bool is(const FieldError& error, std::string_view kind) {
  return error.kind == kind;
}

std::string denial_text(const Value& object, const std::vector<FieldError>& errors) {
  // Plain denials are sentences of their own.
  if (errors.size() == 1 && is(errors.front(), "plain")) return errors.front().message;
  std::vector<std::string> texts;
  for (const FieldError& error : errors) {
    std::string text = error.path.empty() ? "" : error.path + ": ";
    if (!is(error, "plain")) text += fmt::format("{}: ", text_of(error.kind));
    texts.push_back(text + error.message);
  }
  const Value* name = object.at_path({"metadata", "name"});
  return fmt::format("{} \"{}\" is invalid: {}", object.text("kind"),
                     name != nullptr && name->is_string() ? name->as_string() : "",
                     base::join(texts, "; "));
}

struct Refusal {
  int code;
  const char* reason;
};

Refusal refusal_of(const Verdict& verdict) {
  if (verdict.stage == Verdict::Stage::kDecode) return {400, "BadRequest"};
  if (std::ranges::any_of(verdict.errors, [](const auto& e) { return is(e, "Internal"); })) {
    return {500, "InternalError"};
  }
  return {403, "Forbidden"};
}

Object allowed() {
  Object response;
  response.set("allowed", true);
  return response;
}

Object response_of(const Value& object, Verdict verdict) {
  Object response = allowed();
  if (verdict.stage == Verdict::Stage::kAccept) {
    base::json::Array warnings;
    for (std::string& text : verdict.warnings) warnings.emplace_back(std::move(text));
    if (!warnings.empty()) response.set("warnings", std::move(warnings));
    return response;
  }
  const Refusal refusal = refusal_of(verdict);
  Object status;
  status.set("status", "Failure");
  status.set("message", denial_text(object, verdict.errors));
  status.set("reason", refusal.reason);
  status.set("code", refusal.code);
  response.set("allowed", false);
  response.set("status", std::move(status));
  return response;
}

bool is_dying(const Value& object) {
  const Value* time = object.at_path({"metadata", "deletionTimestamp"});
  return time != nullptr && !time->is_null();
}

/// Annotations of ours that rules look at.
Object own_annotations(const Value& object) {
  Object own;
  const Value* annotations = object.at_path({"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return own;
  for (const auto& [key, value] : annotations->as_object()) {
    if (key.starts_with("kollect.dev/")) own.set(key, value);
  }
  return own;
}

/// An update of what no rule looks at: a finalizer, labels, an owner. An object that breaks a rule,
/// because it is older than the rule or the scope, must not be stuck for that: not for its owner
/// and not for the operator, which adds its finalizer.
bool changes_nothing(const Value& question, const Value& object) {
  if (question.text("operation") != "UPDATE") return false;
  const Value* before = question.find("oldObject");
  if (before == nullptr || !before->is_object()) return false;
  const auto spec_of = [](const Value& one) {
    const Value* spec = one.find("spec");
    return spec != nullptr ? *spec : Value();
  };
  return spec_of(*before) == spec_of(object) &&
         Value(own_annotations(*before)) == Value(own_annotations(object));
}

/// The response without its uid. Error: what is wrong with the question.
base::Result<Object> judge(const Value& question, std::string_view kind,
                           const admission::Lookup& lookup, const admission::Settings& settings) {
  const std::string_view operation = question.text("operation");
  if (operation.empty()) return base::configuration("request.operation is missing");
  // The rules are about what is written; a deletion waits for nobody.
  if (operation != "CREATE" && operation != "UPDATE") return allowed();
  const Value* object = question.find("object");
  if (object == nullptr || !object->is_object()) {
    return base::configuration("request.object is no object");
  }
  if (object->text("kind") != kind) {
    return base::configuration(
        fmt::format("this path is asked about {}, not about {}", kind, object->text("kind")));
  }
  if (is_dying(*object)) return allowed();
  auto verdict = admission::review(*object, lookup, settings);
  if (verdict.stage != Verdict::Stage::kAccept && changes_nothing(question, *object)) {
    return allowed();
  }
  return response_of(*object, std::move(verdict));
}

const api::KindInfo* kind_at(std::string_view path) {
  const auto& kinds = api::kinds();
  const auto found =
      std::ranges::find_if(kinds, [&](const auto& info) { return path_of(info.kind) == path; });
  return found == kinds.end() ? nullptr : &*found;
}

base::Result<std::string> answer_text(const std::string& body, std::string_view kind,
                                      const admission::Lookup& lookup,
                                      const admission::Settings& settings) {
  KL_ASSIGN(const base::json::Document document, base::json::Document::parse(body));
  const Value review = base::json::to_value(document.root());
  if (review.text("kind") != "AdmissionReview" || review.text("apiVersion") != kReviewVersion) {
    return base::configuration(fmt::format("an AdmissionReview of {} is expected", kReviewVersion));
  }
  const Value* question = review.find("request");
  if (question == nullptr || question->text("uid").empty()) {
    return base::configuration("request.uid is missing");
  }
  KL_ASSIGN(Object response, judge(*question, kind, lookup, settings));
  response.set("uid", question->text("uid"));
  Object answer;
  answer.set("apiVersion", kReviewVersion);
  answer.set("kind", "AdmissionReview");
  answer.set("response", std::move(response));
  return base::json::compact(Value(std::move(answer)));
}

}  // namespace

std::string path_of(std::string_view kind) {
  return fmt::format("/validate-kollect-dev-v1alpha1-{}", base::to_lower(kind));
}

http::Answer answer(const http::ServerRequest& request, const admission::Lookup& lookup,
                    const admission::Settings& settings) {
  const api::KindInfo* kind = kind_at(request.path);
  if (kind == nullptr) return http::Answer::text(404, "no webhook has this path\n");
  if (request.method != "POST") return http::Answer::text(405, "POST only\n");
  auto text = answer_text(request.body, kind->kind, lookup, settings);
  if (!text) return http::Answer::text(400, text.error().message + "\n");
  return http::Answer::json(200, std::move(*text));
}

}  // namespace kollect::webhook
