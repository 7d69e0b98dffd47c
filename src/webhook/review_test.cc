// Questions of an API server and their answers.
#include "webhook/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/json/document.h"

namespace kollect::webhook {
namespace {

using base::json::Value;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Value parse(std::string_view text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? base::json::to_value(document->root()) : Value();
}

/// A namespace without scopes, or one whose scopes cannot be read.
class Scopes final : public admission::Lookup {
 public:
  explicit Scopes(bool readable = true) : readable_(readable) {}
  [[nodiscard]] base::Result<std::optional<api::Profile>> profile(
      std::string_view /*ns*/, std::string_view /*name*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] base::Result<std::optional<api::Scope>> scope(
      std::string_view /*ns*/) const override {
    if (!readable_) return base::retryable("the API server does not answer", "unreachable");
    return std::nullopt;
  }
  [[nodiscard]] base::Result<std::optional<api::ClusterScope>> cluster_scope() const override {
    return std::nullopt;
  }

 private:
  const bool readable_;
};

http::Answer ask(const std::string& path, const std::string& body,
                 const admission::Lookup& lookup = Scopes(),
                 const admission::Settings& settings = {}, const std::string& method = "POST") {
  http::ServerRequest request;
  request.method = method;
  request.path = path;
  request.body = body;
  return answer(request, lookup, settings);
}

std::string manifest(const std::string& kind, const std::string& spec,
                     const std::string& metadata = "") {
  return R"({"apiVersion":"kollect.dev/v1alpha1","kind":")" + kind +
         R"(","metadata":{"name":"x","namespace":"n")" + metadata + R"(},"spec":)" + spec + "}";
}

std::string question(const std::string& object, const std::string& operation = "CREATE",
                     const std::string& old_object = "null") {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",)"
         R"("operation":")" +
         operation + R"(","object":)" + object + R"(,"oldObject":)" + old_object + "}}";
}

/// The answer to a question about an object; its frame is checked here.
Value response(const std::string& kind, const std::string& body,
               const admission::Lookup& lookup = Scopes(),
               const admission::Settings& settings = {}) {
  const http::Answer given = ask(path_of(kind), body, lookup, settings);
  EXPECT_EQ(given.status, 200) << given.body;
  const Value review = parse(given.body);
  EXPECT_EQ(review.text("apiVersion"), "admission.k8s.io/v1");
  EXPECT_EQ(review.text("kind"), "AdmissionReview");
  const Value* found = review.find("response");
  EXPECT_NE(found, nullptr);
  EXPECT_EQ(found->text("uid"), "u-1");
  return *found;
}

std::string brief(const Value& response) {
  if (response.find("allowed")->as_bool()) return "allowed";
  const Value* status = response.find("status");
  return std::to_string(status->find("code")->as_int()) + " " + std::string(status->text("reason"));
}

std::string message(const Value& response) {
  return std::string(response.find("status")->text("message"));
}

constexpr const char* kGood = R"({"profileRef":"p"})";
constexpr const char* kBad =
    R"({"profileRef":"a/b","resourceRules":[{"gvk":{"version":"","kind":""}}]})";

TEST(WebhookReview, PathsNameTheKind) {
  EXPECT_EQ(path_of("KollectClusterInventory"),
            "/validate-kollect-dev-v1alpha1-kollectclusterinventory");
  EXPECT_EQ(ask("/", "{}").status, 404);
  EXPECT_EQ(ask("/validate-kollect-dev-v1alpha1-kollectsink", "{}").status, 404);
  EXPECT_EQ(ask(path_of("KollectTarget"), "", Scopes(), {}, "GET").status, 405);
}

TEST(WebhookReview, GoodObjectsAreAllowed) {
  const Value given = response("KollectTarget", question(manifest("KollectTarget", kGood)));
  EXPECT_EQ(brief(given), "allowed");
  EXPECT_EQ(given.find("warnings"), nullptr);
}

