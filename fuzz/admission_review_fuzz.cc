// Questions to the webhooks: any bytes as a body, and any object in a question that is well-formed.
#include "api/codec.h"
#include "base/json/document.h"
#include "fuzz_input.h"
#include "webhook/review.h"

namespace {

using namespace kollect;

http::Answer ask(std::string_view kind, std::string body) {
  static const std::vector<base::json::Value> kNothing;
  static const admission::ManifestLookup kLookup(kNothing);
  http::ServerRequest request;
  request.method = "POST";
  request.path = webhook::path_of(kind);
  request.body = std::move(body);
  return webhook::answer(request, kLookup, {});
}

void check(const http::Answer& answer) {
  fuzz::require(answer.status == 200 || answer.status == 400, "no other status");
  if (answer.status != 200) return;
  const auto document = base::json::Document::parse(answer.body);
  fuzz::require(document.has_value(), "an answer is JSON");
  const auto response = document->root().find("response");
  fuzz::require(response && response->find("allowed") && !response->text("uid").empty(),
                "it has a verdict and names the question");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(ask("KollectTarget", std::string(text)));
  // The first byte chooses the kind, the rest is the spec.
  if (text.empty()) return 0;
  const auto& kinds = api::kinds();
  const std::string& kind = kinds[static_cast<unsigned char>(text.front()) % kinds.size()].kind;
  check(ask(kind, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{)"
                  R"("uid":"u","operation":"CREATE","object":{"apiVersion":"kollect.dev/v1alpha1",)"
                  R"("kind":")" +
                      kind + R"(","metadata":{"name":"x","namespace":"n"},"spec":)" +
                      std::string(text.substr(1)) + "}}}"));
  return 0;
}
