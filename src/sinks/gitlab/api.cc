#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "sinks/gitlab/forge.h"

namespace kollect::sinks::gitlab {

namespace {

constexpr int kTries = 3;
constexpr std::size_t kMostBody = 1U << 20U;
constexpr std::size_t kMostShown = 240;

bool may_pass(int status) {
  constexpr std::array<int, 5> kPassing = {408, 429, 502, 503, 504};
  return std::ranges::find(kPassing, status) != kPassing.end();
}

/// One line of an answer's body.
std::string excerpt(std::string_view body) {
  auto text = base::sanitize_utf8(base::trim(body));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

Api::Api(const GitLabOptions& options) : options_(options) {
  const auto& access = options_.git.transport.access;
  git::add_secrets(access, redactor_);
  auto tls = std::make_shared<http::TlsOptions>();
  if (!access.ca_pem.empty()) tls->ca_pem = git::trust_with(access.ca_pem);
  tls->insecure_skip_verify = access.insecure_skip_verify;
  tls_ = std::move(tls);
}

const base::Secret& Api::token() const {
  return options_.git.transport.access.password;
}

base::Result<http::Response> Api::send(const base::Context& context, const Call& call,
                                       const Headers& credentials) {
  http::Request request;
  request.method = call.method;
  request.url = options_.place.origin + call.path;
  request.headers = credentials;
  if (!call.body.empty()) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = call.body;
  }
  request.tls = tls_;
  request.guard = options_.git.transport.guard;
  request.max_body_bytes = kMostBody;
  for (int attempt = 1;; ++attempt) {
    KL_TRY(http::pin_addresses(request, options_.git.transport.resolver));
    auto answer = http_.fetch(context, request);
    if (answer.has_value() && !may_pass(answer->status)) return answer;
    auto error = answer.has_value() ? failure(call, *answer) : std::move(answer.error());
    error.message = redactor_.redact(error.message);
    const bool passing = error.kind == base::ErrorKind::kRetryable && error.reason != "tls";
    if (!passing || attempt == kTries) return error;
    if (!context.sleep(std::chrono::seconds(attempt))) return error;
  }
}

base::Error Api::failure(const Call& call, const http::Response& answer) const {
  const auto& access = options_.git.transport.access;
  auto message = fmt::format("{}: {} (HTTP {})", options_.git.transport.remote.shown(), call.doing,
                             answer.status);
  const auto said = redactor_.redact(excerpt(answer.body));
  const auto shown = base::cut_utf8(said, kMostShown);
  const auto tail = shown.empty() ? std::string() : fmt::format(": {}", shown);
  const auto secret =
      access.secret_name.empty() ? std::string("the token") : "Secret " + access.secret_name;
  switch (answer.status) {
    case 401:
      return base::denied(
          fmt::format("{}: the token is not accepted, check {}{}", message, secret, tail),
          "access-denied");
    case 403:
      return base::denied(
          fmt::format("{}: the token needs the scope api and the role Developer, check {}{}",
                      message, secret, tail),
          "access-denied");
    case 404:
      return base::not_found(fmt::format("{}: no such project, or the token of {} may not see it{}",
                                         message, secret, tail),
                             std::string(kNotThisForge));
    case 405:
      return base::terminal(message + ": refused" + tail, std::string(kNotThisForge));
    default:
      break;
  }
  if (may_pass(answer.status) || answer.status >= 500) {
    return base::retryable(message + tail, "unreachable");
  }
  if (answer.status < 400) {
    return base::terminal(message + ": the endpoint has moved, name its new address" + tail,
                          "refused");
  }
  return base::terminal(message + ": refused" + tail, "refused");
}

base::Result<base::json::Document> Api::read(const Call& call, const http::Response& answer) const {
  if (answer.status >= 300) return failure(call, answer);
  auto document = base::json::Document::parse(answer.body);
  if (document.has_value()) return document;
  return base::retryable(fmt::format("{}: {}: the answer is no JSON",
                                     options_.git.transport.remote.shown(), call.doing),
                         "bad-answer");
}

}  // namespace kollect::sinks::gitlab