TEST(WebhookReview, WarningsComeWithTheYes) {
  const Value given =
      response("KollectSnapshotSink",
               question(manifest("KollectSnapshotSink",
                                 R"({"type":"git","endpoint":"https://git.example.com/a.git"})")));
  EXPECT_EQ(brief(given), "allowed");
  EXPECT_EQ(given.find("warnings")->as_array().size(), 1U);
}

TEST(WebhookReview, DenialsNameEveryField) {
  for (const char* operation : {"CREATE", "UPDATE"}) {
    const Value given = response(
        "KollectTarget",
        question(manifest("KollectTarget", kBad), operation, manifest("KollectTarget", kGood)));
    EXPECT_EQ(brief(given), "403 Forbidden");
    EXPECT_EQ(given.find("warnings"), nullptr);
    EXPECT_THAT(message(given), StartsWith("KollectTarget \"x\" is invalid: spec."));
    EXPECT_THAT(message(given), HasSubstr("spec.profileRef: Invalid value: "));
    EXPECT_THAT(message(given), HasSubstr("; "));
    EXPECT_THAT(message(given), HasSubstr("spec.resourceRules[0].gvk: Required value: "));
  }
}

TEST(WebhookReview, PlainDenialsAreOneSentence) {
  admission::Settings tenant;
  tenant.tenant_mode = true;
  const Value given = response(
      "KollectClusterTarget",
      question(manifest("KollectClusterTarget", R"({"profileRef":{"name":"p","namespace":"n"}})")),
      Scopes(), tenant);
  EXPECT_EQ(brief(given), "403 Forbidden");
  EXPECT_THAT(message(given), HasSubstr("tenant mode"));
  EXPECT_THAT(message(given), Not(HasSubstr("is invalid")));
}

TEST(WebhookReview, WhatDoesNotDecodeIsABadRequest) {
  const Value given =
      response("KollectInventory",
               question(manifest("KollectInventory", R"({"exportMinInterval":"soon"})")));
  EXPECT_EQ(brief(given), "400 BadRequest");
  EXPECT_THAT(message(given), HasSubstr("spec.exportMinInterval"));
}

TEST(WebhookReview, AScopeThatCannotBeReadRefuses) {
  const std::string asked = question(manifest("KollectTarget", kGood));
  const Value given = response("KollectTarget", asked, Scopes(false));
  EXPECT_EQ(brief(given), "500 InternalError");
  EXPECT_THAT(message(given), HasSubstr("Internal error: the API server does not answer"));
}

// Nothing that is being deleted waits for a rule (spec: runtime X-47).
TEST(WebhookReview, DeletionsAreNeverInTheWay) {
  const Scopes unreadable(false);
  EXPECT_EQ(
      brief(response("KollectTarget", question("null", "DELETE", manifest("KollectTarget", kBad)),
                     unreadable)),
      "allowed");
  EXPECT_EQ(brief(response("KollectTarget",
                           R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                           R"("request":{"uid":"u-1","operation":"DELETE"}})",
                           unreadable)),
            "allowed");
  for (const api::KindInfo& kind : api::kinds()) {
    const std::string dying =
        manifest(kind.kind, R"({"profileRef":1,"type":7,"minExportInterval":"x"})",
                 R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":[])");
    EXPECT_EQ(brief(response(kind.kind, question(dying, "UPDATE", dying), unreadable)), "allowed")
        << kind.kind;
  }
}

// What breaks a rule already can be finalized, labelled and owned; it cannot be made worse.
TEST(WebhookReview, UpdatesThatNoRuleLooksAt) {
  const std::string before = manifest("KollectTarget", kBad);
  const auto update = [&](const std::string& kind, const std::string& from, const std::string& to,
                          bool readable = true) {
    return brief(response(kind, question(to, "UPDATE", from), Scopes(readable)));
  };
  const std::string finalized = manifest(
      "KollectTarget", kBad, R"(,"finalizers":["kollect.dev/target-cleanup"],"labels":{})");
  EXPECT_EQ(update("KollectTarget", before, finalized), "allowed");
  EXPECT_EQ(update("KollectTarget", manifest("KollectTarget", kGood),
                   manifest("KollectTarget", kGood, R"(,"labels":{"a":"b"})"), false),
            "allowed");
  EXPECT_EQ(update("KollectTarget", before,
                   manifest("KollectTarget", R"({"profileRef":"a/b","suspend":true})")),
            "403 Forbidden");
  EXPECT_EQ(brief(response("KollectTarget", question(before, "UPDATE"))), "403 Forbidden");
  EXPECT_EQ(brief(response("KollectTarget", question(before, "CREATE", before))), "403 Forbidden");
  // An annotation that gives a right counts like the spec.
  constexpr const char* kSecrets =
      R"({"targetGVK":{"version":"v1","kind":"Secret"},"attributes":[{"name":"a","path":"$.data.a"}]})";
  const std::string allowed =
      manifest("KollectProfile", kSecrets,
               R"(,"annotations":{"kollect.dev/allow-secret-extraction":"true","note":"1"})");
  EXPECT_EQ(update("KollectProfile", allowed,
                   manifest("KollectProfile", kSecrets, R"(,"annotations":{"note":"1"})")),
            "403 Forbidden");
  EXPECT_EQ(update("KollectProfile",
                   manifest("KollectProfile", kSecrets, R"(,"annotations":{"note":"1"})"),
                   manifest("KollectProfile", kSecrets, R"(,"annotations":{"note":"2"})")),
            "allowed");
}

TEST(WebhookReview, SettingsOfTheOperatorCount) {
  const std::string asked = question(manifest(
      "KollectSnapshotSink", R"({"type":"git","endpoint":"https://127.0.0.1/a.git","git":{}})"));
  EXPECT_EQ(brief(response("KollectSnapshotSink", asked)), "403 Forbidden");
  admission::Settings open;
  open.allow_loopback_sinks = true;
  EXPECT_EQ(brief(response("KollectSnapshotSink", asked, Scopes(), open)), "allowed");
  const std::string local = question(
      manifest("KollectSnapshotSink", R"({"type":"git","endpoint":"file:///srv/a.git","git":{}})"));
  EXPECT_EQ(brief(response("KollectSnapshotSink", local, Scopes(), open)), "403 Forbidden");
}

TEST(WebhookReview, GarbageIsABadRequest) {
  const std::string path = path_of("KollectTarget");
  const std::string object = manifest("KollectTarget", kGood);
  const std::string deep(100000, '[');
  for (
      const std::string& body : std::vector<std::string>{
          "",
          "null",
          "7",
          "[]",
          "{}",
          "\"x\"",
          "{\"",
          deep,
          "\xff\xfe",
          std::string(3, '\0'),
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]})",
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}})",
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}})",
          R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE"}})",
          question("null"),
          question("7"),
          question("[]"),
          question("{}"),
          question(manifest("KollectScope", "{}"))}) {
    EXPECT_EQ(ask(path, body).status, 400) << body.substr(0, 100);
  }
  EXPECT_EQ(ask(path, question(object)).status, 200);
}

}  // namespace
}  // namespace kollect::webhook
